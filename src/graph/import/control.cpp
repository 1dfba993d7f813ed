// Conditions and loops whose course is known when the model is read: their bodies stand in the
// graph, once for each step.
#include <algorithm>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

constexpr std::int64_t kMostSteps = 4096;
constexpr std::size_t kMostJoined = 256;  // tensors that one concat takes

Result<bool> truth_of(const Site& site, int id) {
  const Value& value = site.value(id);
  if (!value.constant || value.elements() != 1)
    return site.unsupported("its condition depends on data (value '{}')", value.name);
  return numbers_of(value)[0] != 0;
}

Made branch(Site& site) {
  const bool taken = LATHE_TRY(truth_of(site, site.input(0)));
  return site.body(taken ? "then_branch" : "else_branch", {});
}

// Values of one shape as one, with a new dimension for them at an axis.
Result<int> stacked(Site& site, std::vector<int> ids, std::size_t axis) {
  const Shape each = site.value(ids[0]).shape;
  Shape wide = each;
  wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  for (int& id : ids) {
    if (site.value(id).shape != each)
      return site.unsupported("what its steps make differs in shape");
    id = site.view(id, wide);
  }
  while (ids.size() > 1) {
    std::vector<int> joined;
    for (std::size_t at = 0; at < ids.size(); at += kMostJoined) {
      const std::vector<int> some(
          ids.begin() + static_cast<std::ptrdiff_t>(at),
          ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + kMostJoined, ids.size())));
      std::vector<std::string> shapes;
      for (const int id : some)
        shapes.push_back(fmt::format("{}", fmt::join(site.value(id).shape, ",")));
      joined.push_back(
          LATHE_TRY(site.call("concat",
                              {{"inputs", fmt::format("{}", fmt::join(shapes, ";"))},
                               {"axis", std::to_string(axis)},
                               {"dtype", std::string(name_of(site.value(some[0]).dtype))}},
                              some))[0]);
    }
    ids = std::move(joined);
  }
  return ids[0];
}

// What the steps make besides what goes on: of each output the values of all steps.
class Collected {
 public:
  void add(std::span<const int> made) {
    all_.resize(made.size());
    for (std::size_t o = 0; o < made.size(); ++o) all_[o].push_back(made[o]);
  }
  int first(std::size_t output) const { return all_[output][0]; }
  // `place`: the axis of the new dimension of an output, and whether the last step comes first.
  template <class Place>
  Status append_to(Site& site, std::vector<int>& ids, const Place& place) {
    for (std::size_t o = 0; o < all_.size(); ++o) {
      const auto [axis, reversed] = LATHE_TRY(place(o));
      if (reversed) std::ranges::reverse(all_[o]);
      ids.push_back(LATHE_TRY(stacked(site, all_[o], axis)));
    }
    return {};
  }

 private:
  std::vector<std::vector<int>> all_;
};
struct Along {
  std::size_t axis;
  bool reversed;
};

Made loop(Site& site) {
  std::int64_t most = kMostSteps + 1;
  if (site.has(0)) {
    const auto count = LATHE_TRY(site.known_integers(0, "numbers of steps"));
    if (count.size() != 1) return site.wrong("it has {} numbers of steps", count.size());
    most = std::min(count[0], most);
  }
  bool goes_on = !site.has(1) || LATHE_TRY(truth_of(site, site.input(1)));
  std::vector<int> state;
  for (std::size_t i = 2; i < site.inputs(); ++i) state.push_back(site.input(i));
  const int yes = site.constant(Dtype::kBool, {}, std::vector<double>{1});
  Collected collected;
  std::int64_t steps = 0;
  for (; steps < most && goes_on; ++steps) {
    if (steps == kMostSteps) return site.unsupported("it has more than {} steps", kMostSteps);
    std::vector<int> inputs{site.constant(Dtype::kI64, {}, std::vector{static_cast<double>(steps)}),
                            yes};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const auto made = LATHE_TRY(site.body("body", inputs));
    if (made.size() < 1 + state.size())
      return site.wrong("its body has {} outputs, for {} values that go on", made.size(),
                        state.size());
    goes_on = LATHE_TRY(truth_of(site, made[0]));
    const auto rest = made.begin() + 1 + std::ssize(state);
    std::copy(made.begin() + 1, rest, state.begin());
    collected.add({rest, made.end()});
  }
  if (steps == 0 && site.outputs() > state.size())
    return site.unsupported("it has no steps, and an output with one element for each");
  LATHE_TRY_STATUS(collected.append_to(
      site, state, [](std::size_t) -> Result<Along> { return Along{0, false}; }));
  return state;
}

