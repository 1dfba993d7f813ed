#include "tuner/measure/reference_check.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_set>

#include "base/log.h"
#include "base/rng.h"
#include "compiler/algebra/algebra.h"
#include "compiler/interp/te_elements.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/work.h"

namespace lathe::measure {
namespace {

// A term takes tens of nanoseconds: the first number is a second or two, the second the most that
// any workload gets.
constexpr std::int64_t kEnoughTerms = 30'000'000, kMostTerms = 400'000'000;
constexpr std::int64_t kAnywhere = 64;  // elements besides those of the grid

// `count` coordinates of a dimension: both ends and their neighbours, the others at random.
std::vector<std::int64_t> coordinates(std::int64_t extent, std::int64_t count, Rng& rng) {
  std::vector<std::int64_t> out;
  if (count >= extent) {
    for (std::int64_t i = 0; i < extent; ++i) out.push_back(i);
    return out;
  }
  const auto add = [&](std::int64_t i) {
    if (static_cast<std::int64_t>(out.size()) < count && std::ranges::find(out, i) == out.end())
      out.push_back(i);
  };
  add(0);
  add(extent - 1);
  if (count >= 6) add(1), add(extent - 2);
  while (static_cast<std::int64_t>(out.size()) < count) add(rng.between(0, extent - 1));
  return out;
}

std::vector<std::vector<std::int64_t>> grid_of(const std::vector<std::int64_t>& shape, Rng& rng) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::ranges::sort(order, {}, [&](std::size_t d) { return shape[d]; });
  std::vector<std::vector<std::int64_t>> grid(shape.size());
  double left = static_cast<double>(kCheckedElements);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double share =
        std::ceil(std::pow(left, 1 / static_cast<double>(order.size() - i)) - 1e-9);
    grid[order[i]] = coordinates(shape[order[i]],
                                 std::max<std::int64_t>(2, static_cast<std::int64_t>(share)), rng);
    left = std::max(1.0, left / static_cast<double>(grid[order[i]].size()));
  }
  return grid;
}

bool agree(double got, const interp::Value& want) {
  if (!(want.bound < INFINITY) || got == want.value || (std::isnan(got) && std::isnan(want.value)))
    return true;
  return std::abs(got - want.value) <= want.bound;
}

// What is evaluated in place of the workload.
te::Workload evaluable(const te::Workload& workload) {
  const auto is_long = [](const te::Stage& stage) { return te::terms_of(stage) > kEnoughTerms; };
  return !te::has_recurrence(workload) && std::ranges::any_of(workload.stages, is_long)
             ? algebra::rewritten(workload).workload
             : workload;
}

}  // namespace

std::vector<std::int64_t> elements_to_check(const std::vector<std::int64_t>& shape,
                                            std::uint64_t seed) {
  Rng rng(seed ^ 0x636865636bU);
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  const auto grid = grid_of(shape, rng);
  std::vector<std::int64_t> corners, inner;
  std::vector<std::size_t> at(shape.size());
  for (bool more = true; more;) {
    std::int64_t offset = 0;
    bool corner = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = grid[d][at[d]];
      offset = offset * shape[d] + i;
      corner = corner && (i == 0 || i == shape[d] - 1);
    }
    (corner ? corners : inner).push_back(offset);
    more = false;
    for (std::size_t d = shape.size(); d-- > 0 && !more;) {
      more = ++at[d] < grid[d].size();
      if (!more) at[d] = 0;
    }
  }
  shuffle(inner, rng);
  corners.insert(corners.end(), inner.begin(), inner.end());
  for (std::int64_t i = 0; i < kAnywhere && elements > kCheckedElements; ++i)
    corners.push_back(rng.between(0, elements - 1));
  return corners;
}

std::optional<Disagreement> check_reference(const te::Workload& written,
                                            const std::vector<std::vector<double>>& inputs,
                                            const Reference& reference, std::uint64_t seed) {
  const te::Workload workload = evaluable(written);
  const auto outputs = workload.outputs();
  const auto share = static_cast<std::int64_t>(outputs.size());
  std::int64_t compared = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    interp::Elements elements(workload, {inputs.begin(), inputs.end()}, kMostTerms / share);
    std::int64_t here = 0;
    bool blind = true;  // bounds are so wide that anything would pass
    interp::Value seen;
    std::int64_t last = -1;
    for (const std::int64_t index :
         elements_to_check(workload.tensors[static_cast<std::size_t>(outputs[o])].shape, seed)) {
      if (here >= kCheckedElements && elements.terms() > kEnoughTerms / share) break;
      const auto want = elements.at(outputs[o], index);
      if (!want && elements.terms() > kMostTerms / share) break;
      if (!want) continue;  // an element of a scan, too far from where it begins
      ++here, ++compared;
      const auto i = static_cast<std::size_t>(index);
      const double got = reference.values[o][i], bound = reference.bounds[o][i];
      if (!agree(got, *want))
        return Disagreement{static_cast<int>(o), index, got, want->value, want->bound};
      // Of sums that are infinite or NaN the reference program knows no bound.
      if (!(want->bound < INFINITY) || !std::isfinite(want->value)) continue;
      blind = blind && std::isinf(bound);
      seen = *want;
      last = index;
    }
    if (blind && last >= 0)
      return Disagreement{
          static_cast<int>(o), last,       reference.bounds[o][static_cast<std::size_t>(last)],
          seen.value,          seen.bound, true};
  }
  log(LogLevel::kDebug, "{} elements of the reference agree with the expression evaluator",
      compared);
  return std::nullopt;
}

}  // namespace lathe::measure
