// Scans: stages that read the tensor that they write, at places before the element along one axis.
//   Y[i,t] = Y[i,t-1 else 0] + X[i,t]
// The elements along the axis are computed in order, those beside it in any.
#pragma once

#include <optional>

#include "compiler/te/workload.h"

namespace lathe::te {

struct Scan {
  int iter = -1;  // of the axis
  // The elements are computed from the last to the first: t+1 is read for t.
  bool backward = false;
};

// What a stage reads of its own tensor.
bool is_own_read(const Stage& stage, const ir::Read& read);
// Nothing where the stage reads other tensors only. The stage is one that check_scan() accepts.
std::optional<Scan> scan_of(const Stage& stage);
bool is_scan(const Stage& stage);
bool has_scan(const Workload& workload);

// Checks what a read of the own tensor must be: with `else`, the stage's iterators in order but for
// one coordinate, from which a number is taken, or to which one is added.
Status check_own_read(const std::string& tensor, const ir::Read& read,
                      const std::vector<Iterator>& iters);
// The same of all such reads of a stage, which go along one axis in one direction.
Status check_scan(const Workload& workload, const Stage& stage);

}  // namespace lathe::te
