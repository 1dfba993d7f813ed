// What a card does with a nest: for each kernel the numbers of tuner/space/card_cost.h, counted
// from the footprints of its blocks. Features and scores before anything is measured come from
// these.
//
// A kernel is what lies in one of the nest's outermost loops. A warp is 32 threads in the order of
// threadIdx.x, y, z; what it loads from shared memory at once costs as many cycles as the most
// addresses that fall into one of 32 banks, of 4 bytes each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/target.h"
#include "compiler/analysis/footprint.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/space/card_cost.h"

namespace lathe::feature {

// Products of the lengths of a block's loops, by kind.
struct LoopLengths {
  double blocks = 1, threads = 1, items = 1, others = 1;
  double chunks = 1;  // of others, those around the loop of items
  bool has_items = false;
};

// A kernel's work, and what features tell beside it.
struct Kernel {
  space::CardWork work;
  double cycles = 0;          // by the model of a card
  double multiplies = 0;      // iterations of all blocks that compute, of one thread
  double global_loads = 0;    // accesses of one thread to what lies in global memory
  double global_sectors = 0;  // of 32 bytes, that one warp touches by these
};

// Thread-safe.
class CardPlan {
 public:
  CardPlan(const ir::Nest& nest, const CudaTarget& card);

  // One entry a kernel, in their order. `values` are the values of the nest's sizes.
  std::vector<Kernel> kernels(std::span<const std::int64_t> values) const;
  // Of all kernels, with their launches.
  double cycles(std::span<const std::int64_t> values) const;
  // Writes card_width() columns: of the kernel that takes longest, and of all.
  void columns(std::span<const std::int64_t> values, float* out) const;

 private:
  struct BlockPlan {
    analysis::FootprintPlan plan;
    ir::Scope writes;
    std::size_t kernel;
    bool reduces, copies;  // copies: it brings a tensor into memory of the group
    int stages;            // of that
    double operations;     // of one iteration: a multiplication and an addition count as one
    // By slot: threads hand it to each other through memory of the group.
    std::vector<bool> exchanged;
  };
  void add(const BlockPlan& own, const analysis::Footprint& f, const LoopLengths& n,
           Kernel& kernel) const;

  CudaTarget card_;
  std::vector<BlockPlan> blocks_;
  std::vector<bool> adds_up_;  // by kernel: it has a reduction
};

int card_width();
std::vector<std::string> card_names();

}  // namespace lathe::feature
