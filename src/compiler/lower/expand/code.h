// The code so far.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::lower {

struct Code {
  flat::Program program;
  // Of loads and stores in memory of a group: the block whose own elements they touch, which one
  // item computes alone. The nodes are kept alive.
  std::unordered_map<const void*, std::pair<ir::BlockId, std::shared_ptr<const void>>> owners;
  ir::BlockId owner_of(const void* node) const {
    const auto found = owners.find(node);
    return found == owners.end() ? -1 : found->second.first;
  }
  // Variables that number the stages of one iteration: these are never the same.
  std::vector<std::pair<int, int>> stages;
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
