#include "tuner/feature/blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/feature/log2.h"

namespace lathe::feature {
namespace {

using analysis::Footprint;
using ir::LoopKind;

constexpr const char* kWholeNames[kWholeWidth] = {
    "whole.reduction_work", "whole.product_work", "whole.work",      "whole.blocks",
    "whole.scratch_bytes",  "whole.held_bytes",   "whole.constants", "whole.regions",
    "whole.least_parallel", "whole.in_order_work"};
constexpr const char* kBlockNames[] = {"present", "reduces", "sparse"};
constexpr int kBlockHeader = static_cast<int>(std::size(kBlockNames));

bool reads_sparse_literal(const ir::Nest& nest, const ir::Block& block) {
  return std::ranges::any_of(ir::reads_of(block.body), [&](const ir::Read* read) {
    return nest.buffers[read->tensor].sparse;
  });
}

int operands(const ir::Nest& nest, const ir::Block& block) {
  return static_cast<int>(
      std::ranges::count_if(ir::reads_of(block.body), [&](const ir::Read* read) {
        return nest.buffers[read->tensor].scope != ir::Scope::kLiteral;
      }));
}

bool has_parallel_around(const ir::Nest& nest, ir::LoopId loop) {
  for (ir::LoopId l = nest.loops[loop].parent; l != ir::kRoot; l = nest.loops[l].parent)
    if (nest.loops[l].kind == LoopKind::kParallel) return true;
  return false;
}

// The tasks that threads share of a block.
double tasks_of(const analysis::FootprintPlan& plan, const Footprint& f) {
  double tasks = 1;
  for (int l = 0; l < f.loops; ++l)
    if (ir::is_concurrent(plan.kinds()[l])) tasks *= f.length[l];
  return tasks;
}

}  // namespace

BlocksPlan::BlocksPlan(const ir::Nest& nest) {
  const ir::BlockId main = analysis::main_block(nest);
  if (main < 0) return;
  std::vector<ir::BlockId> order = {main};
  for (const ir::BlockId block : nest.blocks_in_order())
    if (block != main && !nest.buffers[nest.blocks[block].writes].constant) order.push_back(block);
  for (const ir::BlockId id : order) {
    const ir::Block& block = nest.blocks[id];
    const ir::Buffer& written = nest.buffers[block.writes];
    BlockPlan own{.plan = Plan(nest, id),
                  .reduces = block.reduce != ir::ReduceOp::kNone,
                  .sparse = reads_sparse_literal(nest, block),
                  .products = false,
                  .held_at = -1,
                  .outside = written.at == ir::kRoot};
    own.products = own.reduces && !own.sparse && operands(nest, block) > 1;
    if (written.scope == ir::Scope::kMemory) {
      const auto& chain = own.plan.footprint_plan().chain();
      own.held_at = static_cast<int>(std::ranges::find(chain, written.at) - chain.begin());
    }
    blocks_.push_back(std::move(own));
  }
  for (std::size_t l = 0; l < nest.loops.size(); ++l)
    if (nest.loops[l].kind == LoopKind::kParallel && !nest.loops[l].body.empty() &&
        !has_parallel_around(nest, static_cast<ir::LoopId>(l)))
      ++regions_;
}

void BlocksPlan::whole(std::span<const Footprint> footprints, float* out) const {
  double reductions = 0, products = 0, work = 0, scratch = 0, held = 0, constants = 0, alone = 0;
  double least = 0;
  for (std::size_t p = 0; p < blocks_.size(); ++p) {
    const BlockPlan& own = blocks_[p];
    const analysis::FootprintPlan& plan = own.plan.footprint_plan();
    const Footprint& f = footprints[p];
    work += f.useful;
    if (own.reduces) reductions += f.useful;
    if (own.products) products += f.useful;
    const double tasks = tasks_of(plan, f);
    if (tasks > 1) least = least == 0 ? tasks : std::min(least, tasks);
    else alone += f.useful;
    for (int s = 1; s < f.slots; ++s)
      if (plan.slots()[s].constant) constants += f.whole[s] * plan.slots()[s].element_bytes;
    if (own.held_at < 0 || f.slots == 0) continue;
    const double bytes = plan.slots()[0].element_bytes;
    if (own.outside || own.held_at >= f.loops) scratch += f.whole[0] * bytes;
    else held += (own.held_at == 0 ? 1 : f.touch[own.held_at - 1][0]) * bytes;
  }
  for (const double value : {reductions, products, work}) *out++ = log2_at_least_one(value);
  *out++ = static_cast<float>(blocks_.size());
  for (const double value : {scratch, held, constants}) *out++ = log2_at_least_one(1 + value);
  *out++ = static_cast<float>(regions_);
  *out++ = log2_at_least_one(least);
  *out++ = log2_at_least_one(1 + alone);
}

void BlocksPlan::columns(const BlockPlan& own, const Footprint& f,
                         std::span<const std::int64_t> values, float* out) const {
  *out++ = 1;
  *out++ = own.reduces ? 1.0F : 0.0F;
  *out++ = own.sparse ? 1.0F : 0.0F;
  context_loops(own.plan.footprint_plan(), f, kBlockLoops, out);
  own.plan.globals(f, values, out + kBlockLoops * kLoopContext);
}

void BlocksPlan::row(std::span<const std::int64_t> values, float* out) const {
  std::fill_n(out, blocks_width(), 0.0F);
  thread_local std::vector<Footprint> footprints;
  thread_local std::vector<std::size_t> order;
  footprints.resize(std::max(footprints.size(), blocks_.size()));
  for (std::size_t p = 0; p < blocks_.size(); ++p)
    blocks_[p].plan.footprint_plan().evaluate(values, footprints[p]);
  whole(footprints, out);
  order.resize(blocks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto has_more = [&](std::size_t a, std::size_t b) {
    const double x = footprints[a].iterations, y = footprints[b].iterations;
    return x > y || (x == y && a < b);
  };
  if (order.size() > 1) std::sort(order.begin() + 1, order.end(), has_more);
  order.resize(std::min<std::size_t>(order.size(), kBlocks));
  out += kWholeWidth;
  for (const std::size_t p : order) {
    columns(blocks_[p], footprints[p], values, out);
    out += block_width();
  }
}

int block_width() { return kBlockHeader + kBlockLoops * kLoopContext + globals_width(); }
int blocks_width() { return kWholeWidth + kBlocks * block_width(); }

std::vector<std::string> blocks_names() {
  std::vector<std::string> names(std::begin(kWholeNames), std::end(kWholeNames));
  std::vector<std::string> block(std::begin(kBlockNames), std::end(kBlockNames));
  std::ranges::copy(context_loop_names(kBlockLoops), std::back_inserter(block));
  std::ranges::copy(global_names(), std::back_inserter(block));
  for (int b = 0; b < kBlocks; ++b)
    for (const std::string& name : block) names.push_back(fmt::format("block{}.{}", b, name));
  return names;
}

}  // namespace lathe::feature
