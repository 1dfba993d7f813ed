#include "tuner/feature/card_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/analysis/tile.h"
#include "compiler/ir/expr/effort.h"
#include "tuner/feature/log2.h"

namespace lathe::feature {
namespace {

using analysis::Footprint;
using analysis::FootprintPlan;
using ir::LoopKind;
using ir::Scope;

constexpr int kWarp = space::card::kWarp, kBanks = 32;
constexpr double kBankBytes = 4, kSectorBytes = 32, kVectorBytes = 16;
// The share of a chunk's wait that a run of a body has which loads from global memory: the first
// cache has it.
constexpr double kCachedWait = 0.1;

constexpr const char* kCardNames[] = {
    "card.threads",      "card.blocks",         "card.resident",          "card.at_once",
    "card.waves",        "card.filled",         "card.warps_a_scheduler", "card.occupancy",
    "card.instructions", "card.shared_cycles",  "card.shared_share",      "card.chunks",
    "card.stages",       "card.last",           "card.block_bytes",       "card.all_bytes",
    "card.registers",    "card.shared_bytes",   "card.multiplies",        "card.multiply_share",
    "card.global_loads", "card.sectors_a_load", "card.memory_bytes",      "card.launches",
    "card.cycles",       "card.all_cycles"};

// Instructions of one evaluation, where an addition is a part of the multiplication before it.
double operations_of(const ir::Block& block) {
  constexpr double kFunction = 12, kDivision = 8;
  double sum = block.reduce == ir::ReduceOp::kNone ? 0 : 1;
  ir::for_each_node(block.body, [&](const ir::Expr& e) {
    if (const auto* unary = std::get_if<ir::Unary>(&e->value))
      sum += ir::effort_of(unary->op) == ir::Effort::kShort ? 1 : kFunction;
    else if (const auto* binary = std::get_if<ir::Binary>(&e->value))
      sum += binary->op == ir::BinaryOp::kDiv || binary->op == ir::BinaryOp::kPow ? kDivision : 1;
    else if (std::holds_alternative<ir::Select>(e->value)) sum += 1;
  });
  const auto* product = std::get_if<ir::Binary>(&block.body->value);
  const bool fused =
      block.reduce == ir::ReduceOp::kSum && product != nullptr && product->op == ir::BinaryOp::kMul;
  return std::max(1.0, fused ? sum - 1 : sum);
}

bool is_of_threads(LoopKind kind) {
  return kind >= LoopKind::kThreadX && kind <= LoopKind::kThreadZ;
}
bool is_of_blocks(LoopKind kind) { return kind >= LoopKind::kBlockX && kind <= LoopKind::kBlockZ; }

LoopLengths lengths_of(const FootprintPlan& plan, const Footprint& f) {
  LoopLengths out;
  for (int l = 0; l < f.loops; ++l) {
    const LoopKind kind = plan.kinds()[static_cast<std::size_t>(l)];
    if (is_of_blocks(kind)) out.blocks *= f.length[l];
    else if (is_of_threads(kind)) out.threads *= f.length[l];
    else if (kind == LoopKind::kItems) out.items *= f.length[l], out.has_items = true;
    else out.others *= f.length[l], out.chunks *= out.has_items ? f.length[l] : 1;
  }
  return out;
}

// Where a warp's threads access a slot, in elements from the first one's place.
std::array<double, kWarp> places_of_warp(const FootprintPlan& plan, const Footprint& f, int slot) {
  std::array<double, kWarp> places{};
  std::array<int, kWarp> left{};
  for (int lane = 0; lane < kWarp; ++lane) left[static_cast<std::size_t>(lane)] = lane;
  for (const LoopKind kind : {LoopKind::kThreadX, LoopKind::kThreadY, LoopKind::kThreadZ})
    for (int l = 0; l < f.loops; ++l) {
      if (plan.kinds()[static_cast<std::size_t>(l)] != kind) continue;
      const int length = std::max(1, static_cast<int>(f.length[l]));
      for (std::size_t lane = 0; lane < kWarp; ++lane) {
        places[lane] += left[lane] % length * f.stride[l][slot];
        left[lane] /= length;
      }
    }
  return places;
}

// How many different units of memory the warp's accesses fall into.
double units_of(std::array<double, kWarp> places, double element_bytes, double unit) {
  for (double& place : places) place = std::floor(place * element_bytes / unit);
  std::ranges::sort(places);
  return static_cast<double>(std::ranges::unique(places).begin() - places.begin());
}

// Cycles of one access to shared memory: the most different words in one bank.
double bank_cycles(std::array<double, kWarp> places, double element_bytes, double access_bytes) {
  constexpr double kFewest = 2;  // of an access of 16 bytes
  const bool wide = access_bytes > kBankBytes;
  const double unit = wide ? kVectorBytes : kBankBytes;
  const int banks = wide ? static_cast<int>(kBanks * kBankBytes / kVectorBytes) : kBanks;
  for (double& place : places) place = std::floor(place * element_bytes / unit);
  std::ranges::sort(places);
  const auto end = std::ranges::unique(places).begin();
  std::array<int, kBanks> in_bank{};
  int most = 1;
  for (auto place = places.begin(); place != end; ++place) {
    const auto bank = static_cast<std::size_t>(std::abs(std::fmod(*place, banks)));
    most = std::max(most, ++in_bank[bank]);
  }
  return wide ? std::max(kFewest, static_cast<double>(most)) : most;
}

// One thread's accesses to a slot in a run of the body, and how many elements each has.
struct Accesses {
  double count = 1, elements = 1;
};
Accesses accesses_of(const FootprintPlan& plan, const Footprint& f, int slot) {
  Accesses out;
  const int body = analysis::body_loops(plan);
  double moves = 1;  // iterations in which the place is another one
  for (int l = 0; l < body; ++l)
    if (f.stride[l][slot] != 0) moves *= f.length[l];
  // What is touched counts all that lies between, too.
  if (body > 0) out.count = std::min(f.touch[body - 1][slot], moves);
  for (int l = 0; l < body; ++l)
    if (plan.kinds()[static_cast<std::size_t>(l)] == LoopKind::kVectorized &&
        std::abs(f.stride[l][slot]) == 1)
      out.elements *= f.length[l];
  const double most = kVectorBytes / plan.slots()[static_cast<std::size_t>(slot)].element_bytes;
  out.elements = std::max(1.0, std::min(out.elements, most));
  out.count /= out.elements;
  return out;
}

bool is_global(Scope scope) {
  return scope == Scope::kInput || scope == Scope::kOutput || scope == Scope::kMemory;
}

// Bytes of a slot that one block of the grid touches.
double bytes_of_block(const FootprintPlan& plan, const Footprint& f, int slot) {
  double touched = 1;
  for (int l = 0; l < f.loops && !is_of_blocks(plan.kinds()[static_cast<std::size_t>(l)]); ++l)
    touched = f.touch[l][slot];
  return touched * plan.slots()[static_cast<std::size_t>(slot)].element_bytes;
}

}  // namespace

CardPlan::CardPlan(const ir::Nest& nest, const CudaTarget& card) : card_(card) {
  std::vector<ir::Item> outermost;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[id];
    const ir::Buffer& written = nest.buffers[block.writes];
    if (written.constant) continue;  // it runs once, in prepare()
    const auto around = nest.loops_around(id);
    const ir::Item top = around.empty() ? ir::Item{ir::Item::Kind::kBlock, id}
                                        : ir::Item{ir::Item::Kind::kLoop, around.front()};
    if (std::ranges::find(outermost, top) == outermost.end()) outermost.push_back(top);
    const auto kernel = std::ranges::find(outermost, top) - outermost.begin();
    blocks_.push_back({.plan = FootprintPlan(nest, id),
                       .writes = written.scope,
                       .kernel = static_cast<std::size_t>(kernel),
                       .reduces = block.reduce != ir::ReduceOp::kNone,
                       .copies = written.scope == Scope::kGroup && written.cache_of >= 0 &&
                                 block.reduce == ir::ReduceOp::kNone,
                       .stages = written.stages,
                       .operations = operations_of(block),
                       .exchanged = {}});
    for (const FootprintPlan::Slot& slot : blocks_.back().plan.slots())
      blocks_.back().exchanged.push_back(slot.scope == Scope::kGroup &&
                                         nest.buffers[slot.buffer].cache_of < 0);
    adds_up_.resize(outermost.size());
    if (blocks_.back().reduces) adds_up_[blocks_.back().kernel] = true;
  }
}

