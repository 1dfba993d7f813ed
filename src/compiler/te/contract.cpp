#include "compiler/te/contract.h"

#include <array>
#include <cmath>
#include <cstddef>

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

bool is_algorithm(std::string_view name) {
  if (name == "direct" || name == "cook_toom" || name == "strassen") return true;
  if (!name.starts_with('F')) return false;
  // Numbers with x between them, of a few digits each.
  constexpr int kMostDigits = 4;
  int digits = 0;
  for (const char c : name.substr(1)) {
    const bool digit = c >= '0' && c <= '9';
    if (digit ? digits == kMostDigits : (c != 'x' || digits == 0)) return false;
    digits = digit ? digits + 1 : 0;
  }
  return digits > 0;
}

Numerics numerics_of_algorithm(std::string_view name) {
  if (name == "direct") return Numerics::kComponentwise;
  return name == "strassen" ? Numerics::kNormwise : Numerics::kLocal;
}

Numerics Contract::level() const {
  return algorithm.empty() ? numerics.value_or(Numerics::kLocal) : numerics_of_algorithm(algorithm);
}

std::string max_error_from(double least) {
  const double digit = std::pow(10, std::floor(std::log10(least)) - 1);
  return fmt::format("{:.2g}", std::ceil(least / digit) * digit);
}

Status check(const Contract& contract) {
  if (!(contract.max_error > 0 && contract.max_error <= 1))
    return fail(ErrorKind::kInvalidArgument, "max_error must be more than 0 and at most 1");
  if (contract.algorithm.empty()) return {};
  if (!is_algorithm(contract.algorithm))
    return fail(ErrorKind::kInvalidArgument, "\"{}\" is no algorithm; name {}", contract.algorithm,
                kAlgorithms);
  if (contract.numerics && contract.level() > *contract.numerics)
    return fail(ErrorKind::kInvalidArgument,
                "algorithm {} is {}, and numerics {} does not allow it; name another algorithm, or "
                "numerics {}",
                contract.algorithm, name_of(contract.level()), name_of(*contract.numerics),
                name_of(contract.level()));
  return {};
}

}  // namespace lathe::te
