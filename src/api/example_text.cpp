// The example beside an exported library: C99 that needs nothing but the C library.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

#include "api/artifact.h"
#include "base/shell.h"

namespace lathe::api {
namespace {

constexpr const char* kHead =
    R"(/* Calls {library}: fills the inputs, runs once, prints the first numbers of each output,
 * as stored.
 *   cc {source} -I. {file}{libraries} -o {program} && {program} */
#include "{stem}.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
)";

// Where tensors are: in memory of the processor, or of the card with a copy beside it.
constexpr const char* kTensor = R"(
static DLTensor tensor(size_t bytes, int code, int bits, int64_t* shape, int dimensions) {
  DLTensor t;
  char* memory = (char*)calloc(bytes + 64, 1);
  if (memory == NULL) exit(1);
  memset(&t, 0, sizeof t);
  t.data = memory + (64 - (uintptr_t)memory % 64);
  t.device.device_type = kDLCPU;
  t.ndim = dimensions;
  t.dtype.code = (uint8_t)code;
  t.dtype.bits = (uint8_t)bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}
)";
constexpr const char* kCardTensor = R"(
/* What is used of NVIDIA's driver: functions return 0 or a code. */
typedef unsigned long long address;
int cuInit(unsigned flags);
int cuDeviceGet(int* card, int number);
int cuDevicePrimaryCtxRetain(void** context, int card);
int cuCtxPushCurrent_v2(void* context);
int cuMemAlloc_v2(address* memory, size_t bytes);
int cuMemcpyHtoDAsync_v2(address to, const void* from, size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, address from, size_t bytes, void* stream);
int cuStreamSynchronize(void* stream);

static void must(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s: code %d of CUDA\n", what, code);
  exit(1);
}

static void open_card(void) {
  void* context;
  int card;
  must(cuInit(0), "init");
  must(cuDeviceGet(&card, 0), "card");
  must(cuDevicePrimaryCtxRetain(&context, card), "context");
  must(cuCtxPushCurrent_v2(context), "context");
}

static DLTensor tensor(size_t bytes, int code, int bits, int64_t* shape, int dimensions) {
  DLTensor t;
  address memory;
  must(cuMemAlloc_v2(&memory, bytes > 0 ? bytes : 1), "memory");
  memset(&t, 0, sizeof t);
  t.data = (void*)(uintptr_t)memory;
  t.device.device_type = kDLCUDA;
  t.ndim = dimensions;
  t.dtype.code = (uint8_t)code;
  t.dtype.bits = (uint8_t)bits;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

static void* beside(size_t bytes) {
  void* memory = calloc(bytes + 1, 1);
  if (memory == NULL) exit(1);
  return memory;
}

static void send(const DLTensor* to, const void* from, size_t bytes) {
  must(cuMemcpyHtoDAsync_v2((address)(uintptr_t)to->data, from, bytes, NULL), "copy");
  must(cuStreamSynchronize(NULL), "copy");
}

static void fetch(void* to, const DLTensor* from, size_t bytes) {
  must(cuMemcpyDtoHAsync_v2(to, (address)(uintptr_t)from->data, bytes, NULL), "copy");
  must(cuStreamSynchronize(NULL), "run");
}
)";

// C has no type for these; the numbers of fill_f16 and fill_bf16 are exact in them.
constexpr const char* kToF16 = R"(
static uint16_t to_f16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value == 0) return 0;
  return (uint16_t)((bits >> 16 & 0x8000u) | ((bits >> 23 & 0xffu) - 112u) << 10 |
                    (bits >> 13 & 0x3ffu));
}
)";
constexpr const char* kToBf16 = R"(
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}
)";
constexpr const char* kFromF16 = R"(
static double from_f16(uint16_t half) {
  const uint32_t exponent = half >> 10 & 31u, fraction = half & 0x3ffu;
  uint32_t bits = (exponent == 31u ? 0xffu : exponent + 112u) << 23 | fraction << 13;
  float value = (float)fraction / 16777216.0f;
  if (exponent != 0) memcpy(&value, &bits, sizeof value);
  return half & 0x8000u ? -(double)value : (double)value;
}
)";
constexpr const char* kFromBf16 = R"(
static double from_bf16(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}
)";

