#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Makes a copy of `buffer` named `name`, kept in `scope` for one iteration of `loop` (empty: for
// the whole program) and stored in `layout` (empty: row-major). Every block inside `loop`, or the
// block `reader` alone, uses it in place of the buffer. A block named `name` copies (what is read)
// or writes back (what is written), in loops named NAME.d0, NAME.d1 ... in layout order, one for
// each layout digit. A cached reduction result in registers is the accumulator tile: it starts from
// zero in the first iteration of the outer reduction loops and is reloaded in later ones; blocks at
// the same loop that consume it run in the last one only.
struct Cache {
  std::string buffer, name, loop;
  ir::Scope scope = ir::Scope::kMemory;
  std::vector<LayoutItem> layout;
  std::string reader = {};  // empty: all

  static constexpr const char* kName = "cache";
  static auto fields() {
    return std::tuple{
        Field{"buffer", &Cache::buffer}, Field{"name", &Cache::name},
        Field{"loop", &Cache::loop},     Field{"scope", &Cache::scope},
        Field{"layout", &Cache::layout}, Field{"reader", &Cache::reader, nullptr, true}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Cache& step);

}  // namespace lathe::schedule
