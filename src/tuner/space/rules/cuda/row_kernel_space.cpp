#include "tuner/space/rules/cuda/row_kernel_space.h"

#include <algorithm>
#include <functional>

#include "tuner/space/card_cost.h"
#include "tuner/space/rules/cuda/card_limits.h"
#include "tuner/space/rules/cuda/row_kernel.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kLanesOfWarp = 32;
// Elements of rows in registers: beside them a thread has addresses and counters.
constexpr std::int64_t kMostKept = 56, kMostKeptWide = 128, kBesideKept = 40;
// Of the default space.
constexpr std::int64_t kFewestOfRows = 64;
// Of a sum of the widest type; buffers in shared memory begin at multiples of so many.
constexpr std::int64_t kBytesOfSum = 8, kGroupAlignment = 64;

}  // namespace

struct RowKernelKnobs {
  int lanes = -1, warps = -1, width = -1, kept = -1, rows = -1, unroll = -1;
};

struct RowKernelRule {
  std::shared_ptr<const Prepared> prepared;
  RowStages stages;
  CudaTarget target;
  RowKernelKnobs at;
  std::vector<Knob> knobs;
  std::vector<KeptRow> ways;  // to keep a row, by the value of that knob

  KeptRow kept(std::span<const std::int64_t> values) const {
    return ways[static_cast<std::size_t>(values[static_cast<std::size_t>(at.kept)])];
  }
  std::int64_t element_bytes() const {  // of inputs, at most
    std::int64_t bytes = 1;
    for (const RowTensor& of : stages.inputs)
      bytes = std::max<std::int64_t>(
          bytes, size_of(stages.view->tensors[static_cast<std::size_t>(of.tensor)].dtype));
    return bytes;
  }
  std::int64_t sums() const {
    return std::ranges::count_if(stages.stages, [&](const RowStage& of) {
      return stages.stage(of).reduce != ir::ReduceOp::kNone;
    });
  }
  // Where a row is in registers: tensors of which elements are there, and inputs that are in shared
  // memory nevertheless.
  std::int64_t kept_tensors() const {
    return std::ssize(stages.inputs) - shared_inputs() + std::ssize(stages.maps);
  }
  std::int64_t shared_inputs() const {
    return std::ranges::count(stages.inputs, false, &RowTensor::alone);
  }

  // `size`: of a knob.
  template <class Size>
  RowSizes sizes(std::span<const std::int64_t> values, Size size) const {
    return {number_chosen(knobs, at.lanes, values),
            number_chosen(knobs, at.warps, values),
            number_chosen(knobs, at.width, values),
            kept(values),
            size(at.rows),
            size(at.unroll)};
  }
  Result<Sketch> build(std::span<const std::int64_t> values) const {
    Sketch sketch{prepared->nest, prepared->steps};
    std::set<std::string> placed;
    const auto size = [&](int knob) {
      return sketch.nest.sizes.knob(knob, knobs[static_cast<std::size_t>(knob)].name);
    };
    try {
      put_rows_on_blocks(stages, sizes(values, size), sketch.nest, sketch.trace, placed);
    } catch (const StepRefused& refused) {
      return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
    }
    return sketch;
  }
};

namespace {

std::vector<std::string> labels_of(const Values& values) {
  std::vector<std::string> out;
  for (const std::int64_t value : values) out.push_back(std::to_string(value));
  return out;
}

std::vector<std::string> kept_labels(const RowKernelRule& rule) {
  constexpr const char* kLabels[] = {"registers", "shared", "memory"};
  std::vector<std::string> out;
  for (const KeptRow way : rule.ways) out.emplace_back(kLabels[static_cast<std::size_t>(way)]);
  return out;
}

void list_row_knobs(RowKernelRule& rule, Flavour flavour) {
  KnobList list(rule.knobs);
  const std::int64_t length = rule.stages.length();
  rule.at.lanes = list.choice("row.lanes", labels_of({kLanesOfWarp, 1}));
  rule.at.warps = list.choice(
      "row.warps",
      labels_of(up_to({1, 2, 4, 8, 16, 32}, std::max<std::int64_t>(1, length / kLanesOfWarp))));
  Values widths;
  for (std::int64_t width = rule.stages.width; width > 0; width /= 2) widths.push_back(width);
  if (flavour == Flavour::kDefault) widths.resize(1);
  rule.at.width = list.choice("width", labels_of(widths));
  rule.at.kept = list.choice("row.kept", kept_labels(rule));
  rule.at.rows = list.size("block.rows", up_to({1, 2, 4, 8, 16, 32, 64, 128, 256},
                                               std::max<std::int64_t>(1, rule.stages.rows)));
  rule.at.unroll = list.size("unroll.k", up_to({1, 2, 4, 8}, length));
}

// The numbers that a configuration has.
struct RowNumbers {
  std::int64_t lanes, warps, width, rows, unroll;
  KeptRow kept;

