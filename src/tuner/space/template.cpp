#include "tuner/space/template.h"

#include <algorithm>
#include <optional>

#include "compiler/te/naive_nest.h"
#include "tuner/space/impl.h"

namespace lathe::space {

struct Recipe::State {
  const te::Workload& workload;
  std::vector<Knob>& knobs;              // grows while the function declares knobs
  std::span<const std::int64_t> values;  // of knobs known so far; the others take their first
  ir::Nest nest;
  schedule::Trace trace;
  std::vector<Constraint> constraints;
  std::optional<Error> error;

  int find(const Knob& wanted) {
    const auto it = std::ranges::find(knobs, wanted.name, &Knob::name);
    if (it == knobs.end()) {
      knobs.push_back(wanted);
      return static_cast<int>(knobs.size()) - 1;
    }
    if (it->values != wanted.values || it->labels != wanted.labels)
      error = Error{ErrorKind::kInvalidArgument,
                    "the template declares knob " + wanted.name + " twice with other values",
                    {}};
    return static_cast<int>(it - knobs.begin());
  }
};

schedule::Size Recipe::knob(const std::string& name, std::vector<std::int64_t> values) {
  LATHE_CHECK(!values.empty(), "knob {} has no values", name);
  const int number = state_.find({name, std::move(values), {}, false});
  return state_.nest.sizes.knob(number, name);
}

std::string Recipe::choice(const std::string& name, std::vector<std::string> labels) {
  LATHE_CHECK(!labels.empty(), "choice {} has no labels", name);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers.push_back(static_cast<std::int64_t>(i));
  const auto number = static_cast<std::size_t>(state_.find({name, numbers, labels, true}));
  return labels[number < state_.values.size()
                    ? static_cast<std::size_t>(state_.values[number]) % labels.size()
                    : 0];
}

ir::SizeId Recipe::id_of(const schedule::Size& size) {
  if (const auto* id = std::get_if<ir::SizeId>(&size)) return *id;
  return state_.nest.sizes.constant(std::get<std::int64_t>(size));
}
schedule::Size Recipe::times(const schedule::Size& a, const schedule::Size& b) {
  return state_.nest.sizes.mul(id_of(a), id_of(b));
}
schedule::Size Recipe::plus(const schedule::Size& a, const schedule::Size& b) {
  return state_.nest.sizes.add(id_of(a), id_of(b));
}
void Recipe::at_most(const schedule::Size& size, std::int64_t most) {
  state_.constraints.push_back({"the template", id_of(size), most});
}

void Recipe::apply(const schedule::Step& step) {
  if (state_.error) return;
  const auto done = schedule::apply(state_.nest, step, state_.workload.contract.free_layout);
  if (!done)
    state_.error = Error{ErrorKind::kIllegalSchedule, done.error().text(),
                         fmt::format("step {}", state_.trace.size() + 1)};
  else state_.trace.push_back(step);
}

Result<std::unique_ptr<Space>> template_space(const te::Workload& workload, Template function) {
  auto impl = std::make_unique<Space::Impl>();
  impl->workload = workload;
  Derived& derived = impl->derived;
  const auto run = [&workload, &function](std::vector<Knob>& knobs,
                                          std::span<const std::int64_t> values) {
    Recipe::State state{workload, knobs, values, te::naive_nest(workload), {}, {}, {}};
    Recipe recipe(state);
    function(recipe);
    return state;
  };
  const auto first = run(derived.knobs, {});
  if (first.error) return std::unexpected(*first.error);
  if (derived.knobs.empty())
    return fail(ErrorKind::kInvalidArgument,
                "the template asks for no knobs, so there is nothing to search");
  // The list grows while other branches run.
  for (std::size_t k = 0; k < derived.knobs.size(); ++k) {
    for (std::size_t v = 1; derived.knobs[k].structural && v < derived.knobs[k].values.size();
         ++v) {
      std::vector<std::int64_t> values(derived.knobs.size(), 0);
      values[k] = static_cast<std::int64_t>(v);
      if (const auto other = run(derived.knobs, values);
          other.error && other.error->kind == ErrorKind::kInvalidArgument)
        return std::unexpected(*other.error);
    }
  }
  // The constraints of the first run, over a table of their own.
  derived.sizes = first.nest.sizes;
  derived.constraints = first.constraints;
  for (const Knob& knob : derived.knobs) derived.start.push_back(knob.values.front());
  derived.build = [workload, function,
                   knobs = derived.knobs](std::span<const std::int64_t> values) -> Result<Sketch> {
    std::vector<Knob> known = knobs;
    Recipe::State state{workload, known, values, te::naive_nest(workload), {}, {}, {}};
    Recipe recipe(state);
    function(recipe);
    if (state.error) return std::unexpected(*state.error);
    return Sketch{std::move(state.nest), std::move(state.trace)};
  };
  return finish_space(std::move(impl));
}

}  // namespace lathe::space
