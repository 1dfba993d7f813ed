#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Changes the storage layout of a buffer: a cache, an intermediate or, where the layout is free, an
// input or output.
struct Layout {
  std::string buffer;
  std::vector<LayoutItem> layout;
  std::int64_t pad_stride = 0;

  static constexpr const char* kName = "layout";
  static auto fields() {
    return std::tuple{Field{"buffer", &Layout::buffer}, Field{"layout", &Layout::layout},
                      Field{"pad_stride", &Layout::pad_stride}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Layout& step, bool free_layout);

}  // namespace lathe::schedule
