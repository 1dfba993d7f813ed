#include "tuner/space/rules/strips/stencils.h"

#include <algorithm>
#include <map>

#include "compiler/algebra/algebra.h"
#include "compiler/analysis/dependence.h"
#include "compiler/analysis/recurrences.h"
#include "compiler/analysis/scans.h"
#include "compiler/te/naive_nest.h"
#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kMostWindow = 128;  // terms of a sum
constexpr std::int64_t kFewChannels = 4;   // that a sum goes through
constexpr std::size_t kMostStages = 32;
constexpr int kLargestMap = 200;  // nodes of an expression, with all that was inlined into it
// A tile that computes more than this many times what it uses is no choice.
constexpr double kMostAgain = 8;
constexpr std::size_t kMostLoose = 6;
constexpr std::int64_t kFar = std::int64_t{1} << 62;

bool is_read_by(const te::Stage& stage, int tensor) {
  return std::ranges::any_of(ir::reads_of(stage.body),
                             [&](const ir::Read* read) { return read->tensor == tensor; });
}

// Inlining.

int count_nodes(const ir::Expr& e) {
  int nodes = 0;
  ir::for_each_node(e, [&](const ir::Expr&) { ++nodes; });
  return nodes;
}

double domain_of(const ir::Nest& nest, const ir::Block& block) {
  double product = 1;
  for (const ir::BlockIter& iter : block.iters)
    product *= static_cast<double>(nest.sizes.constant_value(iter.extent));
  return product;
}

// A product that a sum adds up takes no operation of its own.
bool is_product_for_sum(const ir::Block& block, const ir::Block& reader) {
  const auto is_read = [](const ir::Expr& e) { return std::holds_alternative<ir::Read>(e->value); };
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  return product != nullptr && product->op == ir::BinaryOp::kMul && is_read(product->a) &&
         is_read(product->b) && reader.reduce == ir::ReduceOp::kSum && is_read(reader.body);
}

// True if no value is computed twice then, or it costs nothing.
bool is_best_inlined(const ir::Nest& nest, const ir::Block& block) {
  double evaluations = 0;
  bool free = std::holds_alternative<ir::Read>(block.body->value);
  bool product = true;
  for (const ir::BlockId id : analysis::readers_of(nest, block.writes)) {
    const ir::Block& reader = nest.blocks[id];
    const auto reads = ir::reads_of(reader.body);
    std::vector<std::vector<ir::Affine>> places;  // the same one is computed once
    for (const ir::Read* read : reads)
      if (read->tensor == block.writes && std::ranges::count(places, read->index) == 0)
        places.push_back(read->index);
    const auto times = static_cast<int>(places.size());
    if (ir::looks_up(reader.body, block.writes)) return false;
    if (count_nodes(reader.body) + times * count_nodes(block.body) > kLargestMap) return false;
    evaluations += times * domain_of(nest, reader);
    product = product && is_product_for_sum(block, reader);
  }
  return free || product || evaluations <= domain_of(nest, block);
}

Prepared prepare_for_strips(const te::Workload& workload, algebra::Repeated repeated) {
  Prepared prepared{te::naive_nest(workload), {}, {}};
  algebra::rewrite(prepared.nest, prepared.steps, workload.contract.free_layout, repeated);
  ir::Nest& nest = prepared.nest;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block block = nest.blocks[id];
    if (block.reduce != ir::ReduceOp::kNone || nest.buffers[block.writes].constant ||
        nest.buffers[block.writes].scope != ir::Scope::kMemory || !is_best_inlined(nest, block))
      continue;
    try_step(nest, prepared.steps, schedule::Inline{block.name}, workload.contract.free_layout);
  }
  prepared.view = view_of(nest, workload);
  return prepared;
}

// What is a pipeline.

bool runs(const Stencils& pipeline, const te::Stage& stage) {
  return !pipeline.prepared.view.tensors[static_cast<std::size_t>(stage.tensor)].constant;
}

// True if no sum is longer than a window, or goes through more than a few channels.
bool sums_windows(const te::Stage& stage) {
  if (te::terms_of(stage) > kMostWindow) return false;
  for (int i = 0; i < std::ssize(stage.iters); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    if (iter.kind != te::IterKind::kReduce || iter.extent <= kFewChannels) continue;
    for (const ir::Read* read : ir::reads_of(stage.body))
      for (const ir::Affine& row : read->index)
        if (row.terms.size() == 1 && row.coef_of(i) != 0 && read->index.size() > 1 &&
            std::ranges::any_of(stage.iters, [&](const te::Iterator& other) {
              const auto at = static_cast<int>(&other - stage.iters.data());
              return other.kind == te::IterKind::kSpatial && touches(read->index, at);
            }))
          return false;
  }
  return true;
}

bool is_in_window(const te::Stage& stage, const ir::Affine& row) {
  bool space = false, sum = false;
  for (const ir::AffineTerm& term : row.terms) {
    const bool reduced =
        stage.iters[static_cast<std::size_t>(term.iter)].kind == te::IterKind::kReduce;
    (reduced ? sum : space) = true;
  }
  return space && sum;
}

