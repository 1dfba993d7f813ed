#include <sstream>
#include <utility>

#include "compiler/codegen/package/package.h"
#include "runtime/artifact/artifact.h"

namespace lathe::package {
namespace {

using flat::Border;

constexpr const char* kHead = R"(/* {name}: made by lathe for {target}. Do not edit.
 *
 *   lathe_{name}* handle;
 *   if (lathe_{name}_create(NULL, &handle) != LATHE_OK) ... lathe_{name}_message(NULL) ...
{running} *   lathe_{name}_destroy(handle);
 *
 * `inputs` points to {inputs} tensors, `outputs` to {outputs}, in this order, on the {place}:
 *
{tensors} *
 * A tensor's data begins at a multiple of {alignment}. Outputs overlap nothing.
{device}{constants}{weights}{remarks} */
#ifndef LATHE_ARTIFACT_{name}_H_
#define LATHE_ARTIFACT_{name}_H_

#include <stdint.h>
)";

// What differs between libraries for processors and for devices.
constexpr const char* kRunning =
    R"( *   lathe_{name}_prepare(handle, inputs);       with constant inputs: before the first run,
 *                                               and when they change
 *   lathe_{name}_run(handle, inputs, outputs);  allocates nothing; one caller a handle at a time
)";
constexpr const char* kFork = " * A forked child may use the handles of its parent.\n";
constexpr const char* kConstants =
    R"( * Constant inputs are given to prepare and must stay where they are until destroy; run takes
 * NULL for them. After a prepare that failed, run refuses until one succeeds.
)";
constexpr const char* kWeights = R"( *
 * {weights}, which create finds beside the library. It maps
 * the file, so that handles and processes share it, and refuses one of another library. Both files
 * move together. Replace them by other files, and do not write into them while handles are there.
)";
constexpr const char* kOpenclRunning =
    R"( *   lathe_{name}_prepare(handle, inputs);       with constant inputs: before the first run,
 *                                               and when they change
 *   lathe_{name}_run(handle, inputs, outputs);  copies to and from the device, and waits;
 *                                               one caller a handle at a time
)";
constexpr const char* kCudaRunning =
    R"( *   lathe_{name}_prepare(handle, inputs, stream);
 *       with constant inputs: before the first run, and when they change; waits for the stream
 *   lathe_{name}_run(handle, inputs, outputs, stream);
 *       gives the kernels to the stream, and does not wait; one stream a handle at a time
)";
constexpr const char* kOpencl = R"( *
 * The work is done by a device of OpenCL. create opens libOpenCL.so.1 (LATHE_OPENCL_LIBRARY names
 * another), takes a GPU before an accelerator before a processor (LATHE_OPENCL_DEVICE chooses by a
 * part of the name of a platform, vendor or device), and builds the program there from its source.
 * run copies all inputs that are not constant to the device and all outputs back, and waits: it
 * takes as long as these copies and the kernels together. The first one allocates the buffers.
 *
 * Without copies: lathe_{name}_create_on takes the caller's context and queue,
 * lathe_{name}_run_on buffers of that context that begin with a tensor's storage. It gives
 * the kernels to the queue and does not wait. What kernels leave for each other has one place in a
 * handle, so its runs must not be in two queues at a time.
 *
 * A forked child of a process that called create is refused: drivers do not survive a fork.
)";
constexpr const char* kOpenclConstants =
    R"( * Constant inputs are given to prepare, which keeps on the device what it makes of them;
 * they may go when it returns. run takes NULL for them. After a prepare that failed, run refuses
 * until one succeeds.
)";
constexpr const char* kCuda = R"( *
 * The work is done by a card of NVIDIA. create opens libcuda.so.1 (LATHE_CUDA_LIBRARY names
 * another) and takes the context that is current for the calling thread; where there is none, the
 * primary context of the first card that the driver shows. It loads the program and takes all
 * memory that run needs. The context must live as long as the handle. All functions make it current
 * while they work, whatever is current before.
 *
 * `stream` is a CUstream or cudaStream_t of that context; NULL is its default stream. run checks
 * its arguments and launches kernels: it allocates nothing and waits for nothing, so it can be
 * captured in a graph; then the handle must live as long as the graph. What kernels leave for each
 * other has one place in a handle, so its runs must not be in two streams at a time; make another
 * handle for another stream. What fails on the card later is told by the functions of CUDA that
 * wait. destroy waits for all work of the context.
 *
 * A forked child of a process that called create is refused: drivers do not survive a fork.
)";
constexpr const char* kCudaConstants =
    R"( * Constant inputs are given to prepare, on the card or in the processor's memory (kDLCPU).
 * It keeps on the card what it makes of them; they may go when it returns. run takes NULL for them.
 * After a prepare that failed, run refuses until one succeeds. prepare cannot be captured.
)";

constexpr const char* kTypes = R"(
#ifndef LATHE_ARTIFACT_ABI
#define LATHE_ARTIFACT_ABI {abi}

