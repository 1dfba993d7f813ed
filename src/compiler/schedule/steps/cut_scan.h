#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Cuts the axis of a scan into parts of `size` elements, which may then be computed in any order. A
// block `total` first reduces each part but the last to one element. A scan `before` over these has
// what all parts up to each one come to. The block then begins each part anew from that of the part
// before it. Its axis becomes two loops, AXIS.part and AXIS. The scan adds, multiplies or takes
// extremes; the order of these operations changes.
struct CutScan {
  std::string block;
  std::int64_t size = 1;
  std::string total, before;  // names of the new blocks and their buffers

  static constexpr const char* kName = "cut_scan";
  static auto fields() {
    return std::tuple{Field{"block", &CutScan::block}, Field{"size", &CutScan::size},
                      Field{"total", &CutScan::total}, Field{"before", &CutScan::before}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const CutScan& step);

}  // namespace lathe::schedule
