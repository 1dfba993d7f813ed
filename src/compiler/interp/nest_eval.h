// Runs a scheduled nest directly, loop by loop as written, without lowering: the oracle for
// schedule steps.
//
// The semantics of a nest, as interpreted here:
//
// Blocks run in tree order. An iteration where an iterator lies outside [0, extent) does not run. A
// reduction block starts its element from the identity in the first iteration of all its reduction
// loops, else it goes on.
//
// A buffer with `at` is new in every iteration of that loop: what was in it is gone. An element of
// a cache that its reduction did not touch yet in this iteration is reloaded from the buffer
// cached.
//
// A block that depends on a reduction and stands inside loops which only that reduction runs over
// (a fused epilogue under blocked reductions) runs in the last iteration of those loops only. The
// write-back of partial sums always runs.
//
// Kinds, tails, layouts, prefetches and intrinsics do not change what is computed and are ignored.
// Errors (kIllegalSchedule): reading an element that nothing wrote or that is gone, leaving a
// buffer without a padding value, using a buffer outside its loop, an output element that is never
// written.
#pragma once

#include "compiler/interp/te_eval.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::interp {

// `inputs` in the order of the nest's input buffers; the results in the order of its output
// buffers, without bounds.
Result<std::vector<Tensor>> evaluate(const ir::SizedNest& nest, const std::vector<Tensor>& inputs);

}  // namespace lathe::interp