// True for different places that move with the same iterators.
bool are_neighbours(const std::vector<ir::Affine>& a, const std::vector<ir::Affine>& b) {
  const auto move_alike = [](const ir::Affine& x, const ir::Affine& y) {
    return std::ranges::equal(x.terms, y.terms, {}, &ir::AffineTerm::iter, &ir::AffineTerm::iter);
  };
  return a != b && std::ranges::equal(a, b, move_alike);
}

// True if the stage reads several neighbouring elements of the tensor for one of its own.
bool reads_window(const te::Stage& stage, int tensor) {
  const ir::Read* first = nullptr;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (read->tensor != tensor) continue;
    for (const ir::Affine& row : read->index)
      if (is_in_window(stage, row)) return true;
    if (first != nullptr && are_neighbours(read->index, first->index)) return true;
    first = read;
  }
  return false;
}

// The same of any tensor that is no constant, for sums.
bool sums_window(const Stencils& pipeline, const te::Stage& stage) {
  return stage.reduce != ir::ReduceOp::kNone &&
         std::ranges::any_of(ir::tensors_of(stage.body), [&](int tensor) {
           const te::Tensor& read =
               pipeline.prepared.view.tensors[static_cast<std::size_t>(tensor)];
           return !read.constant && read.role != te::TensorRole::kLiteral &&
                  reads_window(stage, tensor);
         });
}

std::vector<std::int64_t> shape_of(const te::Workload& view, const te::Stage& stage) {
  return view.tensors[static_cast<std::size_t>(stage.tensor)].shape;
}

// The outputs, which nothing reads; false if they have several shapes.
bool find_outputs(Stencils& pipeline) {
  const te::Workload& view = pipeline.prepared.view;
  for (int s = 0; s < std::ssize(view.stages); ++s) {
    const te::Stage& stage = pipeline.stage(s);
    if (view.tensors[static_cast<std::size_t>(stage.tensor)].role != te::TensorRole::kOutput)
      continue;
    if (!pipeline.outputs.empty() &&
        shape_of(view, stage) != shape_of(view, pipeline.stage(pipeline.outputs[0])))
      return false;
    pipeline.outputs.push_back(s);
    for (const te::Stage& other : view.stages)
      if (is_read_by(other, stage.tensor)) return false;
  }
  if (!pipeline.outputs.empty()) pipeline.output = pipeline.outputs.back();
  return !pipeline.outputs.empty();
}

bool find_stages(Stencils& pipeline) {
  const te::Workload& view = pipeline.prepared.view;
  if (!find_outputs(pipeline)) return false;
  bool window = false;
  int bytes = 1, sums = 0;
  for (int s = static_cast<int>(view.stages.size()); s-- > 0;) {
    const te::Stage& stage = pipeline.stage(s);
    if (!runs(pipeline, stage)) continue;
    if (!writes_plainly(view, stage) || !sums_windows(stage) || stage.iters.empty()) return false;
    bytes = std::max(bytes, size_of(stage.body->dtype));
    const bool is_output = pipeline.is_output(s);
    if (!is_output) pipeline.moved.push_back(s);
    if (!is_output || pipeline.outputs.size() > 1) sums += sums_window(pipeline, stage) ? 1 : 0;
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      const te::Stage* writer = view.writer(read->tensor);
      if (writer == nullptr || !runs(pipeline, *writer)) continue;
      if (is_anywhere(*read)) return false;
      window = window || reads_window(stage, read->tensor);
    }
  }
  pipeline.lanes = std::max(1, pipeline.target.lanes(bytes));
  // What several windows add up is best used while it is in registers.
  return (window || sums > 1) && pipeline.moved.size() < kMostStages;
}

