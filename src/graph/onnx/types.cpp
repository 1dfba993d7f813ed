#include <algorithm>
#include <array>

#include "graph/onnx/model.h"

namespace lathe::onnx {
namespace {

struct Type {
  const char* name;
  std::optional<Dtype> dtype;
};

// By ONNX's number.
constexpr std::array<Type, 27> kTypes = {{{"no type", {}},
                                          {"float", Dtype::kF32},
                                          {"uint8", Dtype::kU8},
                                          {"int8", Dtype::kI8},
                                          {"uint16", Dtype::kU16},
                                          {"int16", Dtype::kI16},
                                          {"int32", Dtype::kI32},
                                          {"int64", Dtype::kI64},
                                          {"string", {}},
                                          {"bool", Dtype::kBool},
                                          {"float16", Dtype::kF16},
                                          {"double", Dtype::kF64},
                                          {"uint32", Dtype::kU32},
                                          {"uint64", {}},
                                          {"complex64", {}},
                                          {"complex128", {}},
                                          {"bfloat16", Dtype::kBF16},
                                          {"float8e4m3fn", {}},
                                          {"float8e4m3fnuz", {}},
                                          {"float8e5m2", {}},
                                          {"float8e5m2fnuz", {}},
                                          {"uint4", {}},
                                          {"int4", {}},
                                          {"float4e2m1", {}},
                                          {"float8e8m0", {}},
                                          {"uint2", {}},
                                          {"int2", {}}}};

const Type* type_of(int type) {
  return type >= 0 && type < static_cast<int>(kTypes.size())
             ? &kTypes[static_cast<std::size_t>(type)]
             : nullptr;
}

}  // namespace

std::string type_name(int type) {
  const Type* known = type_of(type);
  return known ? known->name : fmt::format("type {}", type);
}

std::optional<Dtype> dtype_of(int type) {
  const Type* known = type_of(type);
  return known ? known->dtype : std::nullopt;
}

std::string Node::label() const {
  if (!name.empty()) return fmt::format("node '{}' ({})", name, op);
  const auto made = std::ranges::find_if(outputs, [](const auto& out) { return !out.empty(); });
  return made == outputs.end() ? fmt::format("a {} that makes nothing", op)
                               : fmt::format("the {} that makes '{}'", op, *made);
}

}  // namespace lathe::onnx
