// The schedules of a program on a grid: knobs for the stage with most work, fixed tiles for the
// others. Long sums with few results are cut in parts, a kernel that sums the parts and one that
// sums these up.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/opencl/grid_context.h"
#include "tuner/space/rules/opencl/item_tile.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// Numbers of the knobs; -1: this program has no such knob.
struct ItemKnobs {
  int width = -1, v = -1, p0 = -1, p1 = -1, group_x = -1, group_y = -1, unroll = -1;
  int reduce = -1, pack = -1, chunk = -1;
};

// A program whose stages go on grids.
class ItemProgram {
 public:
  // `staged`: the main stage's operands go through memory of the group.
  ItemProgram(Prepared prepared, const Grids& grids, bool staged = false);

  // False if its main stage has no axis but reductions.
  bool has_axes() const { return main_.axes.vector >= 0; }
  // True if items of a group read the same elements of the main stage's operands.
  bool has_shared_reads() const;
  // Adds the knobs of the main stage, named with `prefix`, after those of before.
  void list_knobs(const std::string& prefix, std::vector<Knob>& knobs);
  // Has the same knobs as another program, whose tiles are alike.
  void share_knobs(const ItemProgram& other) { at_ = other.at_; }
  // Of the default space also what keeps a tile in registers.
  void constrain(Flavour flavour, Derived& derived) const;
  void set_start(const std::vector<Knob>& knobs, std::vector<std::int64_t>& start) const;
  Result<Sketch> build(const std::vector<Knob>& knobs, std::span<const std::int64_t> values) const;

 private:
  void constrain_staged(Derived& derived) const;
  ir::SizeId staged_reach(int iter, Derived& derived) const;
  ir::SizeId staged_extent(const std::vector<const ir::Read*>& reads, std::size_t dim,
                           Derived& derived) const;
  ItemSizes sizes_of_main(const std::vector<Knob>& knobs, std::span<const std::int64_t> values,
                          ir::Nest& nest) const;

  std::shared_ptr<const Prepared> prepared_;  // stages refer to its view
  Grids grids_;
  bool staged_;
  ItemStage main_;
  ItemKnobs at_;
};

// The steps with which every schedule on a grid begins. `in_parts`: long sums are cut.
Prepared prepare_for_grid(const te::Workload& workload, bool in_parts);

// Puts the stages that are not among `placed` on grids, with fixed tiles. Throws StepRefused.
void put_others_on_grid(const te::Workload& view, const Grids& grids, ir::Nest& nest,
                        schedule::Trace& trace, std::set<std::string>& placed);
// The sketch in which `lead` puts stages on grids and notes them in `placed`, and then all others
// are put there. What `lead` throws as StepRefused is its error.
using LeadOnGrid = std::function<void(Sketch& sketch, std::set<std::string>& placed)>;
Result<Sketch> sketch_on_grid(const Prepared& prepared, const Grids& grids, const LeadOnGrid& lead);

Result<Derived> derive_items(const GridContext& context);
std::span<const Meaning> item_meanings();

// Sums in parts, as a knob of the space; nothing where none is long.
Result<std::unique_ptr<Alternatives>> offer_tree(const GridContext& context);
std::span<const Meaning> tree_meanings();

// Operands that go through memory of the group, as a knob of the space; nothing where items share
// none, or where the device has no such memory of its own.
Result<std::unique_ptr<Alternatives>> offer_stage(const GridContext& context);
std::span<const Meaning> stage_meanings();

}  // namespace lathe::space
