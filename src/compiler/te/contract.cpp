#include "compiler/te/contract.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "compiler/te/algorithms.h"

namespace lathe::te {
namespace {

struct LevelText {
  Numerics level;
  std::string_view name, promise;
};
constexpr std::array<LevelText, 3> kLevelTexts = {{
    {Numerics::kComponentwise, "componentwise",
     "an element's error is bounded by what its own terms add up to, and NaN and infinity go where "
     "a term carries them"},
    {Numerics::kLocal, "local",
     "roundings, NaN and infinity may spread among neighbouring results, within a tile of them"},
    {Numerics::kNormwise, "normwise",
     "roundings, NaN and infinity may spread over whole rows, columns and matrices"},
}};

const LevelText& about(Numerics level) { return kLevelTexts.at(static_cast<std::size_t>(level)); }

}  // namespace

std::string_view name_of(Numerics level) { return about(level).name; }
std::string_view promise_of(Numerics level) { return about(level).promise; }

std::optional<Numerics> numerics_from_name(std::string_view name) {
  for (const LevelText& each : kLevelTexts)
    if (each.name == name) return each.level;
  return std::nullopt;
}

Numerics Contract::level() const {
  const Algorithm* named = algorithm.empty() ? nullptr : algorithm_named(algorithm);
  return named == nullptr ? numerics.value_or(Numerics::kLocal) : named->level;
}

std::string max_error_from(double least) {
  const double digit = std::pow(10, std::floor(std::log10(least)) - 1);
  return fmt::format("{:.2g}", std::ceil(least / digit) * digit);
}

Status check(const Contract& contract) {
  if (!(contract.max_error > 0 && contract.max_error <= 1))
    return fail(ErrorKind::kInvalidArgument, "max_error must be more than 0 and at most 1");
  if (contract.algorithm.empty()) return {};
  if (algorithm_named(contract.algorithm) == nullptr)
    return fail(ErrorKind::kInvalidArgument, "\"{}\" is no algorithm; name {}", contract.algorithm,
                algorithm_words());
  if (contract.numerics && contract.level() > *contract.numerics)
    return fail(ErrorKind::kInvalidArgument,
                "algorithm {} is {}, and numerics {} does not allow it; name another algorithm, or "
                "numerics {}",
                contract.algorithm, name_of(contract.level()), name_of(*contract.numerics),
                name_of(contract.level()));
  return {};
}

}  // namespace lathe::te
