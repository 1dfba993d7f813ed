// Random programs whose vectors stand half inside and half outside of their tensors: for property
// tests of masked loads and stores.
//
//   Rng rng(seed);
//   const MaskedWorkload w = random_masked(rng);
//   const RandomSchedule s = random_schedule(w.workload, rng, {.first = w.steps});
//
// Rows of 1 to 129 elements of any type are read with pads up to their own width and beyond, as
// they are, with a stride, or by the dilated taps of a sum or maximum. What is read is an input or
// a stage, perhaps through a copy. The steps make the copies and vectors, of up to 128 lanes, with
// every kind of tail; some of them may be refused.
#pragma once

#include "base/rng.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"

namespace lathe {

struct MaskedWorkload {
  te::Workload workload;
  schedule::Trace steps;
};

MaskedWorkload random_masked(Rng& rng);

}  // namespace lathe
