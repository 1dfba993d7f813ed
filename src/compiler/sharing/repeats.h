// What several parts of one phase do alike.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/sharing/sharing.h"
#include "compiler/sharing/values.h"
#include "compiler/sharing/work.h"

namespace lathe::sharing {

// Some of the statements of a phase's body. Parts in which what they read of variables has the same
// values do the same.
class Aspect {
 public:
  // `body`: of the phase, with these statements alone.
  Aspect(flat::Stmt body, int phase_var, FreeVars& free);
  // These values in a part; sets the variables that the body binds outside of all loops.
  Values key(Values& values) const;
  const flat::Stmt& body() const { return body_; }

 private:
  flat::Stmt body_;
  std::vector<const flat::Let*> lets_;
  Vars read_;
};

// Elements of a buffer that are copied to one other.
class Copies {
 public:
  // `aspect`: what copies them; `free`: of all variables.
  Copies(const flat::Program& program, int source, Aspect aspect, FreeVars& free);
  void add_part(Values& values);
  Repeats repeats() const;

 private:
  void mark(const flat::Stmt& s, Values& values);
  void mark_loop(const flat::For& n, Values& values);
  void mark_lanes(const flat::Expr& value, const flat::Expr& mask, const Values& values);
  void mark_lane(const flat::Expr& e, int lane, const Values& values);
  void mark_element(std::int64_t element);

  int source_;
  std::int64_t element_bytes_;
  Aspect aspect_;
  FreeVars& free_;
  std::map<Values, std::int64_t> known_;  // elements of a part by its key
  std::vector<std::uint32_t> marked_by_;  // by element: the last part with a key of its own
  std::uint32_t part_ = 0;                // counts these
  std::int64_t in_part_ = 0, copied_ = 0, distinct_ = 0;
};

// Intermediate results in one buffer.
class Computed {
 public:
  // `inputs`: all that they depend on. `own`: what computes them, without what is in other buffers.
  Computed(Aspect inputs, flat::Stmt own) : inputs_(std::move(inputs)), own_(std::move(own)) {}
  void add_part(Values& values, WorkCounter& counter);
  const Work& again() const { return again_; }

 private:
  Aspect inputs_;
  flat::Stmt own_;
  std::map<Values, Work> known_;
  Work again_;
};

class RepeatCounter {
 public:
  RepeatCounter(const flat::Program& program, const flat::For& phase);
  // False: parts have nothing that could be repeated.
  bool has_any() const { return !copies_.empty() || !computed_.empty(); }
  // With the phase's variable set, and those around it.
  void add_part(Values& values, WorkCounter& counter);
  Repeats repeats() const;

 private:
  FreeVars free_{FreeVars::Of::kAll};
  std::vector<Copies> copies_;
  std::vector<Computed> computed_;
};

}  // namespace lathe::sharing
