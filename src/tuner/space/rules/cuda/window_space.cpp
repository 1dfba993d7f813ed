#include "tuner/space/rules/cuda/window_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tuner/space/card_cost.h"
#include "tuner/space/rules/cuda/card_limits.h"
#include "tuner/space/rules/cuda/other_stages.h"
#include "tuner/space/rules/cuda/window_tile.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kMostOfTile = 32, kMostOfTileWide = 128;
constexpr std::int64_t kMostTermsWritten = 1024, kMostTermsWrittenWide = 4096;
constexpr std::int64_t kFewestOfWindows = 64, kVectorOfWindow = 16, kRoomOfGroup = 64;

struct WindowKnobs {
  int width = -1, v = -1, p = -1, of_v = -1, of_p = -1, of_b = -1, input = -1, taps = -1;
};

struct WindowRule {
  ItemStage main;
  WindowAxes axes;
  CudaTarget target;
  OtherStages others;
  WindowKnobs at;
  std::vector<Knob> knobs;

  std::int64_t value(int knob, std::span<const std::int64_t> values) const {
    return knob < 0 ? 1 : values[static_cast<std::size_t>(knob)];
  }
  std::int64_t width(std::span<const std::int64_t> values) const {
    return number_chosen(knobs, at.width, values);
  }
  std::int64_t terms() const {
    std::int64_t out = 1;
    for (const te::Iterator& iter : main.get().iters)
      if (iter.kind == te::IterKind::kReduce) out *= iter.extent;
    return out;
  }

  Result<Sketch> build(std::span<const std::int64_t> values) const {
    return others.sketch([&](Sketch& sketch, std::set<std::string>& placed) {
      const auto size = [&](int knob) {
        return knob < 0 ? sketch.nest.sizes.constant(1)
                        : sketch.nest.sizes.knob(knob, knobs[static_cast<std::size_t>(knob)].name);
      };
      WindowSizes sizes{.width = width(values),
                        .v = size(at.v),
                        .p = size(at.p),
                        .of_v = size(at.of_v),
                        .of_p = size(at.of_p),
                        .of_b = size(at.of_b)};
      if (at.input >= 0 && value(at.input, values) == 1) sizes.input = Staging::kShared;
      if (at.taps >= 0) sizes.taps = static_cast<WrittenTaps>(value(at.taps, values));
      put_windows_on_blocks(main, axes, sizes, sketch.nest, sketch.trace, placed);
    });
  }
};

// Widths of vectors of 16 bytes at most, of the widest type. In the default space rows are whole
// vectors, and maps have the widest ones.
std::vector<std::string> widths_of(const WindowRule& rule, Flavour flavour) {
  std::int64_t bytes = size_of(rule.main.get().body->dtype);
  const te::Workload& view = *rule.main.view;
  const auto widest = [&](int tensor) {
    bytes = std::max<std::int64_t>(bytes,
                                   size_of(view.tensors[static_cast<std::size_t>(tensor)].dtype));
  };
  widest(rule.main.get().tensor);
  for (const ir::Read* read : ir::reads_of(rule.main.get().body)) widest(read->tensor);
  std::vector<std::string> out;
  const std::int64_t extent = rule.main.extent(rule.axes.v);
  for (std::int64_t width = kVectorOfWindow / bytes; width > 0; width /= 2)
    if (extent % width == 0 || (flavour == Flavour::kWide && width <= extent))
      out.push_back(std::to_string(width));
  if (flavour == Flavour::kDefault && rule.axes.input == nullptr) out.resize(1);
  return out;
}

void list_window_knobs(WindowRule& rule, Flavour flavour) {
  KnobList list(rule.knobs);
  const std::int64_t v = rule.main.extent(rule.axes.v), p = rule.main.extent(rule.axes.p),
                     b = rule.main.extent(rule.axes.b);
  rule.at.width = list.choice("width", widths_of(rule, flavour));
  rule.at.v = list.size("item.v", up_to({1, 2, 4, 8}, v));
  if (rule.axes.p >= 0) rule.at.p = list.size("item.p0", up_to({1, 2, 3, 4, 5, 6, 7, 8, 14}, p));
  rule.at.of_v =
      list.size("threads.v", up_to({1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 128, 256, 512}, v));
  if (rule.axes.p >= 0)
    rule.at.of_p = list.size("threads.p0", up_to({1, 2, 4, 7, 8, 14, 16, 28, 32}, p));
  if (rule.axes.b >= 0) rule.at.of_b = list.size("threads.p1", up_to({1, 2, 4, 8, 16, 32}, b));
  if (rule.axes.input != nullptr) rule.at.input = list.choice("stage.input", {"cache", "shared"});
  if (rule.main.get().reduce != ir::ReduceOp::kNone)
    rule.at.taps = list.choice("taps", {"loops", "last written out", "written out"});
}