  std::int64_t of_row() const { return lanes * warps; }  // threads
  std::int64_t threads() const { return of_row() * rows; }
};
RowNumbers numbers_of(const RowKernelRule& rule, std::span<const std::int64_t> values) {
  const auto value = [&](int knob) { return values[static_cast<std::size_t>(knob)]; };
  return {number_chosen(rule.knobs, rule.at.lanes, values),
          number_chosen(rule.knobs, rule.at.warps, values),
          number_chosen(rule.knobs, rule.at.width, values),
          value(rule.at.rows),
          value(rule.at.unroll),
          rule.kept(values)};
}

std::int64_t turns_of(const RowStages& stages, const RowNumbers& n) {
  const std::int64_t turn = n.of_row() * n.width;
  return (stages.length() + turn - 1) / turn;
}

// 1 where a row is kept so, else 0.
ir::SizeId is_kept(const RowKernelRule& rule, KeptRow way, ir::Sizes& s) {
  const auto found = std::ranges::find(rule.ways, way);
  if (found == rule.ways.end()) return s.constant(0);
  const ir::SizeId value = s.knob(rule.at.kept, "row.kept"), minus = s.constant(-1);
  const ir::SizeId off = s.add(value, s.constant(-(found - rule.ways.begin())));
  const ir::SizeId other = s.max(off, s.mul(minus, off));
  return s.max(s.constant(0), s.add(s.constant(1), s.mul(minus, other)));
}

void limit_rows(const RowKernelRule& rule, Flavour flavour, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const auto knob = [&](int k) { return s.knob(k, rule.knobs[static_cast<std::size_t>(k)].name); };
  const auto demand = [&](const char* why, ir::SizeId size, std::int64_t most) {
    derived.constraints.push_back({why, size, most});
  };
  const bool wide = flavour == Flavour::kWide;
  const ir::SizeId lanes = size_chosen(rule.knobs, rule.at.lanes, s),
                   warps = size_chosen(rule.knobs, rule.at.warps, s),
                   width = size_chosen(rule.knobs, rule.at.width, s), rows = knob(rule.at.rows);
  const ir::SizeId threads = s.mul(s.mul(lanes, warps), rows);
  demand("the block has more threads than the card takes", threads, rule.target.block_threads);
  demand("a row has warps, but a thread has it for itself", s.ceildiv(warps, lanes), 1);
  const ir::SizeId second = s.add(s.min(lanes, s.constant(2)), s.constant(-1));
  demand("a lane has all of the row", s.mul(width, second), rule.stages.length() - 1);
  const ir::SizeId others = s.mul(s.mul(lanes, width), s.add(warps, s.constant(-1)));
  demand("a warp has nothing of the row", others, rule.stages.length() - 1);
  const ir::SizeId registers = is_kept(rule, KeptRow::kRegisters, s),
                   shared = is_kept(rule, KeptRow::kShared, s);
  const ir::SizeId turn = s.mul(s.mul(lanes, warps), width);
  const ir::SizeId turns = s.ceildiv(s.constant(rule.stages.length()), turn);
  const std::int64_t tensors = std::max<std::int64_t>(1, rule.kept_tensors());
  const ir::SizeId elements =
      s.mul(s.mul(turns, width), s.constant(rule.stages.beside() * tensors));
  demand("a thread has more of a row than its registers hold", s.mul(registers, elements),
         wide ? kMostKeptWide : kMostKept);
  const ir::SizeId own = s.add(s.mul(registers, elements), s.constant(kBesideKept));
  demand("threads need more registers than the card has", s.mul(own, threads),
         rule.target.registers);
  const std::int64_t row_bytes = rule.stages.length() * rule.stages.beside() * rule.element_bytes();
  const ir::SizeId inputs = s.add(s.mul(shared, s.constant(std::ssize(rule.stages.inputs))),
                                  s.mul(registers, s.constant(rule.shared_inputs())));
  const ir::SizeId exchanged = s.mul(s.mul(warps, rows), s.constant(kBytesOfSum * rule.sums()));
  demand(
      "the block needs more shared memory than the card has",
      s.add(s.mul(inputs, s.mul(rows, s.constant(row_bytes))), exchanged),
      rule.target.block_bytes - kGroupAlignment * (rule.sums() + std::ssize(rule.stages.inputs)));
  if (wide) return;
  const std::int64_t fewest = std::min(kFewestOfRows, rule.stages.rows * kLanesOfWarp);
  demand("a block has few threads", s.ceildiv(s.constant(fewest), threads), 1);
}

// What the model of a card looks at.
double row_cycles(const RowKernelRule& rule, const RowNumbers& n) {
  constexpr double kElementInstructions = 12, kExchangeCycles = 20, kShareCycles = 40;
  const RowStages& of = rule.stages;
  const auto passes = static_cast<double>(
      std::ranges::count_if(of.stages, [](const RowStage& stage) { return !stage.along.empty(); }));
  const auto sums = static_cast<double>(rule.sums());
  const double row = static_cast<double>(of.length() * of.beside() * rule.element_bytes());
  const double own = static_cast<double>(turns_of(of, n) * n.width * of.beside());
  const bool again = n.kept == KeptRow::kMemory;
  CardWork work;
  work.threads = static_cast<double>(n.threads());
  const std::int64_t blocks = of.far * ((of.rows + n.rows - 1) / n.rows);
  work.blocks = static_cast<double>(blocks);
  const double wide = n.kept == KeptRow::kRegisters ? 1 : 1 + 1.0 / static_cast<double>(n.unroll);
  work.instructions =
      own * passes * (kElementInstructions * wide + 4.0 / static_cast<double>(n.width));
  // Loads of a warp of which each thread has a row of its own touch many lines.
  const double scattered = n.lanes > 1 ? 1 : static_cast<double>(4 * n.width);
  work.shared_cycles =
      (n.kept == KeptRow::kShared ? passes : 1) * own * scattered + (again ? own * passes : 0);
  work.chunks = again ? passes : 1;
  work.stages = 1;
  work.last = sums * ((n.lanes > 1 ? kExchangeCycles : 0) + (n.warps > 1 ? kShareCycles : 0));
  work.staged = static_cast<double>(n.rows) * row * (again ? passes + 1 : 2);
  work.registers = static_cast<double>(kBesideKept) +
                   (n.kept == KeptRow::kRegisters
                        ? own * static_cast<double>(std::max<std::int64_t>(1, rule.kept_tensors()))
                        : 0);
  const std::int64_t shared = n.kept == KeptRow::kShared      ? std::ssize(of.inputs)
                              : n.kept == KeptRow::kRegisters ? rule.shared_inputs()
                                                              : 0;
  work.shared = static_cast<double>(n.rows * shared) * row;
  return cycles_of(work, rule.target);
}

class RowChooser {
 public:
  RowChooser(const RowKernelRule& rule, const Derived& derived) : rule_(rule), derived_(derived) {}

