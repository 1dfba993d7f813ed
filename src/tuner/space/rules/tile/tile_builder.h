// Builds the sketch of one tiled stage, step by step; only its own sources include this.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/shared/stepper.h"
#include "tuner/space/rules/tile/register_tile.h"

namespace lathe::space {

// The program while the sketch is built.
struct Draft {
  ir::Nest nest;
  schedule::Trace trace;
  std::set<std::string> placed;  // blocks that have their schedule already
  int threads = 1;               // that may share what there is to do
};

class TileBuilder : private Stepper {
 public:
  // `values` are those of the space's knobs.
  TileBuilder(const TiledStage& tiled, std::span<const std::int64_t> values, Draft& draft);
  void free_layouts();
  void tile();

 private:
  std::size_t choice_number(int knob) const {
    return knob < 0 ? 0 : static_cast<std::size_t>(tiled_.choice(knob, values_));
  }
  // What the knob chooses among these; `none` where this program has no such knob.
  template <class Choice>
  Choice choice(int knob, const std::vector<Choice>& choices, Choice none) const {
    return knob < 0 ? none : choices[choice_number(knob)];
  }
  // Constants are copied beforehand, or not at all.
  Packing packing(int knob, const std::vector<Packing>& choices, const ir::Read* operand) const {
    const Packing chosen = choice(knob, choices, Packing::kNone);
    return chosen == Packing::kBlock && is_constant(rule_, operand) ? Packing::kWhole : chosen;
  }
  Packing weight_packing() const {
    const bool whole =
        rule_.at.pack_w >= 0 && rule_.packs_constants && is_constant(rule_, axes_.weights);
    return whole ? Packing::kWhole : packing(rule_.at.pack_w, rule_.weight_packings, axes_.weights);
  }
  Packing input_packing() const {
    return packing(rule_.at.pack_x, rule_.input_packings, axes_.input);
  }
  bool taps_outside() const {
    return choice(rule_.at.taps, rule_.reduce_orders, ReduceOrder::kChannelsOutside) ==
           ReduceOrder::kTapsOutside;
  }
  SharedLoop shared_loop() const {
    return choice(rule_.at.parallel, rule_.shared_loops, SharedLoop::kNone);
  }
  ir::SizeId size(int knob);
  const std::string& loop_of(int iter) const {
    return stage_.iters[static_cast<std::size_t>(iter)].name;
  }
  const std::string& tensor(int id) const {
    return rule_.workload.tensors[static_cast<std::size_t>(id)].name;
  }
  int dim_of(const ir::Read* read, int iter) const {
    return iter < 0 ? -1 : dim_along(axes_, read->index, iter);
  }

  // tile_builder.cpp: the loops
  void split_in_blocks(int iter, ir::SizeId tile, ir::SizeId block);
  void split_axes();
  void order_loops();
  std::vector<std::string> block_loops(TileAxis axis) const;
  std::string innermost_block(TileAxis axis) const;
  std::vector<schedule::LayoutItem> tile_layout(std::size_t dims, int vector_dim);
  void cache_accumulators();
  void annotate_tile();
  std::vector<std::string> move_behind_tile(const std::string& name);
  void fuse_consumers();
  void fuse_lane_sum();
  void parallelise();

  // tile_copies.cpp: operands in the order in which the loops read them
  void pack_weights();
  void pack_input();
  std::string copy_name(int source, const std::string& suffix) const;
  bool pack(int source, const std::string& name, const std::string& loop,
            const std::vector<schedule::LayoutItem>& items);
  void transpose_in_blocks(int source, const std::vector<schedule::LayoutItem>& items,
                           const std::vector<int>& digits, const std::vector<std::string>& loops);
  void prefetch_weights();
  void prefetch_panels();

  const TiledStage& tiled_;
  const TileRule& rule_;
  std::span<const std::int64_t> values_;
  const Axes& axes_;
  const te::Stage& stage_;
  Draft& draft_;
  std::string target_, tile_loop_, packed_weights_;
  std::vector<TileAxis> block_order_;
};

}  // namespace lathe::space