constexpr const char* kFill = R"(
static void fill_{type}(void* data, size_t count) {{
  size_t i;
  for (i = 0; i < count; ++i) (({c_type}*)data)[i] = {number};
}}
)";

constexpr const char* kStop = R"(
static int stop(const char* what, const lathe_{name}* handle) {{
  fprintf(stderr, "%s: %s\n", what, lathe_{name}_message(handle));
  return 1;
}}

int main(void) {{
)";

constexpr const char* kCalls = R"(
  if (lathe_{name}_create(NULL, &handle) != LATHE_OK) return stop("create", NULL);
  if (lathe_{name}_prepare(handle, inputs{stream}) != LATHE_OK) return stop("prepare", handle);
  if (lathe_{name}_run(handle, inputs, outputs{stream}) != LATHE_OK) return stop("run", handle);
)";

// An element type in C: its DLPack code, the type of an element, the number that fills element i,
// and how to print an element, for which `{}` stands.
struct CType {
  const char *code, *c_type, *number, *format, *printed;
};
CType c_type(Dtype dtype) {
  constexpr const char *kLong = "%lld", *kAsLong = "(long long){}";
  switch (dtype) {
    case Dtype::kF32:
      return {"kDLFloat", "float", "(float)(i % 17) / 16.0f - 0.5f", "%g", "(double){}"};
    case Dtype::kF64: return {"kDLFloat", "double", "(double)(i % 17) / 16.0 - 0.5", "%g", "{}"};
    case Dtype::kF16:
      return {"kDLFloat", "uint16_t", "to_f16((float)(i % 17) / 16.0f - 0.5f)", "%g",
              "from_f16({})"};
    case Dtype::kBF16:
      return {"kDLBfloat", "uint16_t", "to_bf16((float)(i % 17) / 16.0f - 0.5f)", "%g",
              "from_bf16({})"};
    case Dtype::kI8: return {"kDLInt", "int8_t", "(int8_t)((int)(i % 7) - 3)", kLong, kAsLong};
    case Dtype::kI32: return {"kDLInt", "int32_t", "(int32_t)(i % 7) - 3", kLong, kAsLong};
    case Dtype::kI64: return {"kDLInt", "int64_t", "(int64_t)(i % 7) - 3", kLong, kAsLong};
    case Dtype::kU8: return {"kDLUInt", "uint8_t", "(uint8_t)(i % 7)", kLong, kAsLong};
    case Dtype::kI16: return {"kDLInt", "int16_t", "(int16_t)((int)(i % 7) - 3)", kLong, kAsLong};
    case Dtype::kU16: return {"kDLUInt", "uint16_t", "(uint16_t)(i % 7)", kLong, kAsLong};
    case Dtype::kU32: return {"kDLUInt", "uint32_t", "(uint32_t)(i % 7)", kLong, kAsLong};
    case Dtype::kBool: return {"kDLUInt", "uint8_t", "(uint8_t)(i % 2)", kLong, kAsLong};
  }
  return {};
}

std::set<Dtype> types_of(const std::vector<flat::Border>& borders) {
  std::set<Dtype> types;
  for (const auto& border : borders) types.insert(border.dtype);
  return types;
}

std::string helpers(const flat::Program& program) {
  std::string text;
  const std::set<Dtype> in = types_of(program.inputs), out = types_of(program.outputs);
  if (in.contains(Dtype::kF16)) text += kToF16;
  if (in.contains(Dtype::kBF16)) text += kToBf16;
  for (const Dtype dtype : in)
    text += fmt::format(kFill, fmt::arg("type", name_of(dtype)),
                        fmt::arg("c_type", c_type(dtype).c_type),
                        fmt::arg("number", c_type(dtype).number));
  if (out.contains(Dtype::kF16)) text += kFromF16;
  if (out.contains(Dtype::kBF16)) text += kFromBf16;
  return text;
}

std::int64_t bytes_of(const flat::Border& border) { return border.size * size_of(border.dtype); }