double iterations(const std::vector<std::int64_t>& extents) {
  double product = 1;
  for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

std::vector<std::int64_t> extents_of(const te::Stage& stage) {
  std::vector<std::int64_t> extents;
  for (const te::Iterator& iter : stage.iters) extents.push_back(iter.extent);
  return extents;
}

// How often the moved stages do what they would do once, the most of all, if the output goes
// through the axis one by one.
double times_again(const Stencils& pipeline, int axis) {
  std::vector<std::int64_t> one = extents_of(pipeline.stage(pipeline.output));
  one[static_cast<std::size_t>(axis)] = 1;
  const auto all = needed_of(pipeline, extents_of(pipeline.stage(pipeline.output)));
  const auto part = needed_of(pipeline, one);
  double most = 0;
  for (const int s : pipeline.moved) {
    const auto at = static_cast<std::size_t>(s);
    most = std::max(most, iterations(part[at]) * static_cast<double>(pipeline.extent(axis)) /
                              iterations(all[at]));
  }
  return most;
}

bool find_axes(Stencils& pipeline) {
  constexpr double kOnce = 1.001;
  const te::Stage& out = pipeline.stage(pipeline.output);
  std::vector<int> axes;
  for (int i = 0; i < std::ssize(out.iters); ++i)
    if (out.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial) axes.push_back(i);
  if (axes.size() < 2) return false;
  pipeline.lane = axes.back();
  axes.pop_back();
  for (const int axis : axes) {
    const double again = times_again(pipeline, axis);
    const auto extent = static_cast<double>(pipeline.extent(axis));
    if (again <= kOnce) pipeline.batch.push_back(axis);
    else if (again > 0.9 * extent) pipeline.inner.push_back(axis);
    else pipeline.rows.push_back(axis);
  }
  if (pipeline.rows.empty() && !pipeline.batch.empty()) {
    auto last = std::ranges::find_if(pipeline.batch.rbegin(), pipeline.batch.rend(),
                                     [&](int axis) { return pipeline.extent(axis) > 1; });
    if (last == pipeline.batch.rend()) last = pipeline.batch.rbegin();
    pipeline.rows.push_back(*last);
    pipeline.batch.erase(std::next(last).base());
  }
  return !pipeline.rows.empty() && pipeline.rows.size() <= 2;
}

// Stages that tiles may compute, by what a tile of two vectors computes more than a strip does.
void find_loose(Stencils& pipeline) {
  std::vector<std::int64_t> tile = extents_of(pipeline.stage(pipeline.output));
  double tiles = 1;
  const auto cut = [&](int axis, std::int64_t size) {
    auto& extent = tile[static_cast<std::size_t>(axis)];
    const std::int64_t all = extent;
    extent = std::min(all, size);
    tiles *= static_cast<double>(all) / static_cast<double>(extent);
  };
  for (const auto* axes : {&pipeline.batch, &pipeline.rows, &pipeline.inner})
    for (const int axis : *axes) cut(axis, 1);
  cut(pipeline.lane, 2 * std::int64_t{pipeline.lanes});
  const auto all = needed_of(pipeline, extents_of(pipeline.stage(pipeline.output)));
  const auto part = needed_of(pipeline, tile);
  std::map<int, double> again;
  for (const int s : pipeline.moved) {
    const auto at = static_cast<std::size_t>(s);
    again[s] = iterations(part[at]) * tiles / iterations(all[at]);
    if (again[s] <= kMostAgain) pipeline.loose.push_back(s);
  }
  std::ranges::stable_sort(pipeline.loose, [&](int a, int b) {
    return again[a] * work_of(pipeline.stage(a)) > again[b] * work_of(pipeline.stage(b));
  });
  if (pipeline.loose.size() > kMostLoose)
    pipeline.loose.erase(pipeline.loose.begin(), pipeline.loose.end() - kMostLoose);
}

}  // namespace

bool reads_own_place(const te::Stage& reader, int tensor) {
  const std::vector<ir::Affine> own = written_index(reader);
  return std::ranges::all_of(ir::reads_of(reader.body), [&](const ir::Read* read) {
    return read->tensor != tensor || (!read->pad && read->index == own);
  });
}

std::vector<std::vector<std::int64_t>> needed_of(const Stencils& pipeline,
                                                 const std::vector<std::int64_t>& output) {
  const te::Workload& view = pipeline.prepared.view;
  std::vector<std::vector<std::int64_t>> needed(view.stages.size());
  for (const int s : pipeline.outputs) {
    std::vector<std::int64_t>& own = needed[static_cast<std::size_t>(s)];
    own = extents_of(pipeline.stage(s));
    const std::size_t dims = shape_of(view, pipeline.stage(s)).size();
    std::copy_n(output.begin(), dims, own.begin());
  }
  for (const int s : pipeline.moved) {
    std::vector<std::int64_t> extents = extents_of(pipeline.stage(s));
    const std::size_t dims =
        view.tensors[static_cast<std::size_t>(pipeline.stage(s).tensor)].shape.size();
    for (std::size_t d = 0; d < dims; ++d) {
      std::int64_t low = kFar, high = -kFar;
      for (std::size_t r = 0; r < view.stages.size(); ++r)
        for (const ir::Read* read : ir::reads_of(view.stages[r].body)) {
          if (read->tensor != pipeline.stage(s).tensor || needed[r].empty()) continue;
          std::int64_t first = read->index[d].offset, last = first;
          for (const ir::AffineTerm& term : read->index[d].terms) {
            const std::int64_t reach =
                term.coef * (needed[r][static_cast<std::size_t>(term.iter)] - 1);
            (reach < 0 ? first : last) += reach;
          }
          low = std::min(low, first), high = std::max(high, last);
        }
      if (low <= high) extents[d] = std::min(extents[d], high - low + 1);
    }
    needed[static_cast<std::size_t>(s)] = std::move(extents);
  }
  return needed;
}

std::optional<Stencils> find_stencils(const CpuContext& context) {
  const te::Workload& workload = context.workload;
  if (workload.contract.free_layout) return {};
  Stencils pipeline;
  pipeline.target = context.target;
  pipeline.prepared = prepare_for_strips(workload, context.repeated);
  if (pipeline.prepared.view.stages.size() < 2 || analysis::has_scan(pipeline.prepared.nest) ||
      analysis::has_recurrence(pipeline.prepared.nest) || !find_stages(pipeline) ||
      !find_axes(pipeline))
    return {};
  find_loose(pipeline);
  return pipeline;
}

}  // namespace lathe::space
