#include "tuner/space/forms.h"

#include <algorithm>
#include <mutex>

#include "base/hash.h"

namespace lathe::space {
namespace {

using analysis::Essence;
using ir::SizeId;
using Answers = Essence::Answers;

constexpr int kPasses = 4;  // structural choices and sizes in turn; two passes usually do

std::size_t at(SizeId id) { return static_cast<std::size_t>(id); }

// Answers as a number: of up to 64 the answers themselves, of more a hash.
class Key {
 public:
  void add(bool answer) {
    if (count_ > 0 && count_ % 64 == 0) before_ = hashed();
    last_ = last_ << 1 | static_cast<std::uint64_t>(answer);
    ++count_;
  }
  std::uint64_t value() const { return count_ <= 64 ? last_ : hashed(); }

 private:
  std::uint64_t hashed() const { return Hasher().add(before_).add(last_).value(); }

  std::uint64_t before_ = 0, last_ = 0;  // of all but the last 64, and of those
  std::size_t count_ = 0;
};

std::uint64_t key_of(const Answers& answers) {
  Key key;
  for (const auto answer : answers) key.add(answer != 0);
  return key.value();
}

std::uint64_t key_of(const Essence& essence, std::span<const std::int64_t> values) {
  Key key;
  for (const auto& [size, limit] : essence.questions()) key.add(values[at(size)] <= limit);
  return key.value();
}

}  // namespace

const Forms::Family* Forms::family(const Config& config) const {
  const std::uint64_t key = space_.choice_number(config);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = families_.find(key); found != families_.end())
      return found->second.get();
  }
  const Result<Sketch>& sketch = space_.sketch(config);
  std::unique_ptr<Family> made;
  if (sketch) {
    made = std::make_unique<Family>(*sketch);
    index(*made);
  }
  const std::unique_lock lock(mutex_);
  return families_.try_emplace(key, std::move(made)).first->second.get();
}

void Forms::index(Family& family) const {
  const ir::Sizes& sizes = family.essence.sizes();
  const std::size_t knobs = space_.derived.knobs.size();
  family.entry.assign(knobs, SizeId::kNone);
  family.dependents.resize(knobs);
  for (std::size_t k = 0; k < knobs; ++k) {
    std::vector<char> depends(static_cast<std::size_t>(sizes.count()), 0);
    for (int i = 0; i < sizes.count(); ++i) {
      const auto id = static_cast<SizeId>(i);
      const ir::Sizes::Entry& e = sizes.at(id);
      if (e.op == ir::Sizes::Op::kConst) continue;
      if (e.op == ir::Sizes::Op::kKnob) {
        if (e.value != static_cast<std::int64_t>(k)) continue;
        family.entry[k] = id;
        depends[at(id)] = 1;
      } else if (depends[at(e.a)] != 0 || depends[at(e.b)] != 0) {
        depends[at(id)] = 1;
        family.dependents[k].push_back(id);
      }
    }
  }
}

void Forms::settle(Config& config) const {
  thread_local std::vector<std::int64_t> knobs, values;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Family* family = this->family(config);
    if (family == nullptr) return;
    space_.knob_values(config, knobs);
    family->essence.sizes().evaluate(knobs, values);
    const Shape& shape = shape_of(*family, values, config);
    lower_sizes(*family, shape, config, values);
    bool changed = false;
    for (std::size_t i = 0; i < shape.choice.size(); ++i) {
      std::uint16_t& value = config[static_cast<std::size_t>(space_.structural[i])];
      changed |= value != shape.choice[i];
      value = shape.choice[i];
    }
    if (!changed) return;
  }
}

std::uint64_t Forms::program(const Config& config) const {
  thread_local std::vector<std::int64_t> knobs, values;
  const Family* family = this->family(config);
  if (family == nullptr) return space_.choice_number(config);
  space_.knob_values(config, knobs);
  family->essence.sizes().evaluate(knobs, values);
  const Shape& shape = shape_of(*family, values, config);
  Hasher hasher;
  hasher.add(shape.structure);
  for (const SizeId id : shape.sizes) hasher.add(static_cast<std::uint64_t>(values[at(id)]));
  return hasher.value();
}

const Forms::Shape& Forms::shape_of(const Family& family, std::span<const std::int64_t> values,
                                    const Config& config) const {
  const std::uint64_t key = key_of(family.essence, values);
  {
    const std::shared_lock lock(family.mutex);
    if (const auto found = family.shapes.find(key); found != family.shapes.end())
      return *found->second;
  }
  auto made =
      std::make_unique<const Shape>(make_shape(family, family.essence.answers(values), config));
  const std::unique_lock lock(family.mutex);
  return *family.shapes.try_emplace(key, std::move(made)).first->second;
}

