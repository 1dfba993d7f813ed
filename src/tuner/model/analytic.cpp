#include "tuner/model/analytic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/analysis/tile.h"
#include "compiler/cook_toom/sums.h"
#include "tuner/space/costs.h"

namespace lathe::model {
namespace {

using analysis::Footprint;
using ir::LoopKind;

bool writes_registers(const analysis::FootprintPlan& plan) {
  return !plan.slots().empty() && plan.slots()[0].scope == ir::Scope::kRegister;
}

// The rows of the sparse literal that the block reads, each of the factors of one result: their
// last dimensions are those that the block sums over. None if it reads none.
std::vector<std::vector<double>> sparse_rows(const ir::Nest& nest, const ir::Block& block) {
  std::vector<std::vector<double>> rows;
  for (const ir::Read* read : ir::reads_of(block.body)) {
    const ir::Buffer& buffer = nest.buffers[read->tensor];
    if (!buffer.sparse) continue;
    std::int64_t columns = 1;
    for (std::size_t d = buffer.shape.size(); d-- > 0;) {
      const bool reduces = std::ranges::any_of(read->index[d].terms, [&](const ir::AffineTerm& t) {
        return block.iters[static_cast<std::size_t>(t.iter)].kind == ir::IterKind::kReduce;
      });
      if (!reduces) break;
      columns *= nest.sizes.constant_value(buffer.shape[d]);
    }
    for (auto at = buffer.literal.begin(); at != buffer.literal.end(); at += columns)
      rows.emplace_back(at, at + columns);
  }
  return rows;
}

}  // namespace

namespace {

Core core_of_cpu(const CpuTarget& cpu, const CpuFingerprint& own) {
  Core m;
  if (cpu.vector_bits > 0) m.vector_bytes = cpu.vector_bits / 8;
  if (cpu.vector_registers > 0) m.registers = cpu.vector_registers;
  m.threads = std::max(1, cpu.threads);
  if (own.l1d_bytes > 0) m.l1_bytes = static_cast<double>(own.l1d_bytes);
  if (own.l2_bytes > 0) m.l2_bytes = static_cast<double>(own.l2_bytes);
  if (own.l3_bytes > 0) m.l3_bytes = static_cast<double>(own.l3_bytes);
  return m;
}

// One item: devices do not tell more.
Core core_of_item(const Target& device) {
  constexpr int kRegisters = 64, kElement = 4;
  Core m;
  m.vector_bytes = kElement * device.lanes(kElement);
  m.registers = kRegisters;
  return m;
}

}  // namespace

Core core_of(const Target& target, const Fingerprint& fingerprint) {
  if (target.grids()) return core_of_item(target);
  return core_of_cpu(target.as_cpu(), fingerprint.as_cpu());
}

AnalyticModel::AnalyticModel(const ir::Nest& nest, const Core& core) : core_(core) {
  for (const ir::Buffer& buffer : nest.buffers)
    if (buffer.scope == ir::Scope::kInput || buffer.scope == ir::Scope::kOutput)
      touched_ += analysis::bytes_of(nest, buffer);
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[id];
    if (nest.buffers[block.writes].constant) continue;  // it runs once, in prepare()
    BlockWork part{analysis::FootprintPlan(nest, id), block.reduce != ir::ReduceOp::kNone};
    if (const ir::Buffer& written = nest.buffers[block.writes];
        written.scope == ir::Scope::kOutput) {
      part.stored = analysis::bytes_of(nest, written);
      part.streaming = written.streaming;
    }
    if (const auto rows = sparse_rows(nest, block); !rows.empty()) {
      const auto results = static_cast<double>(rows.size());
      const auto values = static_cast<double>(rows[0].size());
      part.operations = cook_toom::share_sums(rows).operations() / (results * values);
      part.accesses = 1 / results + 1 / values;
    }
    parts_.push_back(std::move(part));
  }
}

