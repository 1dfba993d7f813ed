#include "compiler/sequence/sequence.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "compiler/ir/flat/rename.h"
#include "compiler/sequence/arena.h"
#include "compiler/sequence/check.h"
#include "compiler/sequence/constants.h"

namespace lathe::sequence {
namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

// Where everything lies.
struct Places {
  std::vector<std::int64_t> values;   // by value: bytes in the arena, or the constants
  std::vector<std::int64_t> scratch;  // by part: where its area begins
  // By part: its constants, and where those that are kept begin. The others of all parts lie in one
  // place behind them: parts prepare one after the other.
  std::vector<ConstantRanges> ranges;
  std::vector<std::int64_t> kept;
  std::int64_t passing = 0;
};

class Joiner {
 public:
  Joiner(const Sequence& sequence, std::vector<Uses> uses)
      : sequence_(sequence), uses_(std::move(uses)) {}

  Joined run() && {
    plan();
    make_borders();
    for (std::size_t p = 0; p < sequence_.parts.size(); ++p) add(static_cast<int>(p));
    return std::move(joined_);
  }

 private:
  bool is_between(std::size_t value) const {
    return uses_[value].maker >= 0 && !uses_[value].taken;
  }

  // Of a part that runs in prepare, the scratch is alone in the arena: nothing else is there yet.
  void plan() {
    flat::Program& whole = joined_.program;
    std::vector<Lifetime> lifetimes;
    std::vector<std::int64_t*> places;
    places_.values.resize(sequence_.values.size());
    places_.scratch.resize(sequence_.parts.size());
    for (std::size_t v = 0; v < sequence_.values.size(); ++v) {
      const Uses& use = uses_[v];
      if (!is_between(v)) continue;
      if (use.constant) {
        places_.values[v] = reserve_constants(use.border.bytes());
        continue;
      }
      lifetimes.push_back({use.border.bytes(), use.maker, use.last});
      places.push_back(&places_.values[v]);
    }
    for (std::size_t p = 0; p < sequence_.parts.size(); ++p) {
      const Part& part = sequence_.parts[p];
      const bool prepares = is_constant(sequence_, part, uses_);
      places_.ranges.push_back(constants_of(part.program, !prepares));
      places_.kept.push_back(reserve_constants(places_.ranges[p].kept));
      if (prepares) {
        whole.global_bytes = std::max(whole.global_bytes, part.program.global_bytes);
      } else if (part.program.global_bytes > 0) {
        lifetimes.push_back({part.program.global_bytes, static_cast<int>(p), static_cast<int>(p)});
        places.push_back(&places_.scratch[p]);
      }
    }
    place_passing_constants();
    const Arena arena = arena_for(lifetimes);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = arena.offsets[i];
    whole.global_bytes = std::max(whole.global_bytes, arena.bytes);
    joined_.arena_bytes = arena.bytes;
    joined_.most_at_once = most_at_once(lifetimes);
    for (const Lifetime& item : lifetimes) joined_.unshared_bytes += aligned(item.bytes);
  }

  void place_passing_constants() {
    std::int64_t most = 0;
    for (const ConstantRanges& ranges : places_.ranges) most = std::max(most, ranges.passing);
    joined_.kept_constant_bytes = joined_.program.constant_bytes;
    places_.passing = reserve_constants(most);
  }

  std::int64_t constant_slot(int part, std::int64_t slot) const {
    const ConstantRange& range = places_.ranges[at(part)].at(slot);
    return (range.kept ? places_.kept[at(part)] : places_.passing) + range.offset + slot -
           range.begin;
  }

  std::int64_t reserve_constants(std::int64_t bytes) {
    return std::exchange(joined_.program.constant_bytes,
                         joined_.program.constant_bytes + aligned(bytes));
  }

  void make_borders() {
    buffers_.resize(sequence_.values.size(), -1);
    const auto border = [&](int value) {
      flat::Border out = uses_[at(value)].border;
      const Value& named = sequence_.values[at(value)];
      out.name = named.name;
      out.constant = uses_[at(value)].given && named.constant;
      if (!named.shape.empty() && tensor::is_plain(out))
        out = tensor::plain_border(out.name, out.dtype, named.shape, out.constant);
      return out;
    };
    flat::Program& whole = joined_.program;
    for (const int value : sequence_.inputs) whole.inputs.push_back(border(value));
    for (const int value : sequence_.outputs) whole.outputs.push_back(border(value));
    for (std::size_t i = 0; i < sequence_.inputs.size(); ++i)
      add_buffer(sequence_.inputs[i], flat::Scope::kInput, static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < sequence_.outputs.size(); ++i)
      add_buffer(sequence_.outputs[i], flat::Scope::kOutput, static_cast<std::int64_t>(i));
    for (std::size_t v = 0; v < sequence_.values.size(); ++v) {
      if (!sequence_.values[v].data.bytes.empty() && uses_[v].read)
        add_buffer(static_cast<int>(v), flat::Scope::kLiteral, 0);
      if (is_between(v))
        add_buffer(static_cast<int>(v),
                   uses_[v].constant ? flat::Scope::kConstant : flat::Scope::kGlobal,
                   places_.values[v]);
    }
    shifts_.resize(sequence_.values.size(), 0);
    for (std::size_t v = 0; v < sequence_.values.size(); ++v)
      if (const auto& within = sequence_.values[v].within) {
        buffers_[v] = buffers_[at(within->value)];
        shifts_[v] = within->begin;
      }
  }

