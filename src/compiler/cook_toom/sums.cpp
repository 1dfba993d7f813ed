#include "compiler/cook_toom/sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace lathe::cook_toom {
namespace {

bool is_unit(double factor) { return std::abs(factor) == 1; }

int operations_of(const Sum& sum) {
  if (sum.empty()) return 0;
  const bool free_start = std::ranges::any_of(sum, [](const Term& t) { return is_unit(t.factor); });
  return static_cast<int>(sum.size()) - (free_start ? 1 : 0);
}

// Two terms of a sum; other sums may have them with another common factor.
struct Pair {
  Term a, b;
};

std::optional<double> multiple_in(const Sum& sum, const Pair& pair) {
  const auto a = std::ranges::find(sum, pair.a.value, &Term::value);
  const auto b = std::ranges::find(sum, pair.b.value, &Term::value);
  if (a == sum.end() || b == sum.end()) return {};
  if (a->factor * pair.b.factor != b->factor * pair.a.factor) return {};
  return a->factor / pair.a.factor;
}

struct Choice {
  Pair pair{};
  int uses = 1, units = 0;  // sums with a multiple of the pair; those where the multiple is 1 or -1
};

// A temporary starts from a term that it need not multiply.
Pair with_unit(const Term& a, const Term& b) {
  if (is_unit(a.factor) || is_unit(b.factor)) return {a, b};
  return {{a.value, 1}, {b.value, b.factor / a.factor}};
}

Choice best_pair(const std::vector<Sum>& sums) {
  Choice best;
  for (const Sum& sum : sums)
    for (std::size_t i = 0; i < sum.size(); ++i)
      for (std::size_t j = i + 1; j < sum.size(); ++j) {
        Choice choice{with_unit(sum[i], sum[j]), 0, 0};
        for (const Sum& other : sums)
          if (const auto multiple = multiple_in(other, choice.pair)) {
            ++choice.uses;
            choice.units += is_unit(*multiple) ? 1 : 0;
          }
        if (std::pair(choice.uses, choice.units) > std::pair(best.uses, best.units)) best = choice;
      }
  return best;
}

}  // namespace

int SharedSums::operations() const {
  int count = 0;
  for (const auto& sums : {temporaries, outputs})
    for (const Sum& sum : sums) count += operations_of(sum);
  return count;
}

SharedSums share_sums(const std::vector<std::vector<double>>& rows) {
  SharedSums out;
  for (const auto& row : rows) {
    out.inputs = static_cast<int>(row.size());
    Sum sum;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] != 0) sum.push_back({static_cast<int>(i), row[i]});
    out.outputs.push_back(std::move(sum));
  }
  for (;;) {
    const Choice best = best_pair(out.outputs);
    if (best.uses < 2) return out;
    const int value = out.inputs + static_cast<int>(out.temporaries.size());
    out.temporaries.push_back({best.pair.a, best.pair.b});
    for (Sum& sum : out.outputs) {
      const auto multiple = multiple_in(sum, best.pair);
      if (!multiple) continue;
      std::erase_if(sum, [&](const Term& t) {
        return t.value == best.pair.a.value || t.value == best.pair.b.value;
      });
      sum.push_back({value, *multiple});
    }
  }
}

}  // namespace lathe::cook_toom
