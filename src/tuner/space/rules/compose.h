// Puts a space together from what rules offer: the knobs above alternatives, under what others
// have an effect, where a search starts, and who builds the sketch.
#pragma once

#include <memory>
#include <span>

#include "compiler/te/contract.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

class Composer {
 public:
  // `direct`: derived from the sum as it is written.
  Composer(Derived direct, const te::Contract& contract);

  // False for rules whose alternatives have no place here.
  bool takes(Place place) const;
  void add(Place place, std::shared_ptr<Alternatives> alternatives);
  // Refuses a contract that demands another algorithm than the rules have.
  Result<Derived> finish() &&;

 private:
  int add_choice(Choice choice, const Under& under);
  Build dispatch(std::shared_ptr<const Alternatives> alternatives, std::vector<int> choices,
                 const Under& under, bool may_be_first) const;

  Derived derived_;
  bool may_be_direct_;
  std::string demanded_;  // the algorithm, where the sum must not be computed as it is written
  Under direct_;  // the knob that says how the main sum is computed; of none: always directly
};

template <class Context>
Result<Derived> compose(Derived direct, std::span<const Rule<Context>> rules,
                        const Context& context) {
  Composer composer(std::move(direct), context.workload.contract);
  for (const Rule<Context>& rule : rules) {
    if (!composer.takes(rule.place)) continue;
    if (auto offered = LATHE_TRY(rule.offer(context))) composer.add(rule.place, std::move(offered));
  }
  return std::move(composer).finish();
}

}  // namespace lathe::space
