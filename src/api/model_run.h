// A run of a model's program in this process, on inputs that are random or stand in files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/model.h"
#include "api/tensor_files.h"
#include "base/result.h"
#include "graph/ir/graph.h"

namespace lathe::api {

// Row-major elements of the inputs of a graph, or of its outputs, in their order.
using ModelTensors = std::vector<graph::Data>;

// Numbers between -1 and 1 that every floating-point type has; 0 and 1 of other types.
ModelTensors random_inputs(const graph::Graph& graph, std::uint64_t seed);

// The file of each of `values`, numbers of the graph's: "" where none is named. A word is
// "NAME=FILE", or "FILE" where there is one value only. `flag` is the error's place, where a name
// is none of these, or has two files.
Result<std::vector<std::string>> files_of_tensors(const graph::Graph& graph,
                                                  const std::vector<int>& values,
                                                  const std::vector<std::string>& words,
                                                  const std::string& flag);

// The elements that the files have, by value: none where there is no file. The error's place is the
// file, where it has another type or shape than the value.
Result<std::vector<std::optional<graph::Data>>> read_tensors(const graph::Graph& graph,
                                                             const std::vector<int>& values,
                                                             const std::vector<std::string>& files);

// The target must be this machine's.
Result<ModelTensors> run_model(const graph::Graph& graph, const ModelProgram& made,
                               const ModelTensors& inputs);

}  // namespace lathe::api