std::string declare(const char* kind, std::size_t i, const flat::Border& border) {
  std::vector<std::int64_t> shape = border.shape;
  // C has no empty arrays; the tensor has no dimensions nevertheless.
  if (shape.empty()) shape.push_back(1);
  return fmt::format(
      "  int64_t {0}{1}_shape[] = {{{2}}};\n"
      "  DLTensor {0}{1} = tensor({3}, {4}, {5}, {0}{1}_shape, {6}); /* {7} */\n",
      kind, i, fmt::join(shape, ", "), bytes_of(border), c_type(border.dtype).code,
      size_of(border.dtype) * 8, border.shape.size(), border.name);
}

std::string list(const char* kind, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("&{}{}", kind, i));
  return count == 0 ? "NULL" : fmt::format("{}", fmt::join(names, ", "));
}

std::string print(std::size_t i, const flat::Border& border, const char* data) {
  constexpr std::int64_t kShown = 8;
  const CType type = c_type(border.dtype);
  const std::string element = fmt::format("(({}*)out{}{})[i]", type.c_type, i, data);
  return fmt::format("  for (i = 0; i < {}; ++i) printf(\"{}[%d] = {}\\n\", i, {});\n",
                     std::min(kShown, border.size), border.name, type.format,
                     fmt::format(fmt::runtime(type.printed), element));
}

// What main() declares.
std::string declarations(const flat::Program& program, const std::string& name, bool on_card) {
  std::string text = on_card ? "  open_card();\n" : "";
  const auto declare_all = [&](const char* kind, const std::vector<flat::Border>& borders) {
    for (std::size_t i = 0; i < borders.size(); ++i) {
      text += declare(kind, i, borders[i]);
      if (on_card)
        text += fmt::format("  void* {}{}_beside = beside({});\n", kind, i, bytes_of(borders[i]));
    }
  };
  declare_all("in", program.inputs);
  declare_all("out", program.outputs);
  text += fmt::format("  const DLTensor* inputs[] = {{{}}};\n", list("in", program.inputs.size()));
  text += fmt::format("  DLTensor* outputs[] = {{{}}};\n", list("out", program.outputs.size()));
  return text + fmt::format("  lathe_{}* handle;\n  int i;\n\n", name);
}

// Quotes a word for a shell.
std::string word(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  };
  return std::ranges::all_of(name, plain) ? name : shell_word(name);
}

}  // namespace

std::string example_text(const flat::Program& program, const std::string& name,
                         const std::string& library, DeviceKind kind) {
  const bool on_card = kind == DeviceKind::kCuda;
  const char* const data = on_card ? "_beside" : ".data";
  const std::string stem = std::filesystem::path(library).stem().string();
  std::string text = fmt::format(kHead, fmt::arg("library", library), fmt::arg("stem", stem),
                                 fmt::arg("source", word("./" + stem + "_example.c")),
                                 fmt::arg("file", word("./" + library)),
                                 fmt::arg("libraries", on_card ? " -l:libcuda.so.1" : ""),
                                 fmt::arg("program", word("./" + stem + "_example")));
  text += (on_card ? kCardTensor : kTensor) + helpers(program);
  text += fmt::format(kStop, fmt::arg("name", name));
  text += declarations(program, name, on_card);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const flat::Border& border = program.inputs[i];
    text += fmt::format("  fill_{}(in{}{}, {});\n", name_of(border.dtype), i, data, border.size);
    if (on_card) text += fmt::format("  send(&in{0}, in{0}_beside, {1});\n", i, bytes_of(border));
  }
  text += fmt::format(kCalls, fmt::arg("name", name), fmt::arg("stream", on_card ? ", NULL" : ""));
  for (std::size_t i = 0; on_card && i < program.outputs.size(); ++i)
    text += fmt::format("  fetch(out{0}_beside, &out{0}, {1});\n", i, bytes_of(program.outputs[i]));
  text += fmt::format("  lathe_{}_destroy(handle);\n", name);
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    text += print(i, program.outputs[i], data);
  return text + "  return 0;\n}\n";
}

}  // namespace lathe::api
