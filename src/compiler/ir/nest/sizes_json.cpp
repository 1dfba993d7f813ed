#include "compiler/ir/nest/sizes_json.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace lathe::ir {
namespace {

struct Operation {
  const char* name;
  Sizes::Op op;
  SizeId (Sizes::*make)(SizeId, SizeId);
};
constexpr Operation kOperations[] = {{"add", Sizes::Op::kAdd, &Sizes::add},
                                     {"mul", Sizes::Op::kMul, &Sizes::mul},
                                     {"ceildiv", Sizes::Op::kCeilDiv, &Sizes::ceildiv},
                                     {"min", Sizes::Op::kMin, &Sizes::min},
                                     {"max", Sizes::Op::kMax, &Sizes::max}};

// True if the number fits 64 bits with a sign.
bool is_whole(const Json& json) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return json.is_number_integer() &&
         !(json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest);
}

}  // namespace

Json to_json(const Sizes& sizes, SizeId id) {
  const Sizes::Entry& entry = sizes.at(id);
  if (entry.op == Sizes::Op::kConst) return entry.value;
  if (entry.op == Sizes::Op::kKnob) return sizes.knob_name(static_cast<int>(entry.value));
  const auto* operation = std::ranges::find(kOperations, entry.op, &Operation::op);
  return Json::array({operation->name, to_json(sizes, entry.a), to_json(sizes, entry.b)});
}

Result<SizeId> size_from_json(const Json& json, Sizes& sizes, const KnobSize& knob) {
  if (is_whole(json)) return sizes.constant(json.get<std::int64_t>());
  if (json.is_string()) return knob(json.get<std::string>());
  if (!json.is_array() || json.size() != 3 || !json[0].is_string())
    return fail(ErrorKind::kInvalidArgument,
                "{} is no size; write a number, a knob's name or [operation, size, size]",
                json.dump());
  const auto* operation =
      std::ranges::find(kOperations, json[0].get<std::string>(), &Operation::name);
  if (operation == std::end(kOperations))
    return fail(ErrorKind::kInvalidArgument,
                "{} is no operation on sizes; known are add, mul, ceildiv, min, max",
                json[0].dump());
  const SizeId a = LATHE_TRY(size_from_json(json[1], sizes, knob));
  const SizeId b = LATHE_TRY(size_from_json(json[2], sizes, knob));
  if (operation->op == Sizes::Op::kCeilDiv && sizes.is_constant(b) && sizes.constant_value(b) < 1)
    return fail(ErrorKind::kInvalidArgument, "{} divides by less than 1", json.dump());
  return (sizes.*operation->make)(a, b);
}

}  // namespace lathe::ir
