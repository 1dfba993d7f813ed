// The code so far.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

struct Code {
  flat::Program program;
  std::vector<flat::Stmt>* out = nullptr;  // where statements go

  // The statements that `emit` makes, as one.
  template <class F>
  flat::Stmt capture(const F& emit) {
    std::vector<flat::Stmt> stmts;
    std::vector<flat::Stmt>* outer = std::exchange(out, &stmts);
    emit();
    out = outer;
    return flat::seq(std::move(stmts));
  }
};

}  // namespace lathe::lower
