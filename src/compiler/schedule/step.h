// Schedule steps: the few transformations that make every program. A step is a plain struct, and a
// trace is a vector of steps. It prints, goes to JSON and back, and applies to the naive nest of
// its workload without the space that made it.
//
// Steps name loops, blocks and buffers by their names in the nest, which are unique and
// deterministic: the naive nest's loops are "TENSOR.iterator" (te/naive_nest.h), and steps that
// make loops name the new ones.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/ir/nest/sizes_json.h"
#include "compiler/schedule/steps/steps.h"

namespace lathe::schedule {

using Trace = std::vector<Step>;

// Applies one step in place. Where it refuses, the nest stays as it was.
StepResult<void> apply(ir::Nest& nest, const Step& step, bool free_layout = false);
// Applies all steps in turn; the error carries the position.
StepResult<void> apply(ir::Nest& nest, const Trace& trace, bool free_layout = false);

// Replaces every table entry in `trace` by its value.
Trace concretize(const Trace& trace, const ir::SizedNest& sizes);

std::string print(const Step& step);    // "split C.i by 14 into io, ii, tail peel"
std::string print(const Trace& trace);  // one line for each step
// An array of objects {"step": "split", ...}; for concrete traces only.
Json to_json(const Trace& trace);
Result<Trace> trace_from_json(const Json& json);  // the error's place is "step N"
// The same with open sizes (ir/nest/sizes_json.h). They are read into the table of the nest that
// the trace is for.
Json to_json(const Trace& trace, const ir::Sizes& sizes);
Result<Trace> trace_from_json(const Json& json, ir::Sizes& sizes, const ir::KnobSize& knob);

std::string_view name_of(const Step& step);  // "split", as traces have it

}  // namespace lathe::schedule
