// How much statements do, counted without running them.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/sharing/values.h"

namespace lathe::sharing {

// Lanes that a mask switches off count: they take as long as the others.
struct Work {
  // On elements, one for each register of a target's vectors. Those on indices and masks are none.
  std::int64_t operations = 0;
  std::int64_t multiply_adds = 0;  // of single lanes
  std::int64_t bytes = 0;          // loaded and stored; of prefetches none

  Work& operator+=(const Work& other) {
    operations += other.operations;
    multiply_adds += other.multiply_adds;
    bytes += other.bytes;
    return *this;
  }
  friend Work operator*(Work work, std::int64_t times) {
    return {work.operations * times, work.multiply_adds * times, work.bytes * times};
  }
  friend bool operator==(const Work&, const Work&) = default;
};

// Counts in closed form: a loop whose iterations do the same costs no more than one of them, and
// what two places have in common is counted once.
class WorkCounter {
 public:
  explicit WorkCounter(int vector_bytes)
      : vector_bytes_(vector_bytes), control_(FreeVars::Of::kControl) {}

  // Of the statement under the values of the variables around it. Variables that it binds itself
  // are overwritten. Throws DependsOnData.
  Work of(const flat::Stmt& s, Values& values);
  // The variables around it on which its work depends.
  const Vars& control_vars(const flat::Stmt& s) { return control_(s); }

 private:
  struct KeyHash {
    std::size_t operator()(const Values& key) const;
  };
  Work of_loop(const flat::Stmt& s, const flat::For& n, Values& values);
  Work of_write(const flat::Stmt& s);

  int vector_bytes_;
  FreeVars control_;
  // Both keep their keys alive.
  std::unordered_map<flat::Stmt, Work> writes_;
  std::unordered_map<flat::Stmt, std::unordered_map<Values, Work, KeyHash>> loops_;
};

}  // namespace lathe::sharing