// What a block or a thread has of the axes, as sizes of knobs.
class WindowBoxes {
 public:
  WindowBoxes(const WindowRule& rule, ir::Sizes& sizes) : rule_(rule), s_(sizes) {}

  ir::SizeId knob(int k) {
    return k < 0 ? s_.constant(1) : s_.knob(k, rule_.knobs[static_cast<std::size_t>(k)].name);
  }
  ir::SizeId width() { return size_chosen(rule_.knobs, rule_.at.width, s_); }
  ir::SizeId results() { return s_.mul(s_.mul(width(), knob(rule_.at.v)), knob(rule_.at.p)); }
  ir::SizeId threads() {
    return s_.mul(s_.mul(knob(rule_.at.of_v), knob(rule_.at.of_p)), knob(rule_.at.of_b));
  }
  ir::SizeId shared_bytes() {
    if (rule_.axes.input == nullptr) return s_.constant(0);
    const int tensor = rule_.axes.input->tensor;
    ir::SizeId bytes =
        s_.constant(size_of(rule_.main.view->tensors[static_cast<std::size_t>(tensor)].dtype));
    for (const ir::Affine& row : rule_.axes.input->index) {
      ir::SizeId extent = s_.constant(1);
      for (const ir::AffineTerm& term : row.terms)
        extent = s_.add(extent, s_.mul(s_.constant(std::abs(term.coef)),
                                       s_.add(reach(term.iter), s_.constant(-1))));
      if (&row == &rule_.axes.input->index.back())
        extent =
            s_.mul(s_.ceildiv(extent, s_.constant(kVectorOfWindow)), s_.constant(kVectorOfWindow));
      bytes = s_.mul(bytes, extent);
    }
    return s_.mul(bytes, knob(rule_.at.input));
  }

 private:
  ir::SizeId reach(int iter) {
    const ir::SizeId all = s_.constant(rule_.main.extent(iter));
    if (iter == rule_.axes.v)
      return s_.min(all, s_.mul(s_.mul(width(), knob(rule_.at.v)), knob(rule_.at.of_v)));
    if (iter == rule_.axes.p) return s_.min(all, s_.mul(knob(rule_.at.p), knob(rule_.at.of_p)));
    if (iter == rule_.axes.b) return s_.min(all, knob(rule_.at.of_b));
    const bool tap =
        rule_.main.get().iters[static_cast<std::size_t>(iter)].kind == te::IterKind::kReduce;
    return tap ? all : s_.constant(1);
  }

  const WindowRule& rule_;
  ir::Sizes& s_;
};

void limit_windows(const WindowRule& rule, Flavour flavour, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  WindowBoxes boxes(rule, s);
  const auto demand = [&](const char* why, ir::SizeId size, std::int64_t most) {
    derived.constraints.push_back({why, size, most});
  };
  const bool wide = flavour == Flavour::kWide;
  const ir::SizeId threads = boxes.threads(), results = boxes.results();
  demand("the block has more threads than the card takes", threads, rule.target.block_threads);
  demand("a thread has more results than registers", results, wide ? kMostOfTileWide : kMostOfTile);
  if (rule.at.input >= 0)
    demand("the block needs more shared memory than the card has", boxes.shared_bytes(),
           rule.target.block_bytes - kRoomOfGroup);
  const std::int64_t terms = rule.terms();
  if (rule.at.taps >= 0) {
    const ir::SizeId written = s.min(boxes.knob(rule.at.taps), s.constant(1));
    demand("too many terms are written out", s.mul(s.mul(written, results), s.constant(terms)),
           wide ? kMostTermsWrittenWide : kMostTermsWritten);
  }
  if (wide) return;
  std::int64_t all = 1;
  for (const int iter : {rule.axes.v, rule.axes.p, rule.axes.b}) all *= rule.main.extent(iter);
  const std::int64_t fewest = std::clamp<std::int64_t>(all / kVectorOfWindow, 1, kFewestOfWindows);
  demand("a block has few threads", s.ceildiv(s.constant(fewest), threads), 1);
}

