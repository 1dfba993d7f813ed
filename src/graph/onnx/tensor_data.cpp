#include "graph/onnx/tensor_data.h"

#include <charconv>
#include <limits>

#include "onnx.pb.h"

namespace lathe::onnx {
namespace {

std::string shown(const graph::Shape& shape) { return graph::typed(Dtype::kF32, shape).substr(3); }

Result<std::int64_t> number(const std::string& text, const char* what) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0)
    return fail(ErrorKind::kInvalidArgument, "the {} of its external data is no number: '{}'", what,
                text);
  return value;
}

Result<graph::Data> external(const proto::TensorProto& from, std::int64_t bytes, Folder& folder) {
  std::string location;
  std::int64_t offset = 0, length = bytes;
  for (const auto& entry : from.external_data()) {
    if (entry.key() == "location") location = entry.value();
    else if (entry.key() == "offset") offset = LATHE_TRY(number(entry.value(), "offset"));
    else if (entry.key() == "length") length = LATHE_TRY(number(entry.value(), "length"));
  }
  if (length != bytes)
    return fail(ErrorKind::kDataLoss,
                "its external data is said to have {} bytes, and its shape takes {}", length,
                bytes);
  if (bytes == 0) return graph::Data::own({});
  return folder.bytes(location, offset, length);
}

Result<graph::Data> raw(proto::TensorProto& from, std::int64_t bytes) {
  if (static_cast<std::int64_t>(from.raw_data().size()) != bytes)
    return fail(ErrorKind::kDataLoss, "it has {} bytes of data, and its shape takes {}",
                from.raw_data().size(), bytes);
  const std::shared_ptr<const std::string> owner(from.release_raw_data());
  return graph::Data{owner, std::as_bytes(std::span(*owner))};
}

// 16-bit floats are kept as bits, which nothing converts.
template <class Field>
Result<graph::Data> typed(const Field& field, Dtype dtype, std::int64_t elements) {
  if (field.size() != elements)
    return fail(ErrorKind::kDataLoss, "it has {} elements, and its shape takes {}", field.size(),
                elements);
  const auto size = static_cast<std::size_t>(size_of(dtype));
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * size);
  for (int e = 0; e < field.size(); ++e) {
    std::byte* at = bytes.data() + static_cast<std::size_t>(e) * size;
    const auto value = field.Get(e);
    std::memcpy(at, &value, std::min(size, sizeof value));  // the low bytes of integers
  }
  return graph::Data::own(std::move(bytes));
}

Result<graph::Data> data_of(proto::TensorProto& from, Dtype dtype, std::int64_t elements,
                            Folder& folder) {
  const std::int64_t bytes = elements * size_of(dtype);
  if (from.data_location() == 1) return external(from, bytes, folder);
  if (from.has_raw_data()) return raw(from, bytes);
  switch (dtype) {
    case Dtype::kF32: return typed(from.float_data(), dtype, elements);
    case Dtype::kF64: return typed(from.double_data(), dtype, elements);
    case Dtype::kI64: return typed(from.int64_data(), dtype, elements);
    case Dtype::kU32: return typed(from.uint64_data(), dtype, elements);
    default: return typed(from.int32_data(), dtype, elements);
  }
}

// Any byte but 0 is true.
void make_bools(graph::Data& data) {
  std::vector<std::byte> bytes(data.bytes.begin(), data.bytes.end());
  for (std::byte& byte : bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
  data = graph::Data::own(std::move(bytes));
}

}  // namespace

Result<Tensor> tensor_of(proto::TensorProto& from, Folder& folder) {
  Tensor tensor{from.name(), from.data_type(), {from.dims().begin(), from.dims().end()}, {}};
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  for (const std::int64_t size : tensor.shape)
    if (size < 0)
      return fail_at(place, ErrorKind::kDataLoss, "its shape {} has a negative size",
                     shown(tensor.shape));
  const std::int64_t elements = graph::elements_of(tensor.shape);
  if (elements > std::int64_t{1} << 40)
    return fail_at(place, ErrorKind::kUnsupported, "its shape {} has more than 2^40 elements",
                   shown(tensor.shape));
  const auto dtype = dtype_of(tensor.type);
  if (!dtype) return tensor;
  auto data = data_of(from, *dtype, elements, folder);
  if (!data) return fail_at(place, data.error().kind, "{}", data.error().message);
  tensor.data = std::move(*data);
  if (*dtype == Dtype::kBool) make_bools(tensor.data);
  return tensor;
}

}  // namespace lathe::onnx
