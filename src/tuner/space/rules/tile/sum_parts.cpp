#include "tuner/space/rules/tile/sum_parts.h"

#include <algorithm>

namespace lathe::space {
namespace {

constexpr std::int64_t kShortestPart = 16;  // terms
constexpr double kFewPartialResults = 1 << 18;

// Terms of a part; 0 where there are no parts: the reduction must be a dimension of its own
// wherever it is read.
std::int64_t part_length(const TileRule& rule) {
  const Axes& axes = rule.axes[0];
  const int threads = rule.target.threads;
  if (threads < 2 || axes.reduce < 0 || streams(rule, axes)) return 0;
  const te::Stage& stage = rule.workload.stages[static_cast<std::size_t>(axes.stage)];
  if (stage.reduce != ir::ReduceOp::kSum) return 0;
  double read = 0,
         results = elements_of(rule.workload.tensors[static_cast<std::size_t>(stage.tensor)]);
  for (const ir::Read* r : ir::reads_of(stage.body)) {
    if (touches(r->index, axes.reduce) && plain_dim(r->index, axes.reduce) < 0) return 0;
    read += elements_of(rule.workload.tensors[static_cast<std::size_t>(r->tensor)]);
  }
  std::int64_t unit = 1;
  for (const Axes& a : rule.axes) {
    unit = std::max(unit, rule.channel_block(a));
    if (a.reduce != axes.reduce) return 0;
  }
  const std::int64_t terms = extent_of(rule, axes, axes.reduce);
  const std::int64_t parts = std::min<std::int64_t>(threads, terms / kShortestPart);
  if (parts < 2 || results * static_cast<double>(parts) > std::max(read, kFewPartialResults))
    return 0;
  const std::int64_t length = ((terms + parts - 1) / parts + unit - 1) / unit * unit;
  return length < terms ? length : 0;
}

// The same parts of the iterators for a stage that goes through its reduction in parts.
Axes axes_in_parts(const Axes& axes, const te::Workload& view, const te::Workload& whole,
                   int stage) {
  const te::Stage& from = whole.stages[static_cast<std::size_t>(axes.stage)];
  const te::Stage& to = view.stages[static_cast<std::size_t>(stage)];
  const auto number = [&](const std::string& loop) {
    return static_cast<int>(std::ranges::find(to.iters, loop, &te::Iterator::name) -
                            to.iters.begin());
  };
  const auto name = [&](int iter) { return from.iters[static_cast<std::size_t>(iter)].name; };
  const auto moved = [&](int iter) { return number(name(iter)); };
  const auto same_read = [&](const ir::Read* read) -> const ir::Read* {
    const auto before = ir::reads_of(from.body), now = ir::reads_of(to.body);
    const auto found = std::ranges::find(before, read);
    return found == before.end() ? nullptr : now[static_cast<std::size_t>(found - before.begin())];
  };
  Axes out;
  out.stage = stage;
  out.vector = moved(axes.vector);
  std::ranges::transform(axes.pixels, std::back_inserter(out.pixels), moved);
  out.parts = number(name(axes.reduce) + ".p");
  out.batch = {out.parts};
  std::ranges::transform(axes.batch, std::back_inserter(out.batch), moved);
  out.reduce = number(name(axes.reduce) + ".q");
  std::ranges::transform(axes.taps, std::back_inserter(out.taps), moved);
  out.weights = same_read(axes.weights);
  out.input = same_read(axes.input);
  return out;
}

std::shared_ptr<Tiling> in_parts(const Prepared& whole, const TileRule& rule, std::int64_t length) {
  const te::Stage& stage = rule.workload.stages[static_cast<std::size_t>(rule.axes[0].stage)];
  const std::string& block = rule.workload.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const std::string& loop = stage.iters[static_cast<std::size_t>(rule.axes[0].reduce)].name;
  auto out = std::make_shared<Tiling>();
  Prepared& prepared = out->prepared;
  prepared = whole;
  for (const schedule::Step& step :
       {schedule::Step{schedule::Split{loop, length, loop + ".p", loop + ".q", ir::Tail::kPeel}},
        schedule::Step{schedule::Rfactor{block, loop + ".p", block + ".part", 0}}})
    if (!try_step(prepared.nest, prepared.steps, step, rule.workload.contract.free_layout))
      return nullptr;
  prepared.view = view_of(prepared.nest, rule.workload);
  const te::Workload& view = prepared.view;
  const auto found = std::ranges::find(view.stages, prepared.nest.find_buffer(block + ".part"),
                                       &te::Stage::tensor);
  TileRule& main = out->main.rule;
  main = rule;
  main.workload = view;
  for (Axes& axes : main.axes)
    axes = axes_in_parts(axes, view, rule.workload, static_cast<int>(found - view.stages.begin()));
  return out;
}

void add_parts(Tiling& tiling, TileRule& rule) {
  const std::int64_t length = rule.at.parallel < 0 ? 0 : part_length(rule);
  if (length == 0) return;
  auto parts = in_parts(tiling.prepared, rule, length);
  if (!parts) return;
  rule.part = length;
  rule.shared_loops.push_back(SharedLoop::kReduction);
  Knob& knob = rule.knobs[static_cast<std::size_t>(rule.at.parallel)];
  knob.values.push_back(static_cast<std::int64_t>(knob.values.size()));
  knob.labels.push_back(label_of(SharedLoop::kReduction));
  parts->main.rule.shared_loops = rule.shared_loops;
  parts->main.rule.knobs = rule.knobs;
  tiling.parts = std::move(parts);
}

}  // namespace

void set_main(Tiling& tiling, TileRule rule) {
  add_parts(tiling, rule);
  tiling.main = tiled(std::move(rule));
}

}  // namespace lathe::space
