// Tensors in files: NumPy's .npy, and TensorProto of ONNX (.pb), as the data that comes with
// models.
#pragma once

#include <string>

#include "base/result.h"
#include "graph/ir/graph.h"

namespace lathe::api {

// Row-major elements.
struct FileTensor {
  Dtype dtype = Dtype::kF32;
  graph::Shape shape;
  graph::Data data;
};

// By the end of its name: .npy or .pb. The error's place is the path; kDataLoss where it is no such
// file or is cut off, kUnsupported for element types and orders that are not read.
Result<FileTensor> read_tensor(const std::string& path);

// As NumPy's format 1.0 has it: row-major. NumPy has no bf16: its elements are written as f32.
Status write_npy(const std::string& path, const FileTensor& tensor);

}  // namespace lathe::api
