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
  std::vector<int> asked;  // choices, in the order of their first use

  void refuse(const std::string& what) { error = Error{ErrorKind::kInvalidArgument, what, {}}; }

  int find(const Knob& wanted) {
    const auto it = std::ranges::find(knobs, wanted.name, &Knob::name);
    if (it == knobs.end()) {
      knobs.push_back(wanted);
      return static_cast<int>(knobs.size()) - 1;
    }
    if (it->values != wanted.values || it->labels != wanted.labels)
      refuse("the template declares knob " + wanted.name + " twice with other values");
    return static_cast<int>(it - knobs.begin());
  }
};

schedule::Size Recipe::knob(const std::string& name, std::vector<std::int64_t> values) {
  if (values.empty() || std::ranges::min(values) < 1) {
    state_.refuse("knob " + name + " of the template needs values, all of them 1 or more");
    values = {1};
  }
  const int number = state_.find({name, std::move(values), {}, false});
  return state_.nest.sizes.knob(number, name);
}

std::string Recipe::choice(const std::string& name, std::vector<std::string> labels) {
  if (labels.empty()) {
    state_.refuse("choice " + name + " of the template has no labels");
    return {};
  }
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers.push_back(static_cast<std::int64_t>(i));
  const auto number = static_cast<std::size_t>(state_.find({name, numbers, labels, true}));
  if (std::ranges::count(state_.asked, static_cast<int>(number)) == 0)
    state_.asked.push_back(static_cast<int>(number));
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

namespace {

constexpr std::size_t kMostRuns = 4096;  // of the function, to learn its knobs

// Runs a template with choices of its own.
class Discovery {
 public:
  Discovery(const te::Workload& workload, const Template& function)
      : workload_(workload), function_(function) {}

  // Every path through the choices: those that a run meets first are varied by other runs.
  Status run(Derived& derived) {
    std::vector<std::vector<std::int64_t>> paths = {{}};
    for (std::size_t next = 0; next < paths.size(); ++next) {
      const std::vector<std::int64_t> values = paths[next];
      const auto state = run_once(derived.knobs, values);
      if (state.error && (next == 0 || state.error->kind == ErrorKind::kInvalidArgument))
        return std::unexpected(*state.error);
      if (next == 0) {
        derived.sizes = state.nest.sizes;
        derived.constraints = state.constraints;
      } else if (!state.error && texts(state.nest.sizes, state.constraints) !=
                                     texts(derived.sizes, derived.constraints)) {
        return fail(ErrorKind::kInvalidArgument,
                    "the template limits other sizes under other choices; call at_most() with the "
                    "same sizes whatever is chosen");
      }
      add_paths(derived.knobs, state.asked, values, paths);
      if (paths.size() > kMostRuns)
        return fail(ErrorKind::kInvalidArgument,
                    "the template's choices have more than {} combinations", kMostRuns);
    }
    return {};
  }

 private:
  using Values = std::vector<std::int64_t>;

  Recipe::State run_once(std::vector<Knob>& knobs, std::span<const std::int64_t> values) const {
    Recipe::State state{workload_, knobs, values, te::naive_nest(workload_), {}, {}, {}, {}};
    Recipe recipe(state);
    function_(recipe);
    return state;
  }

  static std::vector<std::string> texts(const ir::Sizes& sizes,
                                        const std::vector<Constraint>& constraints) {
    std::vector<std::string> out;
    for (const Constraint& c : constraints)
      out.push_back(fmt::format("{} <= {}", sizes.text(c.size), c.most));
    return out;
  }

  // The other labels of what this path took the first of, behind the last choice that it fixed.
  static void add_paths(const std::vector<Knob>& knobs, const std::vector<int>& asked,
                        const Values& values, std::vector<Values>& paths) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (std::cmp_less(asked[i], values.size()) && values[static_cast<std::size_t>(asked[i])] > 0)
        from = i + 1;
    for (std::size_t i = from; i < asked.size(); ++i) {
      const auto knob = static_cast<std::size_t>(asked[i]);
      for (std::size_t label = 1; label < knobs[knob].labels.size(); ++label) {
        Values other = values;
        other.resize(std::max(other.size(), knob + 1), 0);
        other[knob] = static_cast<std::int64_t>(label);
        paths.push_back(std::move(other));
      }
    }
  }

  const te::Workload& workload_;
  const Template& function_;
};

bool keeps_limits(const Derived& derived) {
  std::vector<std::int64_t> sizes;
  derived.sizes.evaluate(derived.starts[0], sizes);
  return std::ranges::all_of(derived.constraints, [&](const Constraint& c) {
    return sizes[static_cast<std::size_t>(c.size)] <= c.most;
  });
}

}  // namespace

Result<std::unique_ptr<Space>> template_space(const te::Workload& workload, Template function) {
  auto impl = std::make_unique<Space::Impl>();
  impl->workload = workload;
  Derived& derived = impl->derived;
  LATHE_TRY_STATUS(Discovery(workload, function).run(derived));
  if (derived.knobs.empty())
    return fail(ErrorKind::kInvalidArgument,
                "the template asks for no knobs, so there is nothing to search");
  derived.starts = {first_values(derived.knobs)};
  if (!keeps_limits(derived))
    return fail(ErrorKind::kInvalidArgument,
                "the first values of the template's knobs are beyond its own at_most()");
  derived.build = [workload, function,
                   knobs = derived.knobs](std::span<const std::int64_t> values) -> Result<Sketch> {
    std::vector<Knob> known = knobs;
    Recipe::State state{workload, known, values, te::naive_nest(workload), {}, {}, {}, {}};
    Recipe recipe(state);
    function(recipe);
    if (state.error) return std::unexpected(*state.error);
    if (known.size() != knobs.size())
      return fail(ErrorKind::kInvalidArgument,
                  "the template declares knob {} in one run and not in another with the same "
                  "choices",
                  known.back().name);
    return Sketch{std::move(state.nest), std::move(state.trace)};
  };
  return finish_space(std::move(impl));
}

}  // namespace lathe::space
