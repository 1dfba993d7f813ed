// Makes the plan of a nest. Internal to plan*.cpp.
#pragma once

#include "compiler/lower/expand/place.h"
#include "compiler/lower/expand/plan.h"

namespace lathe::lower {

class Planner {
 public:
  Planner(const ir::SizedNest& nest, const Limits& limits);
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

  // plan_storage.cpp
  void plan_storage(BufferId id);
  void plan_layout(BufferId id, Storage& storage);
  void fill_padding(BlockId id);
  void plan_borders();
  void plan_prepare();
  void allocate();

  const ir::SizedNest& sized_;
  const ir::Nest& nest_;
  Limits limits_;
  Plan plan_;
  flat::Program program_;
};

}  // namespace lathe::lower