Forms::Shape Forms::make_shape(const Family& family, const Answers& answers,
                               const Config& config) const {
  const Essence& essence = family.essence;
  Shape shape;
  shape.visible.assign(static_cast<std::size_t>(essence.sizes().count()), 0);
  auto outline = essence.outline(answers);
  shape.structure = outline.structure;
  shape.sizes = std::move(outline.sizes);
  for (const SizeId id : shape.sizes) shape.visible[at(id)] = 1;
  for (const auto& question : essence.questions()) shape.visible[at(question.size)] = 1;
  for (std::size_t k = 0; k < space_.derived.knobs.size(); ++k) {
    if (space_.derived.knobs[k].structural) continue;
    const SizeId entry = family.entry[k];
    const auto shows = [&](SizeId id) {  // the knob or a multiple of it
      const ir::Sizes::Entry& e = essence.sizes().at(id);
      const bool multiple =
          e.op == ir::Sizes::Op::kMul && ((e.a == entry && essence.sizes().is_constant(e.b)) ||
                                          (e.b == entry && essence.sizes().is_constant(e.a)));
      return shape.visible[at(id)] != 0 && multiple;
    };
    const bool seen = entry != SizeId::kNone && (shape.visible[at(entry)] != 0 ||
                                                 std::ranges::any_of(family.dependents[k], shows));
    if (!seen) shape.loose.push_back(static_cast<int>(k));
  }
  shape.choice = first_choice(family, answers, outline.form, config);
  return shape;
}

// Moves one structural knob after the other to its first value with the same form, until none can
// move.
Forms::Choice Forms::first_choice(const Family& family, const Answers& answers, std::uint64_t form,
                                  const Config& config) const {
  const std::uint64_t signature = family.essence.signature(answers);
  Config now = config;
  Answers theirs;
  for (int pass = 0; pass < kPasses; ++pass) {
    bool changed = false;
    for (const int k : space_.structural) {
      Config trial = now;
      for (std::uint16_t v = 0; v < now[static_cast<std::size_t>(k)]; ++v) {
        trial[static_cast<std::size_t>(k)] = v;
        const Family* other = this->family(trial);
        if (other == nullptr || !other->essence.has_facts_of(family.essence)) continue;
        theirs.clear();
        for (const int own : carried_over(family, *other))
          theirs.push_back(own >= 0 ? answers[static_cast<std::size_t>(own)] : own == kYes ? 1 : 0);
        if (other->essence.signature(theirs) != signature || form_of(*other, theirs) != form)
          continue;
        now = trial;
        changed = true;
        break;
      }
    }
    if (!changed) break;
  }
  Choice choice;
  for (const int k : space_.structural) choice.push_back(now[static_cast<std::size_t>(k)]);
  return choice;
}

const std::vector<int>& Forms::carried_over(const Family& from, const Family& to) const {
  {
    const std::shared_lock lock(from.mutex);
    if (const auto found = from.carried.find(&to); found != from.carried.end())
      return *found->second;
  }
  std::map<std::pair<std::uint64_t, std::int64_t>, int> known;
  int number = 0;
  for (const auto& [size, limit] : from.essence.questions())
    known[{from.essence.formula(size), limit}] = number++;
  auto made = std::make_unique<std::vector<int>>();
  for (const auto& [size, limit] : to.essence.questions()) {
    const auto found = known.find({to.essence.formula(size), limit});
    const ir::Sizes& sizes = to.essence.sizes();
    const bool at_most = sizes.is_constant(size) && sizes.constant_value(size) <= limit;
    made->push_back(found != known.end() ? found->second : at_most ? kYes : kNo);
  }
  const std::unique_lock lock(from.mutex);
  return *from.carried.try_emplace(&to, std::move(made)).first->second;
}

std::uint64_t Forms::form_of(const Family& family, const Answers& answers) const {
  const std::uint64_t key = key_of(answers);
  {
    const std::shared_lock lock(family.mutex);
    if (const auto found = family.forms.find(key); found != family.forms.end())
      return found->second;
  }
  const std::uint64_t form = family.essence.outline(answers).form;
  const std::unique_lock lock(family.mutex);
  return family.forms.try_emplace(key, form).first->second;
}

// True if another value of the knob changes a number of the essence. If not, `values` are those of
// the new value afterwards.
bool Forms::has_effect(const Family& family, const Shape& shape, int knob, std::int64_t value,
                       std::vector<std::int64_t>& values) const {
  const auto k = static_cast<std::size_t>(knob);
  if (family.entry[k] == SizeId::kNone) return false;
  thread_local std::vector<std::int64_t> before;
  before.assign(1, values[at(family.entry[k])]);
  values[at(family.entry[k])] = value;
  const ir::Sizes& sizes = family.essence.sizes();
  for (const SizeId id : family.dependents[k]) {
    std::int64_t& own = values[at(id)];
    const std::int64_t now = sizes.evaluate(id, values);
    before.push_back(own);
    const bool seen = shape.visible[at(id)] != 0 && now != own;
    own = now;
    if (!seen) continue;
    values[at(family.entry[k])] = before[0];
    for (std::size_t i = 1; i < before.size(); ++i)
      values[at(family.dependents[k][i - 1])] = before[i];
    return true;
  }
  return false;
}

void Forms::lower_sizes(const Family& family, const Shape& shape, Config& config,
                        std::vector<std::int64_t>& values) const {
  for (const int k : shape.loose) {
    std::uint16_t& index = config[static_cast<std::size_t>(k)];
    const auto& options = space_.derived.knobs[static_cast<std::size_t>(k)].values;
    if (index > 0 && !has_effect(family, shape, k, options[0], values)) index = 0;
    while (index > 0 && !has_effect(family, shape, k, options[index - 1U], values)) --index;
  }
}

}  // namespace lathe::space
