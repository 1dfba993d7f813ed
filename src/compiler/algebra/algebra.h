// Algebra before scheduling: rewrites that save operations, as the first steps of a schedule.
//
//   - A sum of products is computed in the order that costs least: what one factor alone has is
//     summed up first, products of several factors are two of them after the other, and what the
//     sum does not change is taken out of it.
//   - A reduction up to a bound, as sum(s) select(s <= t, X[s], 0), is a scan, and one between two
//     bounds runs over the window between them alone.
//   - A sum of sums, each of which nothing else reads, is one where that costs no more; so are
//     extremes and products.
//   - A sum of several products that share a factor is one product where that saves work; of
//     others, whose operands are read again for other results, it is several sums.
//   - Terms of a sum or an extreme that need other iterators each are reduced by themselves, and
//     what does not need an axis of the result is reduced once.
//   - A window of several dimensions goes along one first, where neighbours share what that makes.
//   - What several blocks reduce alike, or keep, is computed once.
//   - What a block would compute anew for every element of its result, for it depends on other axes
//     than that, is computed once and kept: or computed again, where both ways can win.
#pragma once

#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe::algebra {

// What is done with what a block would compute anew for every element, where both ways can win.
enum class Repeated { kKept, kAgain };

// Rewrites the naive nest of a workload, and appends the steps.
void rewrite(ir::Nest& nest, schedule::Trace& steps, bool free_layout,
             Repeated repeated = Repeated::kKept);

// The same, as an expression whose naive nest is what the steps make. Names of its new tensors have
// a dot, which no text has.
struct Rewritten {
  te::Workload workload;
  schedule::Trace steps;
};
Rewritten rewritten(const te::Workload& workload, Repeated repeated = Repeated::kKept);

// True if a stage is a scan once the workload is rewritten, or stages need each other step by step.
bool makes_scans(const te::Workload& workload);

// True where both ways can win: to keep the values of an expression of so many operations, and to
// compute them wherever they are read, in all so many times.
bool may_be_computed_again(double operations, double evaluations, double values);

// About how many arithmetic operations of vectors the expression takes, without its reads.
double operations_of(const ir::Expr& e);

}  // namespace lathe::algebra