// The axis and the direction of an input or output of Scan.
Result<Along> along_of(const Site& site, const std::string& which, std::size_t number,
                       std::size_t rank) {
  const auto axes = LATHE_TRY(site.integers(fmt::format("scan_{}_axes", which), {})),
             directions = LATHE_TRY(site.integers(fmt::format("scan_{}_directions", which), {}));
  const std::int64_t axis = number < axes.size() ? axes[number] : 0;
  return Along{LATHE_TRY(site.axis(axis, rank)),
               number < directions.size() && directions[number] != 0};
}

Result<int> slice_at(Site& site, int id, const Along& along, std::int64_t step) {
  const Shape& whole = site.value(id).shape;
  const std::int64_t at = along.reversed ? whole[along.axis] - 1 - step : step;
  Shape shape = whole;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along.axis));
  return LATHE_TRY(site.call("slice",
                             {{"input", fmt::format("{}", fmt::join(whole, ","))},
                              {"axes", std::to_string(along.axis)},
                              {"begin", std::to_string(at)},
                              {"end", std::to_string(at + 1)},
                              {"dtype", std::string(name_of(site.value(id).dtype))}},
                             {id}, shape))[0];
}

Made scan(Site& site) {
  const std::int64_t scanned = LATHE_TRY(site.integer("num_scan_inputs", 0));
  if (scanned < 1 || scanned > static_cast<std::int64_t>(site.inputs()))
    return site.wrong("it has {} scan inputs, of {} inputs", scanned, site.inputs());
  const std::size_t first = site.inputs() - static_cast<std::size_t>(scanned);
  std::vector<int> state;
  for (std::size_t i = 0; i < first; ++i) state.push_back(site.input(i));
  std::vector<Along> along;
  std::optional<std::int64_t> steps;
  for (std::size_t i = first; i < site.inputs(); ++i) {
    along.push_back(LATHE_TRY(along_of(site, "input", i - first, site.shape(i).size())));
    const std::int64_t size = site.shape(i)[along.back().axis];
    if (steps.value_or(size) != size) return site.wrong("its scan inputs differ in length");
    steps = size;
  }
  if (*steps < 1 || *steps > kMostSteps)
    return site.unsupported("it has {} steps; from 1 to {} are known here", *steps, kMostSteps);
  Collected collected;
  for (std::int64_t step = 0; step < *steps; ++step) {
    std::vector<int> inputs = state;
    for (std::size_t i = first; i < site.inputs(); ++i)
      inputs.push_back(LATHE_TRY(slice_at(site, site.input(i), along[i - first], step)));
    const auto made = LATHE_TRY(site.body("body", inputs));
    if (made.size() < state.size())
      return site.wrong("its body has {} outputs, for {} values that go on", made.size(),
                        state.size());
    const auto rest = made.begin() + std::ssize(state);
    std::copy(made.begin(), rest, state.begin());
    collected.add({rest, made.end()});
  }
  LATHE_TRY_STATUS(collected.append_to(site, state, [&](std::size_t o) {
    return along_of(site, "output", o, site.value(collected.first(o)).shape.size() + 1);
  }));
  return state;
}

}  // namespace

std::vector<Row> control_rows() {
  return {{"If", 1, 1, branch}, {"Loop", 1, 0, loop}, {"Scan", 9, 1, scan}};
}

}  // namespace lathe::graph
