// Runs a scheduled nest directly, loop by loop as written, without lowering. It tells the tests of
// schedule steps what a nest computes.
//
// The semantics of a nest here:
//
// Blocks run in tree order. An iteration where an iterator lies outside [0, extent) does not run. A
// reduction block starts its element from the identity in the first iteration of all its reduction
// loops; in later ones it goes on.
//
// A buffer with `at` is new in every iteration of that loop: its old content is gone. A cache may
// have an element that its reduction did not touch yet in this iteration; that element is reloaded
// from the buffer that is cached.
//
// A block may depend on a reduction and stand inside loops that only the reduction runs over (a
// fused epilogue under blocked reductions). It then runs in the last iteration of those loops only.
// The write-back of partial sums always runs.
//
// Loops that an intrinsic stands for run as its lanes do it (lanes.h). Where some of its iterations
// do not run, or a read may leave its tensor, an intrinsic that lowering writes out is as its plain
// loops, and any other is an error.
//
// Kinds, tails, layouts and prefetches do not change what is computed, and are ignored.
// These are errors (kIllegalSchedule): reading an element that nothing wrote or that is gone,
// leaving a buffer without a padding value, using a buffer outside its loop, never writing an
// element of an output.
#pragma once

#include "compiler/ir/nest/nest.h"
#include "oracle/te_eval.h"

namespace lathe::interp {

// `inputs` have the order of the nest's input buffers, the results that of its output buffers. The
// results have no bounds.
Result<std::vector<Tensor>> evaluate(const ir::SizedNest& nest, const std::vector<Tensor>& inputs);

}  // namespace lathe::interp