// What the model of a card looks at.
class WindowModel {
 public:
  explicit WindowModel(const WindowRule& rule) : rule_(rule) {}

  double cycles(std::span<const std::int64_t> values) const {
    const WindowKnobs& at = rule_.at;
    const auto value = [&](int knob) { return static_cast<double>(rule_.value(knob, values)); };
    const auto width = static_cast<double>(rule_.width(values));
    const double v = value(at.v) * width, p = value(at.p);
    const auto terms = static_cast<double>(rule_.terms());
    const bool shared = at.input >= 0 && value(at.input) == 1;
    const bool written = at.taps >= 0 && value(at.taps) == 2;
    CardWork work;
    work.threads = value(at.of_v) * value(at.of_p) * value(at.of_b);
    const double tiles_v = tiles(rule_.axes.v, v * value(at.of_v)),
                 tiles_p = tiles(rule_.axes.p, p * value(at.of_p)),
                 tiles_b = tiles(rule_.axes.b, value(at.of_b));
    work.blocks = tiles_v * tiles_p * tiles_b * far();
    const double results = v * p, loads = loaded(v, p, written);
    const double of_row = std::min(kLanes, value(at.of_v)), bytes = element_bytes();
    // Places that a warp's load or store touches of the first cache, 128 bytes each.
    const double rows = std::ceil(kLanes / of_row);
    const auto lines = [&](double apart) { return rows * std::ceil(of_row * apart * bytes / 128); };
    const double tile = block_bytes(v * value(at.of_v), p * value(at.of_p), value(at.of_b));
    const double copied = shared ? tile / bytes / work.threads : 0;
    work.instructions = kTileInstructions + results * terms * body() + loads + results / width +
                        kCopyInstructions * copied + (written ? 0 : kLoopInstructions * terms);
    const double apart = (sums() ? v : width) * step();
    work.shared_cycles = shared ? copied + loads * bank_conflicts(apart) : loads * lines(apart);
    work.shared_cycles += results / width * lines(sums() ? v : width);
    work.chunks = shared ? 1.5 : 1;
    work.stages = 1;
    work.staged = tile + bytes * work.threads * results;
    work.registers = kTileRegisters + results + std::min(loads, kLoadsAhead);
    if (shared) work.shared = tile;
    return cycles_of(work, rule_.target);
  }

 private:
  static constexpr double kLanes = 32, kTileInstructions = 60, kCopyInstructions = 6,
                          kLoopInstructions = 6, kTileRegisters = 28, kLoadsAhead = 36;

  bool sums() const { return rule_.main.get().reduce != ir::ReduceOp::kNone; }
  double element_bytes() const {
    const int result = rule_.main.get().tensor;
    return size_of(rule_.main.view->tensors[static_cast<std::size_t>(result)].dtype);
  }
  double step() const { return rule_.axes.input == nullptr ? 1 : step_of(rule_.axes.v); }
  static double bank_conflicts(double apart) {
    return static_cast<double>(std::gcd(static_cast<std::int64_t>(apart), std::int64_t{32}));
  }
  // Of what a block reads, by rows of whole sectors of 32 bytes, which may begin anywhere.
  double block_bytes(double v, double p, double b) const {
    constexpr double kSector = 32;
    double all = 0;
    for (const ir::Read* read : ir::reads_of(rule_.main.get().body)) {
      double bytes = element_bytes();
      for (const ir::Affine& row : read->index) {
        double extent = 1;
        for (const ir::AffineTerm& term : row.terms)
          extent += std::abs(static_cast<double>(term.coef)) * (reached(term.iter, v, p, b) - 1);
        bytes *= extent;
        if (&row == &read->index.back())
          bytes *= (extent * element_bytes() + kSector) / (extent * element_bytes());
      }
      all += bytes;
    }
    return all;
  }
  double reached(int iter, double v, double p, double b) const {
    const auto all = static_cast<double>(rule_.main.extent(iter));
    if (iter == rule_.axes.v) return std::min(all, v);
    if (iter == rule_.axes.p) return std::min(all, p);
    if (iter == rule_.axes.b) return std::min(all, b);
    return is_tap(iter) ? all : 1;
  }

