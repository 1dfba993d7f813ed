#include <filesystem>

#include "base/file.h"
#include "graph/onnx/tensor_data.h"
#include "onnx.pb.h"

namespace lathe::onnx {
namespace {

constexpr std::size_t kMostModelBytes = (std::size_t{1} << 31) - 1;

using Kind = Attribute::Kind;

Kind kind_of(const proto::AttributeProto& from) {
  switch (from.type()) {
    case 1: return Kind::kFloat;
    case 2: return Kind::kInt;
    case 3: return Kind::kString;
    case 4: return Kind::kTensor;
    case 5: return Kind::kGraph;
    case 6: return Kind::kFloats;
    case 7: return Kind::kInts;
    case 8: return Kind::kStrings;
    default: return Kind::kOther;
  }
}

Result<Model> graph_of(proto::GraphProto& from, Folder& folder);

Result<Attribute> attribute_of(proto::AttributeProto& from, Folder& folder) {
  Attribute to;
  to.kind = kind_of(from);
  to.real = static_cast<double>(from.f());
  to.integer = from.i();
  to.text = from.s();
  to.reals.assign(from.floats().begin(), from.floats().end());
  to.integers.assign(from.ints().begin(), from.ints().end());
  to.texts.assign(from.strings().begin(), from.strings().end());
  if (to.kind == Kind::kTensor) to.tensor = LATHE_TRY(tensor_of(*from.mutable_t(), folder));
  if (to.kind == Kind::kGraph)
    to.graph = std::make_shared<const Model>(LATHE_TRY(graph_of(*from.mutable_g(), folder)));
  return to;
}

Result<Node> node_of(proto::NodeProto& from, Folder& folder) {
  Node node{from.name(), from.op_type(), from.domain() == "ai.onnx" ? "" : from.domain()};
  node.inputs.assign(from.input().begin(), from.input().end());
  node.outputs.assign(from.output().begin(), from.output().end());
  for (auto& attribute : *from.mutable_attribute()) {
    auto read = attribute_of(attribute, folder);
    if (!read)
      return fail_at(node.label(), read.error().kind, "attribute '{}': {}", attribute.name(),
                     read.error().text());
    if (!node.attributes.emplace(attribute.name(), std::move(*read)).second)
      return fail_at(node.label(), ErrorKind::kInvalidArgument, "it has two attributes '{}'",
                     attribute.name());
  }
  return node;
}

ValueInfo info_of(const proto::ValueInfoProto& from) {
  ValueInfo info{from.name()};
  const auto& tensor = from.type().tensor_type();
  info.type = tensor.elem_type();
  if (!tensor.has_shape()) return info;
  info.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    Dim& to = info.shape->emplace_back();
    if (dim.has_dim_value() && dim.dim_value() >= 0) to.size = dim.dim_value();
    to.name = dim.dim_param();
  }
  return info;
}

std::map<std::string, std::int64_t> opsets_of(const proto::ModelProto& from) {
  std::map<std::string, std::int64_t> opsets;
  for (const auto& import : from.opset_import())
    opsets[import.domain() == "ai.onnx" ? "" : import.domain()] = import.version();
  return opsets;
}

Result<Model> graph_of(proto::GraphProto& from, Folder& folder) {
  Model model{from.name(), {}};
  for (auto& tensor : *from.mutable_initializer())
    model.initializers.push_back(LATHE_TRY(tensor_of(tensor, folder)));
  for (auto& node : *from.mutable_node()) model.nodes.push_back(LATHE_TRY(node_of(node, folder)));
  for (const auto& info : from.input()) model.inputs.push_back(info_of(info));
  for (const auto& info : from.output()) model.outputs.push_back(info_of(info));
  return model;
}

Result<Model> model_of(proto::ModelProto& from, Folder& folder) {
  if (!from.has_graph() || from.opset_import_size() == 0)
    return fail(ErrorKind::kDataLoss,
                "this is no ONNX model: it has no graph or says no version of its operators");
  Model model = LATHE_TRY(graph_of(*from.mutable_graph(), folder));
  model.opsets = opsets_of(from);
  return model;
}

}  // namespace

Result<Model> parse_model(std::string_view bytes, const std::string& folder) {
  if (bytes.size() > kMostModelBytes)
    return fail(ErrorKind::kUnsupported,
                "the file is larger than 2 GiB, which Protobuf cannot hold; save the weights as "
                "external data beside it");
  proto::ModelProto message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorKind::kDataLoss, "this is no ONNX model, or it is cut off");
  Folder data(folder);
  return model_of(message, data);
}

Result<Model> read_model(const std::string& path) {
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (!code && size > kMostModelBytes)
    return fail_at(path, ErrorKind::kUnsupported,
                   "the file is larger than 2 GiB, which Protobuf cannot hold; save the weights as "
                   "external data beside it");
  const std::string bytes = LATHE_TRY(read_file(path, kMostModelBytes));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  auto model = parse_model(bytes, folder.empty() ? "." : folder);
  if (!model && model.error().place.empty()) model.error().place = path;
  else if (!model) model.error().place = path + ", " + model.error().place;
  return model;
}

Result<Tensor> parse_tensor(std::string_view bytes) {
  proto::TensorProto message;
  if (bytes.size() > kMostModelBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorKind::kDataLoss, "this is no tensor of ONNX, or it is cut off");
  Folder none("");
  return tensor_of(message, none);
}

}  // namespace lathe::onnx
