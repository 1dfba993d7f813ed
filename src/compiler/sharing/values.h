// Index expressions of a flat program with numbers for its variables.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::sharing {

// By Var::id; those of variables that are not bound have no meaning.
using Values = std::vector<std::int64_t>;
using Vars = std::vector<int>;  // sorted, each once

// Thrown where the value of an expression depends on data: on a load or a register.
struct DependsOnData {};

// One lane of an expression of an integer type or bool; a scalar has the same value in all.
std::int64_t value_of(const flat::Expr& e, const Values& values, int lane = 0);

// constant + sum of coefficient * variable.
struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;  // a variable may come more than once

  std::int64_t of(const Values& values) const;
  std::int64_t coefficient(int var) const;
};
// Of a scalar; none if it is no such sum.
std::optional<Linear> linear_of(const flat::Expr& e);

Vars joined(const Vars& a, const Vars& b);
Vars vars_of(const flat::Expr& e);

// The variables of statements whose values are set around them, found once for each statement.
class FreeVars {
 public:
  enum class Of {
    kControl,  // those that decide which statements run, and how often
    kAll,      // and those in addresses, masks and values
  };
  explicit FreeVars(Of of) : of_(of) {}
  const Vars& operator()(const flat::Stmt& s);

 private:
  Vars find(const flat::StmtNode& s);
  Vars find_in(const flat::Seq& list);

  Of of_;
  std::unordered_map<flat::Stmt, Vars> known_;  // keeps the key alive
};

}  // namespace lathe::sharing