  // The best of each way to keep a row, and to share it, the most promising first.
  std::vector<Values> find() {
    try_all(0, first_values(rule_.knobs));
    std::ranges::stable_sort(found_, {}, &Found::cycles);
    std::vector<Values> out;
    std::vector<std::pair<std::int64_t, std::int64_t>> ways;
    for (const Found& each : found_) {
      const std::pair way(each.values[static_cast<std::size_t>(rule_.at.kept)],
                          each.values[static_cast<std::size_t>(rule_.at.lanes)]);
      if (std::ranges::find(ways, way) != ways.end() || !rule_.build(each.values)) continue;
      ways.push_back(way);
      out.push_back(each.values);
    }
    return out;
  }

 private:
  struct Found {
    Values values;
    double cycles;
  };
  void try_all(std::size_t knob, Values values) {
    if (knob == values.size()) {
      if (keeps_limits(derived_, values, sizes_))
        found_.push_back({values, row_cycles(rule_, numbers_of(rule_, values))});
      return;
    }
    for (const std::int64_t value : rule_.knobs[knob].values) {
      values[knob] = value;
      try_all(knob + 1, values);
    }
  }

  const RowKernelRule& rule_;
  const Derived& derived_;
  std::vector<Found> found_;
  std::vector<std::int64_t> sizes_;
};

// Not every program can do without elements that are kept.
void leave_out_ways(RowKernelRule& rule, Flavour flavour) {
  std::vector<KeptRow> possible;
  for (std::size_t w = 0; w < rule.ways.size(); ++w) {
    Values values = first_values(rule.knobs);
    values[static_cast<std::size_t>(rule.at.kept)] = static_cast<std::int64_t>(w);
    if (rule.build(values)) possible.push_back(rule.ways[w]);
  }
  rule.ways = std::move(possible);
  rule.knobs.clear();
  if (!rule.ways.empty()) list_row_knobs(rule, flavour);
}

constexpr Meaning kRowKernelMeanings[] = {
    {"row.lanes", "threads of a warp that share a row: 32, or 1, which has it for itself"},
    {"row.warps", "warps that share a row; their sums meet in shared memory"},
    {"row.kept",
     "where a row is from stage to stage: in registers; in shared memory; memory: it is read "
     "again, and what was computed of its elements is computed again"},
    {"block.rows", "rows of a block"},
};

}  // namespace

