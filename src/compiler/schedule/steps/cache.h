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
//
// A copy in the memory of a group holds what all items of the group read, whatever loops of items
// are around `loop`; these are bound before. Its loops are shared out among the items, or one item
// fills it.
struct Cache {
  std::string buffer, name, loop;
  ir::Scope scope = ir::Scope::kMemory;
  std::vector<LayoutItem> layout;
  std::string reader = {};  // empty: all
  // Of a copy in a group's memory: for how many iterations of `loop` there is room. With 2 or more,
  // later iterations are copied for while the work of one is done.
  int stages = 1;

  static constexpr const char* kName = "cache";
  static auto fields() {
    return std::tuple{Field{"buffer", &Cache::buffer},
                      Field{"name", &Cache::name},
                      Field{"loop", &Cache::loop},
                      Field{"scope", &Cache::scope},
                      Field{"layout", &Cache::layout},
                      Field{"reader", &Cache::reader, nullptr, true},
                      Field{"stages", &Cache::stages, nullptr, true}};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Cache& step);

}  // namespace lathe::schedule
