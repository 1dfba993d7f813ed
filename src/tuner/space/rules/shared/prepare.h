// A workload as rules see it, after the steps with which every schedule of it begins.
//
//   - Sums of products are computed in the order that costs least, and expressions that would be
//     computed anew too often are kept (compiler/algebra)
//   - Element-wise stages are inlined into their readers. Exceptions are stages that depend on
//   constants
//     alone (prepare() computes them once), that cost more to compute again than to keep, or that
//     would make an expression too large.
//   - Neighbouring axes through which everything goes alike become one, between row-major borders.
//   - The place of an extreme is looked for in the one part of a long row that has it: partial
//     results EXTREME.parts, and PLACE.part, which part that is.
//   - A reduction along rows, which no axis of the result can vectorize, not that of constant
//     weights which are laid out for it beforehand either, gets lanes along the reduction:
//     partial results NAME.lanes, a few vectors of them where there are few rows (NAME.vectors).
//     Small reductions then sum these up.
//   - A long sum is cut into blocks, and blocks of blocks: partial results NAME.part. The rounding
//   error
//     of a chain of n additions grows as the square root of n if it is random, and as n if the
//     terms are alike.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/target.h"
#include "compiler/algebra/algebra.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// The nest's blocks as stages, in tree order. Tensors are the nest's buffers. Iterators are the
// loops around a block, by name, those of the result's dimensions first. Only what bodies read has
// a meaning here; positions of iterators in them are not kept. Stages inside loops of `outer` are
// seen as in one iteration of these.
te::Workload view_of(const ir::Nest& nest, const te::Workload& workload,
                     const std::set<std::string>& outer = {});

struct Prepared {
  ir::Nest nest;          // every size a number
  schedule::Trace steps;  // from the naive nest to this one
  te::Workload view;
  // Loops of one iteration along the axis of a recurrence, inside of the loop over its steps.
  std::set<std::string> in_steps;
};
// By stage: the share of all its rows that it does at a time; all of them where none is said.
using RowShares = std::map<std::string, double>;
Prepared prepare(const te::Workload& workload, const CpuTarget& target, algebra::Repeated repeated,
                 const RowShares& shares = {});

// The first two of its steps, and the first four; without a view.
Prepared begin(const te::Workload& workload, algebra::Repeated repeated);
Prepared prepare_plainly(const te::Workload& workload, const CpuTarget& target,
                         algebra::Repeated repeated);
// Parts of prepare(); each appends its steps.
// Lays constants that a sum does not read dimension by dimension out as it reads them: weights by
// the phases of a transposed convolution, by groups, backwards. Not where lanes would have no axis
// there.
void reindex_constants(Prepared& prepared, const te::Workload& workload, const CpuTarget& target);
void merge_axes(Prepared& prepared, const te::Workload& workload);

// Thrown inside the rules where a step of a sketch is refused.
struct StepRefused {
  schedule::StepError error;
};

// Applies the step and keeps it; returns false if it was refused.
bool try_step(ir::Nest& nest, schedule::Trace& trace, schedule::Step step, bool free_layout);

}  // namespace lathe::space
