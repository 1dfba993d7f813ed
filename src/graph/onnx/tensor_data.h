// The elements of a TensorProto, from each of the fields that may hold them.
#pragma once

#include "graph/onnx/model.h"

namespace lathe::onnx {

namespace proto {
class TensorProto;
}

// Where external data may lie; it remembers the files that it mapped.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  // `length` 0: all that follows.
  Result<graph::Data> bytes(const std::string& location, std::int64_t offset, std::int64_t length);

 private:
  Result<graph::Data> map(const std::string& location);
  std::string path_;
  std::map<std::string, graph::Data> files_;
};

// Takes raw bytes out of the message.
Result<Tensor> tensor_of(proto::TensorProto& from, Folder& folder);

}  // namespace lathe::onnx
