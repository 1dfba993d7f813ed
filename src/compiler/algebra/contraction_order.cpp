#include "compiler/algebra/contraction_order.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace lathe::algebra {
namespace {

using Mask = unsigned;  // of factors

// Another order must cost no more than this share.
constexpr double kWorthIt = 0.75;

// Finds, for each set of factors, how to compute the product of them all, summed up over what no
// other factor and no axis of the result has.
class Orders {
 public:
  explicit Orders(const FactorSum& sum)
      : sum_(sum), all_((Mask{1} << sum.factors.size()) - 1), values_(all_ + 1), best_(all_ + 1) {
    for (Mask mask = 1; mask <= all_; ++mask) {
      values_[mask] = values(mask);
      find(mask);
    }
  }

  ContractionPart order() const {
    const Choice plain = choice_of(all_, singles(all_));
    if (best_[all_].cost > kWorthIt * plain.cost) return part_of(plain);
    return part_of(best_[all_]);
  }

 private:
  struct Choice {
    double cost = std::numeric_limits<double>::infinity();
    std::vector<Mask> parts;  // single factors as they are, or what is computed first
    std::vector<bool> first;  // by part
  };

  static std::vector<Mask> singles(Mask mask) {
    std::vector<Mask> out;
    for (Mask rest = mask; rest != 0; rest &= rest - 1) out.push_back(rest & -rest);
    return out;
  }
  const FactorSum::Factor& factor(Mask single) const {
    return sum_.factors[static_cast<std::size_t>(std::countr_zero(single))];
  }

  std::set<int> touched(Mask mask) const {
    std::set<int> out;
    for (const Mask f : singles(mask)) out.insert(factor(f).iters.begin(), factor(f).iters.end());
    return out;
  }
  // The iterators of what the factors make together.
  std::set<int> result(Mask mask) const {
    const std::set<int> elsewhere = touched(all_ & ~mask);
    std::set<int> out = touched(mask);
    std::erase_if(out, [&](int i) { return !elsewhere.contains(i) && !sum_.results.contains(i); });
    return out;
  }
  double points(const std::set<int>& iters) const {
    double product = 1;
    for (const int i : iters) product *= sum_.extents[static_cast<std::size_t>(i)];
    return product;
  }

  // What the factors make together has so many values.
  double values(Mask mask) const {
    const std::set<int> own = result(mask);
    if (!sum_.values) return points(own);
    std::set<int> factors, summed = touched(mask);
    for (const Mask f : singles(mask)) factors.insert(std::countr_zero(f));
    std::erase_if(summed, [&](int i) { return own.contains(i); });
    return std::min(points(own), sum_.values(factors, summed));
  }

  // A factor whose values are computed once, and not summed up.
  bool is_kept(Mask part) const {
    return std::has_single_bit(part) && result(part) == factor(part).iters;
  }
  double cost_of_first(Mask part) const {
    if (is_kept(part))
      return factor(part).values * (factor(part).operations + kPerValueKept) + kPerPass;
    return best_[part].cost + kPerValueKept * values_[part] + kPerPass;
  }
  bool may_be_first(Mask part) const {
    return !is_kept(part) || (factor(part).operations > 0 && factor(part).is_worth_it);
  }

  // A product of these parts, single factors as they are.
  Choice choice_of(Mask mask, const std::vector<Mask>& parts) const {
    Choice choice{0, parts, std::vector<bool>(parts.size())};
    for (std::size_t p = 0; p < parts.size(); ++p) choice.first[p] = !std::has_single_bit(parts[p]);
    choice.cost = cost_of(mask, choice);
    return choice;
  }
  double cost_of(Mask mask, const Choice& choice) const {
    std::set<int> iters = mask == all_ ? sum_.results : std::set<int>{};
    double each = std::max<double>(1, static_cast<double>(choice.parts.size()) - 1), before = 0;
    for (std::size_t p = 0; p < choice.parts.size(); ++p) {
      const Mask part = choice.parts[p];
      const std::set<int> own = choice.first[p] ? result(part) : factor(part).iters;
      iters.insert(own.begin(), own.end());
      if (choice.first[p]) before += cost_of_first(part);
      else each += factor(part).operations;
    }
    if (mask == all_) return before + each * points(iters);
    for (const int i : result(mask)) iters.erase(i);
    return before + each * values_[mask] * points(iters);
  }

  void find(Mask mask) {
    std::vector<Mask> parts;
    partition(mask, mask, parts);
  }
  // Goes through all partitions of the mask, `rest` of which is not in a part yet.
  void partition(Mask mask, Mask rest, std::vector<Mask>& parts) {
    if (rest == 0) return try_parts(mask, parts);
    const Mask lowest = rest & -rest, others = rest ^ lowest;
    for (Mask with = others;; with = (with - 1) & others) {
      const Mask part = lowest | with;
      if (part != mask || std::has_single_bit(mask)) {
        parts.push_back(part);
        partition(mask, rest ^ part, parts);
        parts.pop_back();
      }
      if (with == 0) break;
    }
  }
  void try_parts(Mask mask, const std::vector<Mask>& parts) {
    Choice choice = choice_of(mask, parts);
    keep_better(mask, choice);
    if (std::has_single_bit(mask)) return;
    // Single factors that are computed first, one after the other, while that helps.
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!std::has_single_bit(parts[p]) || !may_be_first(parts[p])) continue;
      Choice other = choice;
      other.first[p] = true;
      other.cost = cost_of(mask, other);
      if (other.cost < choice.cost) choice = other;
    }
    keep_better(mask, choice);
  }
  void keep_better(Mask mask, const Choice& choice) {
    if (choice.cost < best_[mask].cost) best_[mask] = choice;
  }

  ContractionPart part_of(const Choice& choice) const {
    ContractionPart out;
    for (std::size_t p = 0; p < choice.parts.size(); ++p) {
      const Mask part = choice.parts[p];
      if (!choice.first[p]) {
        out.factors.push_back(std::countr_zero(part));
      } else if (is_kept(part)) {
        out.parts.push_back({{std::countr_zero(part)}, {}, true});
      } else {
        out.parts.push_back(part_of(best_[part]));
      }
    }
    return out;
  }

  const FactorSum& sum_;
  Mask all_;
  std::vector<double> values_;  // by set of factors
  std::vector<Choice> best_;
};

}  // namespace

std::set<int> ContractionPart::all_factors() const {
  std::set<int> out(factors.begin(), factors.end());
  for (const ContractionPart& part : parts) out.merge(part.all_factors());
  return out;
}

ContractionPart contraction_order(const FactorSum& sum) { return Orders(sum).order(); }

}  // namespace lathe::algebra
