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
 *   cc {source} -I. {file} -o {program} && {program} */
#include "{stem}.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DLTensor tensor(size_t bytes, int code, int bits, int64_t* shape, int dimensions) {{
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
}}
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
  if (lathe_{name}_prepare(handle, inputs) != LATHE_OK) return stop("prepare", handle);
  if (lathe_{name}_run(handle, inputs, outputs) != LATHE_OK) return stop("run", handle);
  lathe_{name}_destroy(handle);
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

std::string declare(const char* kind, std::size_t i, const flat::Border& border) {
  std::vector<std::int64_t> shape = border.shape;
  // C has no empty arrays; the tensor has no dimensions nevertheless.
  if (shape.empty()) shape.push_back(1);
  return fmt::format(
      "  int64_t {0}{1}_shape[] = {{{2}}};\n"
      "  DLTensor {0}{1} = tensor({3}, {4}, {5}, {0}{1}_shape, {6}); /* {7} */\n",
      kind, i, fmt::join(shape, ", "), border.size * size_of(border.dtype),
      c_type(border.dtype).code, size_of(border.dtype) * 8, border.shape.size(), border.name);
}

std::string list(const char* kind, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("&{}{}", kind, i));
  return count == 0 ? "NULL" : fmt::format("{}", fmt::join(names, ", "));
}

std::string print(std::size_t i, const flat::Border& border) {
  constexpr std::int64_t kShown = 8;
  const CType type = c_type(border.dtype);
  const std::string element = fmt::format("(({}*)out{}.data)[i]", type.c_type, i);
  return fmt::format("  for (i = 0; i < {}; ++i) printf(\"{}[%d] = {}\\n\", i, {});\n",
                     std::min(kShown, border.size), border.name, type.format,
                     fmt::format(fmt::runtime(type.printed), element));
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
                         const std::string& library) {
  const std::string stem = std::filesystem::path(library).stem().string();
  std::string text = fmt::format(kHead, fmt::arg("library", library), fmt::arg("stem", stem),
                                 fmt::arg("source", word("./" + stem + "_example.c")),
                                 fmt::arg("file", word("./" + library)),
                                 fmt::arg("program", word("./" + stem + "_example"))) +
                     helpers(program);
  text += fmt::format(kStop, fmt::arg("name", name));
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    text += declare("in", i, program.inputs[i]);
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    text += declare("out", i, program.outputs[i]);
  text += fmt::format("  const DLTensor* inputs[] = {{{}}};\n", list("in", program.inputs.size()));
  text += fmt::format("  DLTensor* outputs[] = {{{}}};\n", list("out", program.outputs.size()));
  text += fmt::format("  lathe_{}* handle;\n  int i;\n\n", name);
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    text += fmt::format("  fill_{}(in{}.data, {});\n", name_of(program.inputs[i].dtype), i,
                        program.inputs[i].size);
  text += fmt::format(kCalls, fmt::arg("name", name));
  for (std::size_t i = 0; i < program.outputs.size(); ++i) text += print(i, program.outputs[i]);
  return text + "  return 0;\n}\n";
}

}  // namespace lathe::api
