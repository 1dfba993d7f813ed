#include "tuner/space/rules/cuda/card_limits.h"

#include <algorithm>
#include <string>

namespace lathe::space {

std::int64_t number_chosen(const std::vector<Knob>& knobs, int knob,
                           std::span<const std::int64_t> values) {
  const auto k = static_cast<std::size_t>(knob);
  return std::stoll(knobs[k].labels[static_cast<std::size_t>(values[k])]);
}

// Values are counted from 0: the first label, and what each later one adds where it is reached.
ir::SizeId size_chosen(const std::vector<Knob>& knobs, int knob, ir::Sizes& sizes) {
  const Knob& of = knobs[static_cast<std::size_t>(knob)];
  const ir::SizeId value = sizes.knob(knob, of.name);
  ir::SizeId out = sizes.constant(std::stoll(of.labels[0]));
  for (std::size_t v = 1; v < of.labels.size(); ++v) {
    const ir::SizeId beyond = sizes.add(value, sizes.constant(1 - static_cast<std::int64_t>(v)));
    const ir::SizeId reached =
        sizes.min(sizes.constant(1), sizes.max(sizes.constant(0), beyond));  // 1 or 0
    const std::int64_t more = std::stoll(of.labels[v]) - std::stoll(of.labels[v - 1]);
    out = sizes.add(out, sizes.mul(sizes.constant(more), reached));
  }
  return out;
}

bool keeps_limits(const Derived& derived, std::span<const std::int64_t> values,
                  std::vector<std::int64_t>& sizes) {
  derived.sizes.evaluate(values, sizes);
  return std::ranges::all_of(derived.constraints, [&](const Constraint& c) {
    return sizes[static_cast<std::size_t>(c.size)] <= c.most;
  });
}

}  // namespace lathe::space