std::span<const Meaning> row_kernel_meanings() { return kRowKernelMeanings; }

RowsBeside::RowsBeside(const std::shared_ptr<const Prepared>& prepared, int main,
                       const CudaContext& context) {
  auto stages = find_rows_beside(prepared->view, main);
  if (!stages) return;
  auto rule = std::make_shared<RowKernelRule>(
      RowKernelRule{prepared, std::move(*stages), context.target, {}, {}, {KeptRow::kRegisters}});
  list_row_knobs(*rule, Flavour::kDefault);
  Derived derived;
  derived.knobs = rule->knobs;
  limit_rows(*rule, Flavour::kDefault, derived);
  auto starts = RowChooser(*rule, derived).find();
  if (starts.empty()) return;
  rule_ = std::move(rule);
  values_ = std::move(starts[0]);
}

void RowsBeside::put(ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) const {
  if (rule_ == nullptr) return;
  const auto size = [&](int knob) {
    return nest.sizes.constant(values_[static_cast<std::size_t>(knob)]);
  };
  put_rows_on_blocks(rule_->stages, rule_->sizes(values_, size), nest, trace, placed);
}

std::optional<Derived> derive_row_kernels(const std::shared_ptr<const Prepared>& prepared,
                                          const CudaContext& context) {
  auto stages = find_row_stages(prepared->view);
  if (!stages) return {};
  auto rule = std::make_shared<RowKernelRule>(
      RowKernelRule{prepared, std::move(*stages), context.target, {}, {}, {}});
  for (const KeptRow way : {KeptRow::kRegisters, KeptRow::kShared, KeptRow::kMemory})
    if (way != KeptRow::kShared || !rule->stages.inputs.empty()) rule->ways.push_back(way);
  list_row_knobs(*rule, context.flavour);
  leave_out_ways(*rule, context.flavour);
  if (rule->ways.empty()) return {};
  Derived derived;
  derived.knobs = rule->knobs;
  limit_rows(*rule, context.flavour, derived);
  derived.starts = RowChooser(*rule, derived).find();
  if (derived.starts.empty()) return {};
  derived.build = [rule](std::span<const std::int64_t> values) { return rule->build(values); };
  return derived;
}

}  // namespace lathe::space
