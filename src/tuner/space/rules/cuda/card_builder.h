// What builders of schedules for cards share: loops bound together, copies in registers, maps that
// follow a result.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/opencl/item_tile.h"

namespace lathe::space {

class CardBuilder : protected Stepper {
 protected:
  using Names = std::vector<std::string>;

  // Vectors of the result have `width` elements along its iterator `vector`.
  CardBuilder(const ItemStage& stage, std::int64_t width, int vector, ir::Nest& nest,
              schedule::Trace& trace, std::set<std::string>& placed);

  const std::string& tensor(int id) const {
    return of_.view->tensors[static_cast<std::size_t>(id)].name;
  }
  const std::string& loop(int iter) const {
    return stage_.iters[static_cast<std::size_t>(iter)].name;
  }
  ir::SizeId width() { return number(width_); }
  bool stores_vectors() const { return std::cmp_equal(vector_dim_ + 1, dims_) && width_ > 1; }

  // The block's own loops, inside the loop `at`; of none: all of them.
  Names loops_of(const std::string& block, const std::string& at) const;
  // Blocks and threads for loops whose extents are numbers. Returns the loop of threads.
  std::string bind_plainly(const std::string& block, Names loops);
  // The dimensions of the result, after `before` others, in vectors or not.
  std::vector<schedule::LayoutItem> dims_in_order(std::size_t before, bool in_vectors) const;
  // Keeps the buffer in registers in one iteration of the loop.
  void keep(const std::string& buffer, const std::string& name, const std::string& at,
            std::size_t before, bool in_vectors);
  // Splits the last of the loops into vectors, of a result that is stored in vectors. Returns the
  // loop of a vector's elements, or none.
  std::string split_lanes(Names& loops);
  // Element-wise maps of the result are computed where it is, in one iteration of the loop, which
  // has vectors of it, or single elements.
  void place_maps(const std::string& at, bool in_vectors);

  const ItemStage& of_;
  const te::Stage& stage_;
  std::set<std::string>& placed_;
  std::string name_;  // of the result
  std::int64_t width_;
  int vector_dim_;    // of the result
  std::size_t dims_;  // of the result
};

}  // namespace lathe::space
