// Recurrences: stages that need each other, each at places that are computed before, along one axis
// that all of them have.
//   C[t,j] = F[t,j] * C[t-1,j else 0] + U[t,j]
//   U[t,j] = X[t,j] + (sum(k) C[t-1,k else 0] * W[j,k])
// One step along the axis computes what all of them have there, a stage after the other; then comes
// the next step. A single stage that reads itself is a scan (scan.h).
#pragma once

#include <vector>

#include "compiler/te/workload.h"

namespace lathe::te {

struct Recurrence {
  std::vector<int> stages;  // numbers in Workload::stages, one after the other
  std::vector<int> axes;    // of each stage: the iterator along the axis
  bool backward = false;    // the steps go from the last to the first
  // All stages have the same iterators, no reductions, and read each other at their own element,
  // but for the axis. What is beside it is computed in any order.
  bool element_wise = false;

  bool has(int stage) const;
  int axis_of(int stage) const;  // of one that it has
};

// The recurrences of a workload, checked: the steps are along one axis, in one direction, and what
// a step needs of itself is computed by earlier stages. Fails where stages need each other
// otherwise.
Result<std::vector<Recurrence>> find_recurrences(const Workload& workload);
// Of a workload that validate() accepts.
std::vector<Recurrence> recurrences_of(const Workload& workload);
bool has_recurrence(const Workload& workload);

// Groups of at least two numbers below `count` that reach each other by `needs` (of each number:
// others), each in order.
std::vector<std::vector<int>> cycles_of(const std::vector<std::vector<int>>& needs);

// Brings the stages of each recurrence together: what depends on one of them and is none comes
// after them. Stages keep their order else.
void gather_recurrences(Workload& workload);

// True if `reader`, a stage of the recurrence, reads the tensor at earlier steps only.
bool reads_earlier_steps_only(const Workload& workload, const Recurrence& recurrence, int reader,
                              int tensor);

}  // namespace lathe::te
