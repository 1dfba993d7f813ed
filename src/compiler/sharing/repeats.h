// What several parts of one phase do alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
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
  // What it reads of variables that are bound around the phase.
  const Vars& outer_vars() const { return outer_; }

 private:
  flat::Stmt body_;
  std::vector<const flat::Let*> lets_;
  Vars read_, outer_;
};

// Elements of a buffer that are copied to one other.
class Copies {
 public:
  // `aspect`: what copies them; `free`: of all variables.
  Copies(const flat::Program& program, int source, Aspect aspect, FreeVars& free);
  void begin_run();
  void add_part(Values& values);
  Repeats repeats() const;  // of this run
  const Vars& outer_vars() const { return aspect_.outer_vars(); }

 private:
  // A write of lanes of the source that lie `stride` apart, all of which are stored.
  struct Strip {
    Linear first;
    std::int64_t stride = 1;
    int lanes = 1;
  };

  void mark(const flat::Stmt& s, Values& values);
  void mark_loop(const flat::For& n, Values& values);
  const std::optional<Strip>& strip_of(const flat::Stmt& s);
  void mark_strip(const Strip& strip, std::int64_t first);
  void mark_lanes(const flat::Expr& value, const flat::Expr& mask, const Values& values);
  void mark_lane(const flat::Expr& e, int lane, const Values& values);
  void mark_element(std::int64_t element);

  int source_;
  std::int64_t element_bytes_;
  Aspect aspect_;
  FreeVars& free_;
  std::unordered_map<flat::Stmt, std::optional<Strip>> strips_;
  std::map<Values, std::int64_t> known_;  // elements of a part by its key
  // Parts with a key of their own are numbered on and on. By element: the last one.
  std::vector<std::uint32_t> marked_by_;
  std::uint32_t part_ = 0, before_run_ = 0;
  std::int64_t in_part_ = 0, copied_ = 0, distinct_ = 0;
};

// Intermediate results in one buffer.
class Computed {
 public:
  // `inputs`: all that they depend on. `own`: what computes them, without what is in other buffers.
  Computed(Aspect inputs, flat::Stmt own) : inputs_(std::move(inputs)), own_(std::move(own)) {}
  void begin_run();
  void add_part(Values& values, WorkCounter& counter);
  const Work& again() const { return again_; }  // in this run
  const Vars& outer_vars() const { return inputs_.outer_vars(); }

 private:
  Aspect inputs_;
  flat::Stmt own_;
  std::map<Values, Work> known_;
  Work again_;
};

class RepeatCounter {
 public:
  RepeatCounter(const flat::Program& program, const flat::For& phase);
  // Of the phase in one run of its region, from `begin` to `end`, under these values of the
  // variables around it.
  Repeats of_run(std::int64_t begin, std::int64_t end, Values& values, WorkCounter& counter);
  // These: runs in which they are equal repeat the same.
  Vars outer_vars() const;

 private:
  int phase_var_;
  FreeVars free_{FreeVars::Of::kAll};
  std::vector<Copies> copies_;
  std::vector<Computed> computed_;
};

}  // namespace lathe::sharing