  void add_buffer(int value, flat::Scope scope, std::int64_t slot) {
    const Uses& use = uses_[at(value)];
    buffers_[at(value)] = static_cast<int>(joined_.program.buffers.size());
    joined_.program.buffers.push_back({.name = sequence_.values[at(value)].name,
                                       .dtype = use.border.dtype,
                                       .size = use.border.size,
                                       .scope = scope,
                                       .slot = slot,
                                       .literal = sequence_.values[at(value)].data});
  }

  // The value that it is at the border of the part; -1: none.
  int value_of(int part, const flat::Buffer& buffer) const {
    const Part& from = sequence_.parts[at(part)];
    const auto slot = static_cast<std::size_t>(buffer.slot);
    if (buffer.scope == flat::Scope::kInput) return from.inputs[slot];
    return buffer.scope == flat::Scope::kOutput ? from.outputs[slot] : -1;
  }

  int buffer_of(int part, flat::Buffer buffer) {
    if (const int value = value_of(part, buffer); value >= 0) return buffers_[at(value)];
    if (buffer.scope == flat::Scope::kGlobal) buffer.slot += places_.scratch[at(part)];
    if (buffer.scope == flat::Scope::kConstant) buffer.slot = constant_slot(part, buffer.slot);
    joined_.program.buffers.push_back(std::move(buffer));
    return static_cast<int>(joined_.program.buffers.size()) - 1;
  }

  // Appends what a part has, and returns which numbers it has then.
  template <class T>
  static std::vector<int> appended(std::vector<T>& all, const std::vector<T>& own) {
    std::vector<int> numbers(own.size());
    std::iota(numbers.begin(), numbers.end(), static_cast<int>(all.size()));
    all.insert(all.end(), own.begin(), own.end());
    return numbers;
  }

  std::string fresh(const std::string& name) {
    for (int number = 1;; ++number) {
      std::string made = number == 1 ? name : fmt::format("{}_{}", name, number);
      if (kernels_.insert(made).second) return made;
    }
  }

  void add(int number) {
    const Part& part = sequence_.parts[at(number)];
    const flat::Program& own = part.program;
    flat::Program& whole = joined_.program;
    flat::Renaming renaming{appended(whole.vars, own.vars), appended(whole.regs, own.regs), {}};
    for (const flat::Buffer& buffer : own.buffers) {
      const int value = value_of(number, buffer);
      renaming.shifts.push_back(value < 0 ? 0 : shifts_[at(value)]);
      renaming.buffers.push_back(buffer_of(number, buffer));
    }
    std::vector<flat::Kernel> kernels = own.kernels;
    flat::rename(kernels, renaming);
    for (flat::Kernel& kernel : kernels)
      kernel.name = fresh(fmt::format("{}_{}", part.name, kernel.name));
    const std::vector<int> numbers = appended(whole.kernels, kernels);
    for (const int k : own.prepare) whole.prepare.push_back(numbers[at(k)]);
    std::vector<int>& run = is_constant(sequence_, part, uses_) ? whole.prepare : whole.run;
    for (const int k : own.run) run.push_back(numbers[at(k)]);
    for (auto bytes :
         {&flat::Program::shared_bytes, &flat::Program::thread_bytes, &flat::Program::group_bytes})
      whole.*bytes = std::max(whole.*bytes, own.*bytes);
  }

  const Sequence& sequence_;
  std::vector<Uses> uses_;
  Places places_;
  std::vector<int> buffers_;          // by value
  std::vector<std::int64_t> shifts_;  // by value: where it begins in its buffer
  std::set<std::string> kernels_;
  Joined joined_;
};

Status check_shapes(const Sequence& sequence, const std::vector<Uses>& uses) {
  for (std::size_t v = 0; v < sequence.values.size(); ++v) {
    const Value& value = sequence.values[v];
    if (value.shape.empty() || (!uses[v].given && !uses[v].taken)) continue;
    const std::int64_t elements =
        std::accumulate(value.shape.begin(), value.shape.end(), std::int64_t{1}, std::multiplies{});
    if (!tensor::is_plain(uses[v].border) || elements != uses[v].border.elements())
      return fail(ErrorKind::kInvalidArgument,
                  "{} cannot be seen as [{}]: it has {} elements, or is not stored row-major",
                  value.name, fmt::join(value.shape, ","), uses[v].border.elements());
  }
  return {};
}

}  // namespace

Result<Joined> join(const Sequence& sequence) {
  std::vector<Uses> uses = LATHE_TRY(uses_of(sequence));
  LATHE_TRY_STATUS(check_shapes(sequence, uses));
  return Joiner(sequence, std::move(uses)).run();
}

}  // namespace lathe::sequence