double AnalyticModel::core_cycles(const BlockWork& part, const Footprint& f) const {
  const analysis::RegisterTile tile = analysis::register_tile(part.plan, f);
  const int element = part.plan.slots().empty() ? 4 : part.plan.slots()[0].element_bytes;
  const double hardware_lanes = std::max(1.0, static_cast<double>(core_.vector_bytes) / element);
  const double vectors = tile.lanes > 1 ? std::ceil(tile.lanes / hardware_lanes) : 1;
  // A peeled tail does only useful work, but in tiles smaller than efficient ones: count halfway
  // between useful and all iterations.
  const double operations = (f.iterations + f.useful) / 2 / tile.lanes * vectors;

  const double accumulators = tile.accumulators * vectors;
  double arithmetic = operations / core_.operations_per_cycle;
  if (part.reduces)
    arithmetic *= std::max(1.0, core_.latency * core_.operations_per_cycle / accumulators);

  // For each operation.
  double loads = (tile.vector_loads * vectors + tile.scalar_loads) / accumulators;
  if (!part.reduces) loads += 1;
  if (part.reduces && !writes_registers(part.plan)) loads += 2;
  const double too_many = accumulators + tile.kept - core_.registers;
  if (too_many > 0) loads += 2 * too_many / accumulators;
  // Lanes that are not neighbours in memory are loaded or stored one by one.
  for (int s = 0; s < f.slots && tile.lanes > 1; ++s)
    if (part.plan.slots()[s].scope != ir::Scope::kRegister && std::abs(f.stride[0][s]) > 1)
      loads += tile.lanes;

  const double runs = f.iterations / (tile.lanes * tile.operations);
  const int body = analysis::body_loops(part.plan);
  const double exits = body < f.loops ? f.top_down[body] : 0;
  const double loading = operations * loads / core_.loads_per_cycle;
  return std::max(arithmetic, loading) + core_.hidden_share * std::min(arithmetic, loading) +
         core_.entry_cycles * runs + core_.exit_cycles * exits;
}

// Values are loaded and results stored once each, in lanes.
double AnalyticModel::sparse_cycles(const BlockWork& part, const Footprint& f) const {
  const analysis::RegisterTile tile = analysis::register_tile(part.plan, f);
  constexpr int kUsual = 4;  // bytes, where accesses have more dimensions than are looked at
  const auto& slots = part.plan.slots();
  const int element = slots.empty() ? kUsual : slots[0].element_bytes;
  const double hardware_lanes = std::max(1.0, static_cast<double>(core_.vector_bytes) / element);
  const double lanes = std::min(tile.lanes, hardware_lanes);
  const double arithmetic = f.useful * part.operations / lanes / core_.operations_per_cycle;
  double accesses = f.useful * part.accesses / lanes;
  for (int s = 0; s < f.slots && tile.lanes > 1; ++s)
    if (std::abs(f.stride[0][s]) > 1) accesses *= lanes;
  const double moving = accesses / core_.loads_per_cycle;
  return std::max(arithmetic, moving) + core_.hidden_share * std::min(arithmetic, moving);
}

double AnalyticModel::memory_cycles(const BlockWork& part, const Footprint& f, double core) const {
  // A line that no cache holds is read before it is stored to. What goes past the caches is not,
  // but must come from memory when it is used next.
  const bool held = touched_ <= core_.l3_bytes;
  const double again = held == part.streaming ? part.stored : 0;
  const double times[] = {core, analysis::traffic(part.plan, f, core_.l1_bytes) / core_.l2_rate,
                          analysis::traffic(part.plan, f, core_.l2_bytes) /
                              (core_.l3_rate * space::share_of_l3(core_.threads)),
                          (analysis::traffic(part.plan, f, core_.l3_bytes) + again) /
                              (core_.memory_rate * space::share_of_memory(core_.threads))};
  double sum = 0, slowest = 0;
  for (const double t : times) {
    sum += t;
    slowest = std::max(slowest, t);
  }
  return slowest + core_.hidden_share * (sum - slowest);
}

double AnalyticModel::cycles(std::span<const std::int64_t> values) const {
  double total = 0, most_tasks = 1;
  std::map<ir::LoopId, double> phases;  // by the outermost loop that is shared: how often each runs
  Footprint f;
  for (const BlockWork& part : parts_) {
    part.plan.evaluate(values, f, 1);
    const double core = part.operations > 0 ? sparse_cycles(part, f) : core_cycles(part, f);
    double time = memory_cycles(part, f, core);
    double tasks = 1, around = 1;  // iterations of parallel loops, and of those around them
    auto shared = ir::LoopId{-1};
    for (int l = f.loops; l-- > 0;)
      if (part.plan.kinds()[l] == LoopKind::kParallel) {
        if (tasks == 1) shared = part.plan.chain()[static_cast<std::size_t>(l)];
        tasks *= f.length[l];
      } else if (tasks == 1) {
        around *= f.length[l];
      }
    time *= std::ceil(tasks / core_.threads) / tasks;
    if (tasks > 1) phases[shared] = around;
    most_tasks = std::max(most_tasks, tasks);
    total += time;
  }
  if (phases.empty() || core_.threads == 1) return total;
  double barriers = -1;  // the first one ends the start
  for (const auto& [loop, runs] : phases) barriers += runs;
  // A program wakes no more threads than it has parts.
  const int used = static_cast<int>(std::min<double>(core_.threads, most_tasks));
  return total + space::start_cycles(used) + barriers * space::meet_cycles(used);
}

}  // namespace lathe::model