void CardPlan::add(const BlockPlan& own, const Footprint& f, const LoopLengths& n,
                   Kernel& kernel) const {
  space::CardWork& work = kernel.work;
  const FootprintPlan& plan = own.plan;
  const analysis::RegisterTile tile = analysis::register_tile(plan, f);
  const double turns = std::ceil(n.items / work.threads);
  const double iterations = n.others * turns;  // of one thread
  const double of_block = n.others * (n.has_items ? n.items : n.threads);
  const double runs = iterations / (tile.operations * tile.lanes);
  double accesses = 0, global = 0;
  for (int s = 0; s < f.slots; ++s) {
    const FootprintPlan::Slot& slot = plan.slots()[static_cast<std::size_t>(s)];
    if (slot.scope != Scope::kGroup && !is_global(slot.scope)) continue;
    const Accesses each = accesses_of(plan, f, s);
    const double bytes = slot.element_bytes, count = runs * each.count;
    accesses += count;
    if (own.copies || own.exchanged[static_cast<std::size_t>(s)]) continue;
    const auto places = places_of_warp(plan, f, s);
    if (slot.scope == Scope::kGroup) {
      work.shared_cycles += count * bank_cycles(places, bytes, each.elements * bytes);
      continue;
    }
    if (s > 0) global += count;
    kernel.global_loads += count;
    kernel.global_sectors += count * each.elements * units_of(places, bytes, kSectorBytes);
    work.staged += bytes_of_block(plan, f, s);
    work.memory += f.whole[s] * bytes;
  }
  if (own.copies) {
    const int element = plan.slots()[0].element_bytes;
    work.instructions += space::card::kCopyInstructions * iterations / tile.lanes;
    work.staged += of_block * element;
    work.chunks = std::max(work.chunks, n.chunks);
    work.stages = std::max(work.stages, own.stages);
    work.shared += of_block / n.chunks * element * own.stages;
    for (int s = 1; s < f.slots; ++s) work.memory += f.whole[s] * element;
    return;
  }
  kernel.multiplies += iterations;
  work.instructions +=
      iterations * own.operations + accesses + space::card::kRunInstructions * runs;
  if (global > 0 && own.reduces) work.chunks += kCachedWait * runs;
  if (own.writes == Scope::kGroup) {
    work.shared += of_block * plan.slots()[0].element_bytes;
    work.last += 2 * of_block / kWarp;
  } else if (!own.reduces && is_global(own.writes) && adds_up_[own.kernel] && work.last == 0) {
    work.last = of_block / kWarp;
  }
  const double operands = tile.vector_loads * tile.lanes + tile.scalar_loads;
  const double sums = tile.accumulators * tile.lanes;
  work.registers = std::max(work.registers, sums + operands / 2 + space::card::kOtherRegisters);
}

