#include "tuner/space/rules/again/again_space.h"

#include <algorithm>

#include "tuner/space/rebuild.h"
#include "tuner/space/rules/again/pass_cost.h"
#include "tuner/space/rules/cpu.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

using algebra::Repeated;

// A search starts with what is computed again if that promises at most this share of the time.
constexpr double kAgainPays = 0.9;
// Or tries it among the first, up to this; from there on it cannot win.
constexpr double kAgainMayPay = 1.3, kAgainIsHopeless = 2;

std::string rewrites_of(const te::Workload& workload, Repeated repeated) {
  return schedule::print(begin(workload, repeated).steps);
}

double cycles_of_program(const CpuContext& context, Repeated repeated) {
  const Prepared prepared = prepare_plainly(context.workload, context.target, repeated);
  return cycles_of_passes(view_of(prepared.nest, context.workload), context.target);
}

// True if some stages do blocks of rows, or parts or strips of them, together: what is kept for a
// block need not leave the cache, which the estimate does not know.
bool goes_together(const Derived& derived) {
  for (std::size_t k = 0; k < derived.knobs.size(); ++k) {
    const std::string& name = derived.knobs[k].name;
    if ((name == "rows" || name.ends_with(".rows") || name == "row.parts" || name == "strips") &&
        derived.starts[0][k] > 0)
      return true;
  }
  return false;
}

class AgainAlternatives : public Alternatives {
 public:
  // `share`: of the time of what is kept.
  AgainAlternatives(const te::Workload& workload, Derived again, double share)
      : workload_(workload), again_(std::move(again)), share_(share) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    first_ = before.size() + 1;
    Choice choice{{"algebra.kept", {0, 1}, {"kept", "again"}, true}, std::nullopt, again_.knobs};
    for (Knob& knob : choice.own) {
      knob.name.insert(0, kAgainPrefix);
      if (knob.under >= 0) knob.under += static_cast<int>(first_);
    }
    return {std::move(choice)};
  }

  void add_limits_and_starts(Derived& derived) override {
    for (const Constraint& constraint : again_.constraints) {
      auto own = rebuild(derived.sizes, to_json(again_.sizes, constraint), naming());
      LATHE_CHECK(own.has_value(), "a limit cannot be renamed: {}", own.error().text());
      derived.constraints.push_back(std::move(*own));
    }
    std::vector<std::int64_t> start = first_values(derived.knobs);
    start[first_ - 1] = 1;
    std::ranges::copy(again_.starts[0], start.begin() + static_cast<std::ptrdiff_t>(first_));
    auto& starts = derived.starts;
    const bool is_first = share_ <= kAgainPays && !goes_together(derived);
    if (starts.size() >= kMostStarts) starts.pop_back();
    const std::ptrdiff_t at = is_first ? 0 : share_ <= kAgainMayPay ? 1 : std::ssize(starts);
    starts.insert(starts.begin() + at, std::move(start));
  }

  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    const Sketch own = LATHE_TRY(again_.build(values.subspan(first_, again_.knobs.size())));
    return rebuild(workload_, schedule::to_json(own.trace, own.nest.sizes), naming());
  }

 private:
  // From its own knobs to those of the space.
  Naming naming() const {
    return [this](ir::Sizes& sizes, const std::string& name) -> Result<ir::SizeId> {
      const int number = number_of(again_.knobs, name);
      LATHE_CHECK(number >= 0, "no rule has made the knob {}", name);
      return sizes.knob(static_cast<int>(first_) + number, std::string(kAgainPrefix) + name);
    };
  }

  te::Workload workload_;
  Derived again_;
  double share_;
  std::size_t first_ = 0;  // the number of its first knob, after the knob that chooses
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_again(const CpuContext& context) {
  const te::Workload& workload = context.workload;
  if (context.repeated == Repeated::kAgain ||
      rewrites_of(workload, Repeated::kKept) == rewrites_of(workload, Repeated::kAgain))
    return nullptr;
  const double share =
      cycles_of_program(context, Repeated::kAgain) / cycles_of_program(context, Repeated::kKept);
  if (share >= kAgainIsHopeless) return nullptr;
  CpuContext other = context;
  other.repeated = Repeated::kAgain;
  other.direct = nullptr;
  auto again = derive_for_cpu(std::move(other));
  if (!again) return nullptr;  // a demanded algorithm may need what is kept
  return std::make_unique<AgainAlternatives>(workload, std::move(*again), share);
}

namespace {

constexpr Meaning kAgainMeanings[] = {
    {"algebra.kept",
     "of element-wise stages that are read several times, and expressions that a stage would "
     "compute anew for every element of its result: kept: they are computed once, before; again: "
     "wherever they are read. The knobs again.* are those of the program that does so"},
};

}  // namespace

std::span<const Meaning> again_meanings() { return kAgainMeanings; }

}  // namespace lathe::space