/* Tensors are DLPack's. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef enum {{ kDLCPU = 1, kDLCUDA = 2 }} DLDeviceType;
typedef struct {{ DLDeviceType device_type; int device_id; }} DLDevice;
typedef enum {{ kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 }} DLDataTypeCode;
typedef struct {{ uint8_t code, bits; uint16_t lanes; }} DLDataType;
typedef struct {{
  void* data;
  DLDevice device;
  int ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* NULL: row-major without gaps */
  uint64_t byte_offset;
}} DLTensor;
#endif

enum {{
  LATHE_OK = {ok},
  /* A tensor or pointer does not fit; the message says which and why. */
  LATHE_INVALID_ARGUMENT = {invalid},
  LATHE_OUT_OF_MEMORY = {memory},
  LATHE_NOT_PREPARED = {prepared},
  LATHE_WRONG_CPU = {cpu}, /* this processor lacks instructions the library uses */
  /* No device or card is there, or it cannot run the program; the message says why. */
  LATHE_NO_DEVICE = {device},
  LATHE_DEVICE_FAILED = {failed}, /* the device or its compiler refuses, or failed */
  LATHE_NO_WEIGHTS = {weights} /* their file is missing, or another one; the message says more */
}};

/* A way to run loops: body over [0, count) in slices, worker numbers below `threads`, all done
 * on return. */
typedef struct lathe_parallel {{
  void (*parallel_for)(void* self, int64_t count,
                       void (*body)(void* context, int64_t begin, int64_t end, int64_t worker),
                       void* context);
  void* self;
  int64_t threads;
}} lathe_parallel;
#elif LATHE_ARTIFACT_ABI != {abi}
#error "artifacts of different versions of lathe in one file"
#endif
)";

constexpr const char* kFunctions = R"(
#ifdef __cplusplus
extern "C" {{
#endif

typedef struct lathe_{name} lathe_{name};

{create}{calls}void lathe_{name}_destroy(lathe_{name}* handle);
/* What the last call that failed has to say; NULL asks about create. */
const char* lathe_{name}_message(const lathe_{name}* handle);

#ifdef __cplusplus
}}
#endif
#endif
)";

constexpr const char* kCreate =
    R"(/* `parallel` runs the library's loops; NULL: up to {threads}, but no more than there are
 * processors. All libraries of a process share them. */
int32_t lathe_{name}_create(const lathe_parallel* parallel, lathe_{name}** handle);
)";
constexpr const char* kCreateFrom =
    R"(/* The same with the file of weights elsewhere, where no other handle has it yet. */
int32_t lathe_{name}_create_from(const char* weights, const lathe_parallel* parallel,
                                 lathe_{name}** handle);
)";
constexpr const char* kOpenclCreate =
    R"(/* NULL is given for `parallel`: the device runs all loops. */
int32_t lathe_{name}_create(const lathe_parallel* parallel, lathe_{name}** handle);
/* `queue` is a cl_command_queue that works in order, `context` its cl_context or NULL. The handle
 * keeps both until destroy; run copies by that queue. */
int32_t lathe_{name}_create_on(void* context, void* queue, lathe_{name}** handle);
)";
constexpr const char* kCalls =
    R"(int32_t lathe_{name}_prepare(lathe_{name}* handle, const DLTensor* const* inputs);
int32_t lathe_{name}_run(lathe_{name}* handle, const DLTensor* const* inputs,
                         DLTensor* const* outputs);
)";
constexpr const char* kOpenclCalls =
    R"(int32_t lathe_{name}_prepare(lathe_{name}* handle, const DLTensor* const* inputs);
int32_t lathe_{name}_run(lathe_{name}* handle, const DLTensor* const* inputs,
                         DLTensor* const* outputs);
/* `inputs` and `outputs` point to cl_mem, NULL for constants. `queue` is a cl_command_queue
 * of the handle's context and device that works in order; NULL: the handle's. */
int32_t lathe_{name}_run_on(lathe_{name}* handle, void* const* inputs, void* const* outputs,
                            void* queue);
)";
constexpr const char* kCudaCreate =
    R"(/* NULL is given for `parallel`: the card runs all loops. */
int32_t lathe_{name}_create(const lathe_parallel* parallel, lathe_{name}** handle);
)";
constexpr const char* kCudaCalls =
    R"(int32_t lathe_{name}_prepare(lathe_{name}* handle, const DLTensor* const* inputs,
                             void* stream);
int32_t lathe_{name}_run(lathe_{name}* handle, const DLTensor* const* inputs,
                         DLTensor* const* outputs, void* stream);
)";

struct Words {
  const char *running, *place, *alignment, *device, *constants, *create, *calls;
};
Words words_of(DeviceKind kind) {
  constexpr const char* kElement = "its element size, better of 64";
  switch (kind) {
    case DeviceKind::kCpu: return {kRunning, "CPU", kElement, kFork, kConstants, kCreate, kCalls};
    case DeviceKind::kOpenCl:
      return {kOpenclRunning,   "CPU",         kElement,    kOpencl,
              kOpenclConstants, kOpenclCreate, kOpenclCalls};
    case DeviceKind::kCuda:
      return {kCudaRunning,   "card (kDLCUDA)", "16 bytes", kCuda,
              kCudaConstants, kCudaCreate,      kCudaCalls};
  }
  return {};
}

