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
 *   lathe_{name}_prepare(handle, inputs);       with constant inputs: before the first run,
 *                                               and when they change
 *   lathe_{name}_run(handle, inputs, outputs);  allocates nothing; one caller a handle at a time
 *   lathe_{name}_destroy(handle);
 *
 * `inputs` points to {inputs} tensors, `outputs` to {outputs}, in this order, on the CPU:
 *
{tensors} *
 * A tensor's data begins at a multiple of its element size, better of 64. Outputs overlap nothing.
 * A forked child may use the handles of its parent.
{constants}{remarks} */
#ifndef LATHE_ARTIFACT_{name}_H_
#define LATHE_ARTIFACT_{name}_H_

#include <stdint.h>
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
typedef enum {{ kDLCPU = 1 }} DLDeviceType;
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
  LATHE_WRONG_CPU = {cpu} /* this processor lacks instructions the library uses */
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

/* `parallel` runs the library's loops; NULL: up to {threads}, but no more than there are
 * processors. All libraries of a process share them. */
int32_t lathe_{name}_create(const lathe_parallel* parallel, lathe_{name}** handle);
int32_t lathe_{name}_prepare(lathe_{name}* handle, const DLTensor* const* inputs);
int32_t lathe_{name}_run(lathe_{name}* handle, const DLTensor* const* inputs,
                         DLTensor* const* outputs);
void lathe_{name}_destroy(lathe_{name}* handle);
/* What the last call that failed has to say; NULL asks about create. */
const char* lathe_{name}_message(const lathe_{name}* handle);

#ifdef __cplusplus
}}
#endif
#endif
)";

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

}  // namespace

std::string header_text(const std::string& name, const flat::Program& program, const Target& target,
                        const std::vector<std::string>& remarks) {
  std::string tensors;
  bool constants = false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    tensors += tensor_text("inputs", i, program.inputs[i]);
    constants |= program.inputs[i].constant;
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    tensors += tensor_text("outputs", i, program.outputs[i]);
  std::string head = replaced(kHead, "{name}", name);
  head = replaced(head, "{target}", target.text());
  head = replaced(head, "{inputs}", std::to_string(program.inputs.size()));
  head = replaced(head, "{outputs}", std::to_string(program.outputs.size()));
  head = replaced(head, "{tensors}", tensors);
  head =
      replaced(head, "{constants}",
               constants ? " * Constant inputs are given to prepare and must stay where they "
                           "are until destroy; run takes "
                           "NULL for them.\n * After a prepare that failed, run refuses until one "
                           "succeeds.\n"
                         : "");
  std::string said;
  for (const std::string& remark : remarks) said += " *\n" + comment_lines(remark);
  head = replaced(head, "{remarks}", said);
  const std::string threads =
      target.threads() == 1 ? "1 thread" : fmt::format("{} threads", target.threads());
  return head +
         fmt::format(kTypes, fmt::arg("abi", LATHE_ARTIFACT_ABI), fmt::arg("ok", int{LATHE_OK}),
                     fmt::arg("invalid", int{LATHE_INVALID_ARGUMENT}),
                     fmt::arg("memory", int{LATHE_OUT_OF_MEMORY}),
                     fmt::arg("prepared", int{LATHE_NOT_PREPARED}),
                     fmt::arg("cpu", int{LATHE_WRONG_CPU})) +
         fmt::format(kFunctions, fmt::arg("name", name), fmt::arg("threads", threads));
}

}  // namespace lathe::package
