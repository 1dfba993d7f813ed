#include "compiler/ir/intrinsics/intrinsic.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/known_names.h"

namespace lathe::ir {
namespace {

double rounding_of(const Fragment& factor) {
  return factor.mantissa_bits == 0 ? 0 : std::ldexp(1.0, -(factor.mantissa_bits + 1));
}

}  // namespace

double Intrinsic::product_error() const {
  return (1 + rounding_of(left)) * (1 + rounding_of(right)) - 1;
}

const Intrinsic& row_of(IntrinsicId id) {
  const auto row = static_cast<std::size_t>(id);
  LATHE_CHECK(id != IntrinsicId::kNone && row < intrinsics().size(), "there is no intrinsic {}",
              static_cast<int>(id));
  return intrinsics()[row];
}

std::string_view name_of(IntrinsicId id) {
  return id == IntrinsicId::kNone ? std::string_view() : row_of(id).name;
}

Result<IntrinsicId> intrinsic_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Intrinsic& row : intrinsics()) {
    if (row.name == name) return static_cast<IntrinsicId>(names.size());
    names.emplace_back(row.name);
  }
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no intrinsic; known are {}", name,
              known_names(names, name));
}

Status check_has(const Target& target, const Intrinsic& intrinsic) {
  if (intrinsic.is_written_out() || target.abilities().*intrinsic.ability) return {};
  return fail(ErrorKind::kUnsupported,
              "intrinsic {} is the instruction {}, which {} has not, but {} have; take a schedule "
              "without it",
              intrinsic.name, intrinsic.call, target.text(), intrinsic.found);
}

}  // namespace lathe::ir
