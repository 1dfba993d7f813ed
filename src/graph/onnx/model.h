// A model as its ONNX file has it, in plain structs: checked for what a reader can check, with
// nothing known yet of what operators mean.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace lathe::onnx {

// The name of a number of ONNX's TensorProto.DataType: "float", "string"; "type 99".
std::string type_name(int type);
// None: the language has no such element type.
std::optional<Dtype> dtype_of(int type);

struct Tensor {
  std::string name;
  int type = 0;  // ONNX's number
  graph::Shape shape;
  graph::Data data;  // empty where the language has no such type
};

// A size is a number, or is named, or is open.
struct Dim {
  std::optional<std::int64_t> size;
  std::string name;
};
struct ValueInfo {
  std::string name;
  int type = 0;  // 0: it is no tensor
  std::optional<std::vector<Dim>> shape;
};

struct Model;

struct Attribute {
  enum class Kind {
    kNone,
    kFloat,
    kInt,
    kString,
    kTensor,
    kGraph,
    kFloats,
    kInts,
    kStrings,
    kOther
  };
  Kind kind = Kind::kNone;
  double real = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::optional<Tensor> tensor;
  std::shared_ptr<const Model> graph;  // its operators have the versions of the whole model
};

struct Node {
  std::string name, op, domain;              // "" is ONNX's own domain
  std::vector<std::string> inputs, outputs;  // "": left out
  std::map<std::string, Attribute, std::less<>> attributes;

  // What messages call it: its name, or what it makes.
  std::string label() const;
};

struct Model {
  std::string name;
  std::map<std::string, std::int64_t> opsets;  // by domain; "" is ONNX's own
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

// Reads the file, and files of external data beside it, which are mapped and must not change while
// something holds their data. The error's place is the file or the tensor. Refused are: what is no
// ONNX file or is cut off; a file over 2 GiB; data outside of the model's folder, also by links,
// that is missing, or whose length is not what its shape takes.
Result<Model> read_model(const std::string& path);
// The same of the bytes of a file; external data is beneath `folder`, and "" refuses it.
Result<Model> parse_model(std::string_view bytes, const std::string& folder);
// The bytes of a TensorProto alone, as the files that come with ONNX's tests.
Result<Tensor> parse_tensor(std::string_view bytes);

}  // namespace lathe::onnx