std::string shape_text(const Border& border) {
  std::string text;
  for (const std::int64_t extent : border.shape)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
  return "[" + text + "]";
}

// "16 x (i1/16) ...": the place of an element in storage.
std::string layout_text(const Border& border) {
  std::string text;
  for (const tensor::LayoutDigit& digit : border.layout) {
    if (digit.extent == 1) continue;
    std::string index = fmt::format("i{}", digit.dim);
    if (digit.within > 0) index = fmt::format("({} % {})", index, digit.within);
    if (digit.weight != 1) index = fmt::format("({} / {})", index, digit.weight);
    const std::int64_t below =
        digit.within > 0 ? digit.within : border.shape[static_cast<std::size_t>(digit.dim)];
    const bool whole = digit.weight * digit.extent >= below;
    if (!whole) index = fmt::format("({} % {})", index, digit.extent);
    text += (text.empty() ? "" : " + ") +
            (digit.stride == 1 ? index : fmt::format("{} * {}", digit.stride, index));
  }
  return text.empty() ? "0" : text;
}

std::string tensor_text(const char* kind, std::size_t at, const Border& border) {
  const std::string line =
      fmt::format(" *   {}[{}]  {}: {} {}{}", kind, at, border.name, name_of(border.dtype),
                  shape_text(border), border.constant ? ", constant" : "");
  if (tensor::is_plain(border)) return line + ", row-major\n";
  return line + fmt::format(
                    ",\n *              {} elements of storage, element [i0, ...] at {}; strides "
                    "must be NULL\n",
                    border.size, layout_text(border));
}

// A sentence as lines of a comment.
std::string comment_lines(const std::string& sentence) {
  constexpr std::size_t kColumns = 100;
  std::istringstream words(sentence);
  std::string text, line;
  for (std::string word; words >> word; line += " " + word)
    if (!line.empty() && line.size() + word.size() + 3 > kColumns)
      text += " *" + std::exchange(line, "") + "\n";
  return text + " *" + line + "\n";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string types_text() {
  return fmt::format(
      kTypes, fmt::arg("abi", LATHE_ARTIFACT_ABI), fmt::arg("ok", int{LATHE_OK}),
      fmt::arg("invalid", int{LATHE_INVALID_ARGUMENT}),
      fmt::arg("memory", int{LATHE_OUT_OF_MEMORY}), fmt::arg("prepared", int{LATHE_NOT_PREPARED}),
      fmt::arg("cpu", int{LATHE_WRONG_CPU}), fmt::arg("device", int{LATHE_NO_DEVICE}),
      fmt::arg("failed", int{LATHE_DEVICE_FAILED}), fmt::arg("weights", int{LATHE_NO_WEIGHTS}));
}

std::string functions_text(const std::string& name, const Target& target, bool has_weights) {
  const Words words = words_of(target.kind());
  const int threads = target.has_threads() ? target.threads() : 1;
  const auto named = [&](const char* text) {
    return replaced(replaced(text, "{name}", name), "{threads}",
                    threads == 1 ? "1 thread" : fmt::format("{} threads", threads));
  };
  const std::string create = named(words.create) + (has_weights ? named(kCreateFrom) : "");
  return fmt::format(kFunctions, fmt::arg("name", name), fmt::arg("create", create),
                     fmt::arg("calls", named(words.calls)));
}

}  // namespace

std::string place_of_weights(const std::string& file) {
  return "The weights lie in the file " + file;
}

std::string header_text(const std::string& name, const flat::Program& program, const Target& target,
                        const std::vector<std::string>& remarks, const std::string& weights) {
  std::string tensors;
  bool constants = false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    tensors += tensor_text("inputs", i, program.inputs[i]);
    constants |= program.inputs[i].constant;
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    tensors += tensor_text("outputs", i, program.outputs[i]);
  const Words words = words_of(target.kind());
  std::string said;
  for (const std::string& remark : remarks) said += " *\n" + comment_lines(remark);
  std::string head = replaced(kHead, "{device}", words.device);
  head = replaced(head, "{running}", words.running);
  head = replaced(head, "{place}", words.place);
  head = replaced(head, "{alignment}", words.alignment);
  head = replaced(head, "{constants}", constants ? words.constants : "");
  const std::string told =
      weights.empty() ? "" : replaced(kWeights, "{weights}", place_of_weights(weights));
  head = replaced(head, "{weights}", told);
  head = replaced(head, "{name}", name);
  // A device's name may be any text.
  head = replaced(head, "{target}", replaced(target.text(), "*/", "* /"));
  head = replaced(head, "{inputs}", std::to_string(program.inputs.size()));
  head = replaced(head, "{outputs}", std::to_string(program.outputs.size()));
  head = replaced(head, "{tensors}", tensors);
  head = replaced(head, "{remarks}", said);
  return head + types_text() + functions_text(name, target, !weights.empty());
}

}  // namespace lathe::package
