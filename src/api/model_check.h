// A model's program beside its reference: the same nodes in f64, one by one, of which some elements
// are beside the evaluator's.
#pragma once

#include <string>

#include "api/model.h"
#include "api/model_run.h"
#include "base/result.h"
#include "graph/ir/graph.h"

namespace lathe::api {

struct ModelCheck {
  // The largest difference of an output's element from the reference, over the output's largest
  // element; of integers, the share of elements that differ.
  double error = 0;
  std::string output;         // that has it
  std::int64_t elements = 0;  // of the reference that agree with the evaluator
};

inline constexpr double kModelError = 1e-4;  // that usually passes

// Runs both once, on random inputs. An error above `max_error` passes where the model has
// conditions or steps, which rounding may turn: then it is no proof. Fails with kWrongAnswer, with
// the output and the place, or the node whose reference differs from the evaluator.
Result<ModelCheck> check_model(const graph::Graph& graph, const ModelProgram& made,
                               double max_error = kModelError);

// The same of these inputs and what a program made of them. Programs of the reference are built for
// the target.
Result<ModelCheck> check_outputs(const graph::Graph& graph, const Target& target,
                                 const ModelTensors& inputs, const ModelTensors& outputs,
                                 double max_error = kModelError);

// The graph with every floating-point type as f64.
graph::Graph in_f64(const graph::Graph& graph);

// How far the elements of one output are from others, as ModelCheck::error says.
double error_between(Dtype dtype, const graph::Data& got, const graph::Data& want);

}  // namespace lathe::api
