// Stages that go through rows together, as those of softmax and of norms: each row's reductions and
// what is computed of its elements. All of them can be one kernel, for no row needs another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::space {

// A stage's iterators, by axis.
struct RowStage {
  int stage = -1;
  std::vector<int> rows;   // over rows, outermost first
  std::vector<int> along;  // along a row, the contiguous one last; none: it has one value for a row
};

// A tensor that is read or computed along rows; dimensions of rows come in any order.
struct RowTensor {
  int tensor = -1;
  int row_dim = -1;             // that the last axis of rows goes through; -1: none
  std::vector<int> along_dims;  // that the axes along a row go through; -1: none
  bool alone = true;  // each thread needs its own elements alone, none at a fixed place of the row
};

struct RowStages {
  const te::Workload* view = nullptr;
  std::vector<RowStage> stages;     // in their order
  std::int64_t rows = 1, far = 1;   // along the last axis of rows, and along all others
  std::vector<std::int64_t> along;  // extents of axes along a row, the contiguous one last
  std::vector<RowTensor> inputs;    // that several stages read along rows
  std::vector<RowTensor> maps;      // that stages compute along rows for later ones
  std::int64_t width = 1;           // of vectors along a row, at most

  const te::Stage& stage(const RowStage& of) const {
    return view->stages[static_cast<std::size_t>(of.stage)];
  }
  const std::string& name(int tensor) const {
    return view->tensors[static_cast<std::size_t>(tensor)].name;
  }
  std::int64_t length() const { return along.back(); }
  std::int64_t beside() const;  // elements of a row for one along the contiguous axis
};

// All stages of the program; nothing where some are none of these, or where one reduction is all.
std::optional<RowStages> find_row_stages(const te::Workload& view);
// Beside a main stage: reductions in which nothing is used again, from the first to the last, and
// maps that follow from them. Nothing where these have not their rows in common.
std::optional<RowStages> find_rows_beside(const te::Workload& view, int main);

}  // namespace lathe::space
