#include "tuner/feature/plan.h"

#include <algorithm>
#include <cmath>

#include "compiler/analysis/tile.h"
#include "tuner/feature/log2.h"

namespace lathe::feature {
namespace {

using analysis::Footprint;
using ir::LoopKind;

constexpr int kPerSlotGlobals = 2;
constexpr const char* kGlobalNames[] = {
    "accumulators",  "vector_loads", "scalar_loads",  "registers",  "body_fmas",
    "loads_per_fma", "lanes",        "lane_bytes",    "l1_traffic", "l2_traffic",
    "l3_traffic",    "bytes",        "weight_bytes",  "parallel",   "task",
    "idle_of_2",     "idle_of_4",    "idle_of_8",     "waste",      "work",
    "copy_work",     "other_work",   "scratch_bytes", "prefetch",   "in_registers"};
constexpr int kGlobals = static_cast<int>(std::size(kGlobalNames));

// The share of the threads' time that is lost when `tasks` equal tasks are dealt to `threads`.
float idle(double tasks, double threads) {
  const double rounds = std::ceil(tasks / threads);
  return static_cast<float>(1 - tasks / (rounds * threads));
}

// An output counts half of what it would with a store that reads its line first.
double traffic_left(const ir::Nest& nest) {
  double all = 0, streamed = 0;
  for (const ir::Buffer& buffer : nest.buffers) {
    if (buffer.scope != ir::Scope::kInput && buffer.scope != ir::Scope::kOutput) continue;
    const double bytes = analysis::bytes_of(nest, buffer);
    all += bytes;
    if (buffer.streaming) streamed += bytes;
  }
  return streamed > 0 ? 1 - streamed / all / 2 : 1;
}

// Writes a loop of length one, outside of all loops that the block has.
void missing_loop(const Footprint& f, float* out) {
  std::fill_n(out, kLoopContext, 0.0F);
  out[kLoopHeader + 1] = log2_at_least_one(f.iterations);
  float* slot = out + kLoopHeader + 2;
  for (int s = 0; s < kSlots; ++s, slot += kSlotWidth) {
    slot[2] = kNoStride;
    if (s >= f.slots) continue;
    slot[0] = log2_at_least_one(f.whole[s]);
    slot[1] = log2_of(static_cast<float>(f.iterations / f.whole[s]));
  }
}

}  // namespace

Plan::Plan(const ir::Nest& nest) : Plan(nest, analysis::main_block(nest)) {
  for (const ir::BlockId id : nest.blocks_in_order()) {
    if (id == main_.block()) continue;
    const ir::Block& block = nest.blocks[id];
    const ir::Buffer& written = nest.buffers[block.writes];
    if (written.constant) continue;  // it runs once, in prepare()
    std::vector<ir::SizeId> extents;
    for (const ir::LoopId loop : nest.loops_around(id)) extents.push_back(nest.loops[loop].extent);
    const bool copy = written.cache_of >= 0 && written.scope == ir::Scope::kMemory;
    (copy ? copies_ : others_).push_back(std::move(extents));
  }
}

Plan::Plan(const ir::Nest& nest, ir::BlockId block)
    : main_(nest, block), traffic_left_(traffic_left(nest)) {
  for (const auto& slot : main_.slots()) {
    const auto at = std::ranges::find(main_.chain(), nest.buffers[slot.buffer].at);
    held_at_.push_back(slot.copied ? static_cast<int>(at - main_.chain().begin()) : -1);
  }
  for (const ir::LoopId loop : main_.chain())
    for (const ir::Prefetch& p : nest.loops[loop].prefetch) prefetch_.push_back(p.bytes);
}

double Plan::work(const std::vector<std::vector<ir::SizeId>>& blocks,
                  std::span<const std::int64_t> values) const {
  double sum = 0;
  for (const std::vector<ir::SizeId>& extents : blocks) {
    double product = 1;
    for (const ir::SizeId id : extents)
      product *= static_cast<double>(values[static_cast<std::size_t>(id)]);
    sum += product;
  }
  return sum;
}

void Plan::globals(const Footprint& f, std::span<const std::int64_t> values, float* out) const {
  const analysis::RegisterTile tile = analysis::register_tile(main_, f);
  *out++ = static_cast<float>(tile.accumulators);
  *out++ = static_cast<float>(tile.vector_loads);
  *out++ = static_cast<float>(tile.scalar_loads);
  *out++ = static_cast<float>(tile.registers());
  *out++ = log2_at_least_one(tile.operations);
  *out++ = static_cast<float>((tile.vector_loads + tile.scalar_loads) / tile.accumulators);
  *out++ = log2_at_least_one(tile.lanes);
  *out++ = log2_at_least_one(tile.lanes * (f.slots > 0 ? main_.slots()[0].element_bytes : 1));
  for (const double cache : kCacheBytes)
    *out++ =
        log2_of(static_cast<float>(analysis::traffic(main_, f, cache) * traffic_left_ / f.useful));
  double bytes = 0, weights = 0, parallel = 1, scratch = 0, ahead = 0;
  for (const ir::SizeId id : prefetch_)
    ahead += static_cast<double>(values[static_cast<std::size_t>(id)]);
  for (int s = 0; s < f.slots; ++s) {
    const auto& slot = main_.slots()[s];
    bytes += f.whole[s] * slot.element_bytes;
    if (slot.constant) weights += f.whole[s] * slot.element_bytes;
    if (held_at_[s] < 0) continue;
    const bool all = held_at_[s] >= f.loops;
    const double held = all ? f.whole[s] : held_at_[s] == 0 ? 1 : f.touch[held_at_[s] - 1][s];
    scratch += held * slot.element_bytes;
  }
  for (int l = 0; l < f.loops; ++l)
    if (ir::is_concurrent(main_.kinds()[l])) parallel *= f.length[l];
  *out++ = log2_at_least_one(bytes);
  *out++ = log2_at_least_one(1 + weights);
  *out++ = log2_at_least_one(parallel);
  *out++ = log2_at_least_one(f.iterations / parallel);
  for (const double threads : {2.0, 4.0, 8.0}) *out++ = idle(parallel, threads);
  *out++ = log2_of(static_cast<float>(f.iterations / f.useful));
  *out++ = log2_at_least_one(f.useful);
  *out++ = log2_at_least_one(1 + work(copies_, values));
  *out++ = log2_at_least_one(1 + work(others_, values));
  *out++ = log2_at_least_one(1 + scratch);
  *out++ = log2_at_least_one(1 + ahead);
  *out++ = f.slots > 0 && main_.slots()[0].scope == ir::Scope::kRegister ? 1.0F : 0.0F;
  for (int s = 0; s < kSlots; ++s) {
    *out++ = s < f.slots && main_.slots()[s].copied ? 1.0F : 0.0F;
    *out++ = s < f.slots && main_.slots()[s].constant ? 1.0F : 0.0F;
  }
}

int globals_width() { return kGlobals + kSlots * kPerSlotGlobals; }
int context_width() { return kLoops * kLoopContext + globals_width(); }
int relation_width() { return 2 * kSlots * kThresholds; }

void context_loops(const analysis::FootprintPlan& plan, const Footprint& f, int loops, float* out) {
  for (int l = 0; l < loops; ++l) {
    float* loop = out + (loops - 1 - l) * kLoopContext;
    if (l < f.loops) loop_context(plan, f, l, loop);
    else missing_loop(f, loop);
  }
}

void context_row(const Plan& plan, std::span<const std::int64_t> values, float* out) {
  Footprint f;
  plan.main_.evaluate(values, f);
  context_loops(plan.main_, f, kLoops, out);
  plan.globals(f, values, out + kLoops * kLoopContext);
}

void relation_row(const Plan& plan, std::span<const std::int64_t> values, float* out) {
  Footprint f;
  plan.main_.evaluate(values, f);
  std::fill_n(out, relation_width(), kNoLoop);
  for (int s = 0; s < std::min(f.slots, kSlots); ++s) {
    float* reuse = out + 2 * s * kThresholds;
    float* seldom = reuse + kThresholds;
    for (int l = 0; l < f.loops; ++l) {
      // The first threshold above the touch count. Later thresholds are filled in below.
      const float touch = log2_at_least_one(f.touch[l][s]);
      const int t = static_cast<int>(touch / static_cast<float>(kThresholdStep));
      if (t >= kThresholds) continue;
      reuse[t] = std::max(reuse[t], log2_of(static_cast<float>(f.reuse(l, s))));
      seldom[t] = std::max(seldom[t], -log2_at_least_one(f.top_down[l]));
    }
    for (int t = 1; t < kThresholds; ++t) {
      reuse[t] = std::max(reuse[t], reuse[t - 1]);
      seldom[t] = std::max(seldom[t], seldom[t - 1]);
    }
  }
}

std::vector<std::string> context_loop_names(int loops) {
  std::vector<std::string> names;
  for (int l = loops; l-- > 0;)  // 0 is the innermost
    for (const std::string& name : loop_context_names())
      names.push_back(fmt::format("loop{}.{}", l, name));
  return names;
}

std::vector<std::string> global_names() {
  std::vector<std::string> names(std::begin(kGlobalNames), std::end(kGlobalNames));
  for (int s = 0; s < kSlots; ++s)
    for (const char* what : {"copied", "constant"})
      names.push_back(fmt::format("buffer{}.{}", s, what));
  return names;
}

std::vector<std::string> context_names() {
  std::vector<std::string> names = context_loop_names(kLoops);
  std::ranges::copy(global_names(), std::back_inserter(names));
  return names;
}

std::vector<std::string> relation_names() {
  std::vector<std::string> names;
  for (int s = 0; s < kSlots; ++s)
    for (const char* what : {"reuse", "seldom"})
      for (int t = 1; t <= kThresholds; ++t)
        names.push_back(fmt::format("buffer{}.{}.below_2^{}", s, what, kThresholdStep * t));
  return names;
}

}  // namespace lathe::feature