std::vector<Kernel> CardPlan::kernels(std::span<const std::int64_t> values) const {
  std::vector<Kernel> out(adds_up_.size());
  thread_local std::vector<Footprint> footprints;
  thread_local std::vector<LoopLengths> lengths;
  footprints.resize(std::max(footprints.size(), blocks_.size()));
  lengths.resize(footprints.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].plan.evaluate(values, footprints[b]);
    lengths[b] = lengths_of(blocks_[b].plan, footprints[b]);
    space::CardWork& work = out[blocks_[b].kernel].work;
    work.threads = std::max(work.threads, lengths[b].threads);
    work.blocks = std::max(work.blocks, lengths[b].blocks);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    add(blocks_[b], footprints[b], lengths[b], out[blocks_[b].kernel]);
  for (Kernel& kernel : out) {
    space::CardWork& work = kernel.work;
    work.instructions += space::card::kChunkInstructions * work.chunks;
    kernel.cycles = space::cycles_of(work, card_);
  }
  return out;
}

namespace {

double cycles_of_all(std::span<const Kernel> kernels) {
  double sum = space::kLaunchCycles;
  for (const Kernel& kernel : kernels) sum += kernel.cycles;
  const std::size_t next = std::max<std::size_t>(1, kernels.size()) - 1;
  return sum + space::kNextKernelCycles * static_cast<double>(next);
}

}  // namespace

double CardPlan::cycles(std::span<const std::int64_t> values) const {
  return cycles_of_all(kernels(values));
}

void CardPlan::columns(std::span<const std::int64_t> values, float* out) const {
  std::fill_n(out, card_width(), 0.0F);
  const auto all = kernels(values);
  if (all.empty()) return;
  const Kernel& most = *std::ranges::max_element(all, {}, &Kernel::cycles);
  const space::CardWork& work = most.work;
  const space::CardWaves on = space::waves_of(work, card_);
  const double filled = work.blocks / card_.multiprocessors;
  double memory = 0;
  for (const Kernel& kernel : all) memory += kernel.work.memory;
  const auto plain = [&](double value) { *out++ = static_cast<float>(value); };
  const auto log = [&](double value) { *out++ = log2_at_least_one(1 + value); };
  log(work.threads), log(work.blocks), plain(on.resident), plain(on.at_once), log(on.waves);
  plain(filled / std::ceil(filled)), plain(on.a_scheduler);
  plain(on.at_once * work.threads / card_.threads);
  log(work.instructions), log(work.shared_cycles);
  plain(work.shared_cycles / std::max(1.0, work.instructions));
  log(work.chunks), plain(work.stages), log(work.last);
  log(work.staged), log(work.staged * work.blocks), plain(work.registers), log(work.shared);
  log(most.multiplies), plain(most.multiplies / std::max(1.0, work.instructions));
  log(most.global_loads), plain(most.global_sectors / std::max(1.0, most.global_loads));
  log(memory), plain(static_cast<double>(all.size()));
  log(most.cycles), log(cycles_of_all(all));
}

int card_width() { return static_cast<int>(std::size(kCardNames)); }
std::vector<std::string> card_names() { return {std::begin(kCardNames), std::end(kCardNames)}; }

}  // namespace lathe::feature
