// A run of a model's program in this process, on inputs that are random or stand in files.
#pragma once

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

// Takes for some of `values`, numbers of the graph's, the elements of files: "NAME=FILE", or "FILE"
// where there is one value only. `flag` is the error's place where a name is none of these, or has
// two files; the file's where it has another type or shape. By value: none where no file is named.
Result<std::vector<std::optional<graph::Data>>> tensors_of_files(
    const graph::Graph& graph, const std::vector<int>& values,
    const std::vector<std::string>& named, const std::string& flag);

// The names of files for some of `values`, in the same words: "" where none is named.
Result<std::vector<std::string>> files_of_tensors(const graph::Graph& graph,
                                                  const std::vector<int>& values,
                                                  const std::vector<std::string>& named,
                                                  const std::string& flag);

// The target must be this machine's.
Result<ModelTensors> run_model(const graph::Graph& graph, const ModelProgram& made,
                               const ModelTensors& inputs);

}  // namespace lathe::api
