// Makes the plan of a nest. Internal to plan*.cpp.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/lower/expand/place.h"
#include "compiler/lower/expand/plan.h"

namespace lathe::lower {

class Planner {
 public:
  Planner(const ir::SizedNest& nest, const Limits& limits, const std::optional<Grids>& grids);
  Planned run();

 private:
  // plan_blocks.cpp
  void plan_blocks();
  void add_borders(BlockId id);
  void plan_reductions(BlockId id);
  bool leaves_out_terms(BlockId id, LoopId loop) const;
  void plan_consumers(BlockId id);
  void inherit_waits(BlockId id);
  void drop_dead_write_backs();

  // plan_spread.cpp
  void plan_spread();
  std::int64_t places_in_layout(BufferId id, const SpreadDigit& own) const;
  void check_own(BlockId id, const ir::Read& read) const;
  void drop_spread_digits(BufferId id, Storage& storage) const;

  // plan_storage.cpp
  void plan_storage(BufferId id);
  void plan_layout(BufferId id, Storage& storage);
  void join_digits(Storage& storage);
  void fill_padding(BlockId id);
  void plan_borders();
  void plan_prepare();
  void allocate();
  void check_grid_around(const ir::Buffer& buffer) const;
  void place_in_group(BufferId id, flat::Buffer& made);

  // plan_shared.cpp
  void share_outputs();
  bool fills_output(BlockId last) const;
  bool may_lie_in_output(BufferId id, BlockId last) const;
  std::vector<BlockId> readers_of(BufferId id) const;
  std::optional<BlockId> only_writer_of(BufferId id) const;
  bool writes_once(BlockId id) const;
  bool covers(BlockId block, BufferId id) const;
  bool runs_last(BlockId last, BufferId id, const std::vector<BlockId>& others) const;

  const ir::SizedNest& sized_;
  const ir::Nest& nest_;
  Limits limits_;
  Plan plan_;
  flat::Program program_;
  std::map<LoopId, std::int64_t> group_bytes_;  // so far, by the loop at the top of the nest
};

}  // namespace lathe::lower