  double tiles(int iter, double tile) const {
    return std::ceil(static_cast<double>(rule_.main.extent(iter)) / tile);
  }
  double far() const {
    double out = 1;
    const te::Stage& stage = rule_.main.get();
    for (int i = 0; std::cmp_less(i, stage.iters.size()); ++i)
      if (stage.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial &&
          i != rule_.axes.v && i != rule_.axes.p && i != rule_.axes.b)
        out *= static_cast<double>(rule_.main.extent(i));
    return out;
  }
  double body() const {
    double nodes = 0;
    ir::for_each_node(rule_.main.get().body, [&](const ir::Expr& e) {
      const bool dear = std::holds_alternative<ir::Unary>(e->value);
      nodes += dear ? 8 : 0.5;
    });
    return nodes;
  }
  double step_of(int iter) const {
    double step = 1;
    for (const ir::Affine& row : rule_.axes.input->index)
      step = std::max(step, std::abs(static_cast<double>(row.coef_of(iter))));
    return step;
  }
  // Elements that a thread loads: those of a window once where its taps are written out.
  double loaded(double v, double p, bool written) const {
    double all = 0;
    for (const ir::Read* read : ir::reads_of(rule_.main.get().body)) {
      double elements = 1;
      for (const ir::Affine& row : read->index) {
        double extent = 1, terms = 1;
        for (const ir::AffineTerm& term : row.terms) {
          const double reach = reached(term.iter, v, p, 1);
          extent += std::abs(static_cast<double>(term.coef)) * (reach - 1);
          terms *= reach;
        }
        elements *= written ? std::min(extent, terms) : terms;
      }
      all += elements;
    }
    return all;
  }
  bool is_tap(int iter) const {
    return rule_.main.get().iters[static_cast<std::size_t>(iter)].kind == te::IterKind::kReduce;
  }

  const WindowRule& rule_;
};

class WindowChooser {
 public:
  WindowChooser(const WindowRule& rule, const Derived& derived)
      : rule_(rule), derived_(derived), model_(rule) {}

  // The best of each width, and of each way to read the input.
  std::vector<Values> find() {
    try_all(0, first_values(rule_.knobs));
    std::vector<const Found*> order;
    for (const auto& [way, found] : best_) order.push_back(&found);
    std::ranges::stable_sort(order, {}, &Found::cycles);
    std::vector<Values> out;
    for (const Found* each : order)
      if (out.size() < kStarts && rule_.build(each->values)) out.push_back(each->values);
    return out;
  }

 private:
  static constexpr std::size_t kStarts = 4;
  struct Found {
    Values values;
    double cycles;
  };

  void try_all(std::size_t knob, Values values) {
    if (knob == values.size()) return try_one(values);
    const auto number = static_cast<int>(knob);
    // Where a search begins, all taps are written out, or none.
    for (const std::int64_t value : rule_.knobs[knob].values) {
      if (number == rule_.at.taps && value == 1) continue;
      values[knob] = value;
      try_all(knob + 1, values);
    }
  }
  void try_one(const Values& values) {
    if (!keeps_limits(derived_, values, sizes_)) return;
    const std::pair way(rule_.width(values), rule_.value(rule_.at.input, values));
    const double cycles = model_.cycles(values);
    const auto found = best_.find(way);
    if (found == best_.end() || cycles < found->second.cycles) best_[way] = {values, cycles};
  }

  const WindowRule& rule_;
  const Derived& derived_;
  WindowModel model_;
  std::map<std::pair<std::int64_t, std::int64_t>, Found> best_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::optional<Derived> derive_windows(const std::shared_ptr<const Prepared>& prepared,
                                      const CudaContext& context) {
  const te::Workload& view = prepared->view;
  const ItemStage main{&view, main_stage(view), {}};
  const WindowAxes axes = window_axes_of(main);
  if (axes.v < 0) return {};
  auto rule = std::make_shared<WindowRule>(
      WindowRule{main, axes, context.target, {prepared, main.stage, context}, {}, {}});
  list_window_knobs(*rule, context.flavour);
  Derived derived;
  derived.knobs = rule->knobs;
  limit_windows(*rule, context.flavour, derived);
  derived.starts = WindowChooser(*rule, derived).find();
  if (derived.starts.empty()) return {};
  derived.build = [rule](std::span<const std::int64_t> values) { return rule->build(values); };
  return derived;
}

}  // namespace lathe::space
