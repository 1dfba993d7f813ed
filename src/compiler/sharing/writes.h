// What the statements of a phase's body write, and what that is made from.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/ir/flat/flat.h"

namespace lathe::sharing {

// The buffers and registers that something reads.
struct Read {
  std::set<int> buffers, regs;
};

// The value that a Store or RegWrite writes; null for other statements.
const flat::Expr* value_in(const flat::StmtNode& s);
// True if it loads or holds a register.
bool holds_data(const flat::Expr& e);

class Writes {
 public:
  using Statements = std::vector<const flat::StmtNode*>;

  explicit Writes(const flat::Stmt& body);

  const std::map<int, Statements>& stores() const { return stores_; }  // by buffer
  bool is_stored(int buffer) const { return stores_.contains(buffer); }

  // True if the value is what buffers hold, or constants, or chosen from these. Adds to `read` what
  // it is taken from: loads, and registers that are copies themselves.
  bool is_copy(const flat::Expr& value, Read& read) const;
  // All that the buffer's elements are made from: the buffers among these that are stored to in the
  // body, with the buffer itself, and the registers.
  Read closure(int buffer) const;
  // The registers among these that are not only for other buffers.
  std::set<int> own_regs(int buffer) const;

  // The body with what writes these and the control around it; never null where one is written.
  flat::Stmt only(const std::set<int>& buffers, const std::set<int>& regs) const;
  // The body with what only copies elements of the one buffer to the other.
  flat::Stmt copies(int source, int target) const;

 private:
  bool is_copied(int reg, Read& read) const;
  void add_inputs(Read& all) const;
  void add_inputs_of_reg(int reg, Read& all) const;

  flat::Stmt body_;
  std::map<int, Statements> stores_, regs_;
};

}  // namespace lathe::sharing
