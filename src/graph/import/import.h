// From an ONNX model to a graph whose shapes are all known. What the model computes of shapes and
// constants alone is computed here, so that it leaves no nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/onnx/model.h"

namespace lathe::graph {

struct ImportOptions {
  // Sizes of named dimensions of inputs, "batch", or the whole shape of an input by its name.
  std::map<std::string, Shape, std::less<>> shapes;
  // Inputs whose elements are known beforehand.
  std::map<std::string, onnx::Tensor, std::less<>> constants;
};

// Reads "batch=1" and "x=1,3,224,224".
Result<std::map<std::string, Shape, std::less<>>> parse_shapes(
    const std::vector<std::string>& texts);

// A node that cannot be said in the language yet.
struct Unsupported {
  std::string op;            // with its domain where that is not ONNX's own
  std::int64_t version = 0;  // of the domain's operators, as the model says it; 0: it does not
  std::string reason;        // a part of a sentence: "there is no such operator here"
  std::string node;
};

struct Imported {
  Graph graph;  // whole where nothing is unsupported
  std::vector<Unsupported> unsupported;
};

// The error's place is the node or the input at fault.
Result<Imported> import(const onnx::Model& model, const ImportOptions& options = {});

// A line for each operator and reason, with how many nodes there are and the first of them.
std::string print(const std::vector<Unsupported>& unsupported);

// The operators that can be imported, by name, in the order of the table.
std::vector<std::string> imported_operators();

}  // namespace lathe::graph
