// Weights of a model in f16 or bf16, converted to f32 where they are read: a run that waits for
// them reads half of the bytes. The outputs' bound of error decides whether that is allowed.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"
#include "api/model_check.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"

namespace lathe::api {

struct WeightsRequest {
  // "any": what gains time within the bound. "f16", "bf16": all weights of products. "f32": none.
  std::string type = "any";
  double max_error = kModelError;  // of the model's outputs, as of check_model()
};
std::vector<std::string> known_weights_types();
// Refuses a type that is not known, and a bound that is no number above 0.
Status check_request(const WeightsRequest& request);

struct ModelWeights {
  graph::Graph graph;                             // with narrow weights
  int tasks = 0;                                  // whose weights are narrow, of the graph before
  std::int64_t wide_bytes = 0, narrow_bytes = 0;  // of these weights before and now
  // The largest difference that this makes in f64 on random inputs, over the largest element of the
  // output; 0 where none is narrow.
  double error = 0;
};

// Half of the bound is for this rounding, so that the program's own have room. The difference is
// measured on this machine, whatever the target is. Tasks that miss the bound together are tried
// one after the other, those with most weights first. A type that is asked for by name is refused
// where the bound does not allow it, or it does not hold the numbers.
Result<ModelWeights> choose_weights(const graph::Graph& graph, const WeightsRequest& request,
                                    const Target& target, const ModelProgress& progress);

}  // namespace lathe::api
