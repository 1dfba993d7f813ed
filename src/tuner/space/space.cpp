#include "tuner/space/space.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <ranges>

#include "base/hash.h"
#include "tuner/space/forms.h"
#include "tuner/space/impl.h"
#include "tuner/space/rules/kinds.h"

namespace lathe::space {

Space::Impl::Impl() = default;
Space::Impl::~Impl() = default;

bool Space::Impl::has_effect(const Config& config, int knob) const {
  const Knob& k = derived.knobs[static_cast<std::size_t>(knob)];
  return k.under < 0 ||
         (std::ranges::find(k.under_values, config[static_cast<std::size_t>(k.under)]) !=
              k.under_values.end() &&
          has_effect(config, k.under));
}

std::vector<int> parents_first(const std::vector<Knob>& knobs) {
  const auto depth = [&](int knob) {
    int depth = 0;
    while ((knob = knobs[static_cast<std::size_t>(knob)].under) >= 0) ++depth;
    return depth;
  };
  std::vector<int> order(knobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, depth);
  return order;
}

std::uint64_t Space::Impl::choice_number(const Config& config) const {
  std::uint64_t number = 0;
  for (const int k : structural)
    number = number * derived.knobs[static_cast<std::size_t>(k)].values.size() +
             (has_effect(config, k) ? config[static_cast<std::size_t>(k)] : 0U);
  return number;
}

void Space::Impl::knob_values(const Config& config, std::vector<std::int64_t>& out) const {
  out.resize(config.size());
  for (std::size_t k = 0; k < config.size(); ++k) out[k] = derived.knobs[k].values[config[k]];
}

const Result<Sketch>& Space::Impl::sketch(const Config& config) const {
  const std::uint64_t number = choice_number(config);
  {
    const std::shared_lock lock(mutex);
    if (const auto found = sketches.find(number); found != sketches.end()) return *found->second;
  }
  const std::unique_lock lock(mutex);
  auto& slot = sketches[number];
  if (!slot) {
    std::vector<std::int64_t> values;
    knob_values(config, values);
    slot = std::make_unique<Result<Sketch>>(derived.build(values));
  }
  return *slot;
}

namespace {
constexpr int kRandomTries = 10'000;
constexpr int kNeighbourTries = 100;  // neighbours that are the same program
constexpr double kLargestPart = 1'000'000;
}  // namespace

std::size_t Knob::nearest(std::int64_t wanted) const {
  const auto found =
      std::ranges::min_element(values, {}, [&](std::int64_t v) { return std::abs(v - wanted); });
  return static_cast<std::size_t>(found - values.begin());
}

namespace {

// Of each knob, after those that are under it.
void count_configurations(Space::Impl& impl) {
  const std::vector<Knob>& knobs = impl.derived.knobs;
  impl.configurations.resize(knobs.size());
  for (const int knob : parents_first(knobs) | std::views::reverse) {
    auto& own = impl.configurations[static_cast<std::size_t>(knob)];
    own = {std::vector<double>(knobs[static_cast<std::size_t>(knob)].values.size(), 1), 0};
    for (std::size_t k = 0; k < knobs.size(); ++k)
      if (knobs[k].under == knob)
        for (const std::uint16_t value : knobs[k].under_values)
          own.under[value] *= impl.configurations[k].all;
    for (const double under : own.under) own.all += under;
  }
}

}  // namespace

Space::Space(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->constraints = impl_->derived.constraints;
  std::ranges::stable_sort(impl_->constraints, {}, &Constraint::size);
  count_configurations(*impl_);
}
Space::~Space() = default;

const te::Workload& Space::workload() const { return impl_->workload; }
const std::vector<Knob>& Space::knob_list() const { return impl_->derived.knobs; }
int Space::knobs() const { return static_cast<int>(knob_list().size()); }
int Space::values(int knob) const { return static_cast<int>(knob_list()[knob].values.size()); }

bool Space::has_effect(const Config& config, int knob) const {
  return impl_->has_effect(config, knob);
}

double Space::configurations_under(int knob, std::uint16_t value) const {
  return impl_->configurations[static_cast<std::size_t>(knob)].under[value];
}

double Space::configurations_of(int knob) const {
  return impl_->configurations[static_cast<std::size_t>(knob)].all;
}

double Space::size() const {
  double size = 1;
  for (int k = 0; k < knobs(); ++k)
    if (knob_list()[k].under < 0) size *= configurations_of(k);
  return size;
}

// Draws every knob that has an effect.
void Space::draw_all(Config& config, Rng& rng) const {
  for (const int k : impl_->order)
    config[k] = has_effect(config, k) ? static_cast<std::uint16_t>(rng.below(values(k))) : 0;
}

Config Space::draw(Rng& rng) const {
  Config config(knob_list().size());
  for (const int k : impl_->order) {
    config[k] = 0;
    if (!has_effect(config, k)) continue;
    double left = configurations_of(k);
    if (left == values(k)) {  // nothing is under it
      config[k] = static_cast<std::uint16_t>(rng.below(values(k)));
      continue;
    }
    left *= rng.uniform();
    while (config[k] + 1 < values(k) && left >= configurations_under(k, config[k]))
      left -= configurations_under(k, config[k]++);
  }
  return config;
}

std::uint64_t Space::hash() const {
  Hasher hasher;
  for (const Knob& knob : knob_list()) {
    hasher.add(knob.name).add(knob.structural ? 1 : 0);
    for (const auto v : knob.values) hasher.add(static_cast<std::uint64_t>(v));
    for (const auto& label : knob.labels) hasher.add(label);
  }
  for (const Constraint& c : impl_->derived.constraints)
    hasher.add(impl_->derived.sizes.text(c.size)).add(static_cast<std::uint64_t>(c.most));
  return hasher.value();
}

const Sketch& Space::sketch(const Config& config) const {
  const auto& found = impl_->sketch(config);
  LATHE_CHECK(found.has_value(), "the sketch of {} does not exist: {}", describe(config),
              found.error().text());
  return *found;
}

void Space::knob_values(const Config& config, std::vector<std::int64_t>& out) const {
  impl_->knob_values(config, out);
}

schedule::Trace Space::trace(const Config& config) const {
  const Sketch& s = sketch(config);
  std::vector<std::int64_t> values;
  knob_values(config, values);
  return schedule::concretize(s.trace, ir::SizedNest(s.nest, values));
}

std::string Space::describe(const Config& config) const {
  std::string out;
  for (int k = 0; k < knobs(); ++k) {
    const Knob& knob = knob_list()[k];
    if (!has_effect(config, k)) continue;
    out += fmt::format(
        "{}{}={}", out.empty() ? "" : " ", knob.name,
        knob.labels.empty() ? std::to_string(knob.values[config[k]]) : knob.labels[config[k]]);
  }
  return out;
}

Json Space::to_json(const Config& config) const {
  Json out = Json::object();
  for (int k = 0; k < knobs(); ++k) {
    const Knob& knob = knob_list()[k];
    if (!has_effect(config, k)) continue;
    if (knob.labels.empty()) out[knob.name] = knob.values[config[k]];
    else out[knob.name] = knob.labels[config[k]];
  }
  return out;
}

namespace {

Result<std::uint16_t> value_in(const Json& json, const Knob& knob) {
  if (!json.contains(knob.name))
    return fail(ErrorKind::kInvalidArgument, "the configuration has no value of knob {}",
                knob.name);
  const Json& value = json[knob.name];
  for (std::size_t i = 0; i < knob.values.size(); ++i)
    if (knob.labels.empty() ? value == Json(knob.values[i]) : value == Json(knob.labels[i]))
      return static_cast<std::uint16_t>(i);
  return fail(ErrorKind::kInvalidArgument, "{} is not a value of knob {} in this space",
              value.dump(), knob.name);
}

}  // namespace

Result<Config> Space::from_json(const Json& json) const {
  Config config(knob_list().size(), 0);
  for (const int k : impl_->order) {
    const Knob& knob = knob_list()[k];
    const bool acts = has_effect(config, k);
    if (!acts && !json.contains(knob.name)) continue;
    const std::uint16_t value = LATHE_TRY(value_in(json, knob));
    if (acts) config[k] = value;
  }
  return config;
}

namespace {

// Of a size, from the values of the knobs and of the sizes before it.
std::int64_t value_of(const ir::Sizes& table, std::size_t size, std::span<const std::int64_t> knobs,
                      std::span<const std::int64_t> before) {
  const auto id = static_cast<ir::SizeId>(size);
  switch (table.at(id).op) {
    case ir::Sizes::Op::kConst: return table.constant_value(id);
    case ir::Sizes::Op::kKnob: return knobs[static_cast<std::size_t>(table.at(id).value)];
    default: return table.evaluate(id, before);
  }
}

}  // namespace

bool Space::valid(const Config& config) const {
  if (static_cast<int>(config.size()) != knobs()) return false;
  for (int k = 0; k < knobs(); ++k)
    if (config[k] >= values(k)) return false;
  thread_local std::vector<std::int64_t> chosen, sizes;
  knob_values(config, chosen);
  const ir::Sizes& table = impl_->derived.sizes;
  sizes.resize(static_cast<std::size_t>(table.count()));
  std::size_t known = 0;
  for (const Constraint& c : impl_->constraints) {  // most break one of the first
    const auto at = static_cast<std::size_t>(c.size);
    for (; known <= at; ++known) sizes[known] = value_of(table, known, chosen, sizes);
    if (sizes[at] > c.most) return false;
  }
  return impl_->sketch(config).has_value();
}

Config Space::canonical(const Config& config) const {
  if (!impl_->forms) return config;
  Config form = config;
  impl_->forms->settle(form);
  return form == config || valid(form) ? form : config;
}

std::uint64_t Space::program_number(const Config& config) const {
  return impl_->forms ? impl_->forms->program(config) : Domain::program_number(config);
}

Config Space::random(Rng& rng) const {
  Config config(knob_list().size());
  for (int attempt = 0; attempt < kRandomTries; ++attempt) {
    draw_all(config, rng);
    if (valid(config)) return canonical(config);
  }
  return default_config();
}

// Another value of a knob gives others an effect, which are drawn, and takes it from others.
void Space::wake(Config& next, const Config& before, Rng& rng) const {
  for (const int k : impl_->order) {
    if (!has_effect(next, k)) next[k] = 0;
    else if (!has_effect(before, k)) next[k] = static_cast<std::uint16_t>(rng.below(values(k)));
  }
}

Config Space::neighbour(const Config& config, Rng& rng) const {
  Config next = config;
  int same = 0;
  for (int attempt = 0; attempt < kRandomTries && same < kNeighbourTries; ++attempt) {
    const auto k = static_cast<int>(rng.below(knobs()));
    if (values(k) < 2 || !has_effect(config, k)) continue;
    next[k] = static_cast<std::uint16_t>(rng.below(values(k)));
    if (next[k] == config[k]) continue;
    wake(next, config, rng);
    if (valid(next)) {
      if (Config form = canonical(next); form != config) return form;
      ++same;
    }
    next = config;
  }
  return config;
}

namespace {

Config nearest_to(const std::vector<Knob>& knobs, const std::vector<std::int64_t>& values) {
  Config config;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    config.push_back(static_cast<std::uint16_t>(knobs[k].nearest(values[k])));
  return config;
}

}  // namespace

Config Space::default_config() const {
  Config config = nearest_to(knob_list(), impl_->derived.starts[0]);
  return valid(config) ? canonical(config) : config;
}

std::vector<Config> Space::starts() const {
  std::vector<Config> out = {default_config()};
  for (const std::vector<std::int64_t>& start : impl_->derived.starts)
    if (const Config config = nearest_to(knob_list(), start); valid(config)) {
      Config form = canonical(config);
      if (std::ranges::find(out, form) == out.end()) out.push_back(std::move(form));
    }
  return out;
}

namespace {

// Goes to the next configuration; the last knob changes fastest. Returns false after the last one.
bool next_config(const Space& space, Config& config) {
  for (int k = space.knobs(); k-- > 0;) {
    if (++config[k] < space.values(k)) return true;
    config[k] = 0;
  }
  return false;
}

std::unique_ptr<Space> make_space(std::unique_ptr<Space::Impl> impl) {
  for (int k = 0; k < static_cast<int>(impl->derived.knobs.size()); ++k)
    if (impl->derived.knobs[k].structural) impl->structural.push_back(k);
  impl->order = parents_first(impl->derived.knobs);
  return std::make_unique<Space>(std::move(impl));
}

}  // namespace

std::unique_ptr<Space> finish_space(std::unique_ptr<Space::Impl> impl) {
  impl->forms = std::make_unique<Forms>(*impl);
  auto space = make_space(std::move(impl));
  const Config start = space->default_config();
  const Result<Sketch>& sketch = space->impl().sketch(start);
  LATHE_CHECK(sketch.has_value(), "the default {} is refused: {}", space->describe(start),
              sketch.error().text());
  LATHE_CHECK(space->valid(start), "the default {} is not valid", space->describe(start));
  return space;
}

Result<std::unique_ptr<Space>> finish_part(std::unique_ptr<Space::Impl> impl) {
  std::vector<std::int64_t>& start = impl->derived.starts[0];
  auto space = make_space(std::move(impl));
  if (space->size() > kLargestPart)
    return fail(ErrorKind::kInvalidArgument,
                "{:.0f} configurations are too many to be listed; keep at most {:.0f}",
                space->size(), kLargestPart);
  if (space->valid(space->default_config())) return space;
  Config config(static_cast<std::size_t>(space->knobs()), 0);
  while (!space->valid(config))
    if (!next_config(*space, config))
      return fail(ErrorKind::kInvalidArgument, "the space has no valid configuration");
  space->knob_values(config, start);
  return space;
}

std::string_view name_of(Flavour flavour) { return flavour == Flavour::kWide ? "wide" : "default"; }

Result<Flavour> flavour_named(const std::string& name) {
  for (const Flavour flavour : kFlavours)
    if (name == name_of(flavour)) return flavour;
  return fail(ErrorKind::kInvalidArgument, "unknown space \"{}\"; known are default and wide",
              name);
}

std::vector<Config> all_configs(const Space& space) {
  std::vector<Config> out;
  Config config(static_cast<std::size_t>(space.knobs()), 0);
  do {
    if (space.valid(config)) out.push_back(config);
  } while (next_config(space, config));
  return out;
}

Result<std::unique_ptr<Space>> derive_space(const te::Workload& workload, const Target& target,
                                            Flavour flavour) {
  for (const KindRules& rules : rules_by_kind()) {
    if (rules.kind != target.kind()) continue;
    auto impl = std::make_unique<Space::Impl>();
    impl->workload = workload;
    impl->derived = LATHE_TRY(rules.derive(workload, target, flavour));
    return finish_space(std::move(impl));
  }
  return fail(ErrorKind::kUnsupported, "no rules derive a space for {}", target.text());
}

}  // namespace lathe::space
