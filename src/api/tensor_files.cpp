#include "api/tensor_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "base/file.h"
#include "graph/onnx/model.h"

namespace lathe::api {
namespace {

constexpr std::string_view kNumpyMagic("\x93NUMPY", 6);
constexpr std::size_t kNumpyAlignment = 64;  // of the first element in the file
struct NumpyType {
  std::string_view descr;
  Dtype dtype;
};
constexpr NumpyType kNumpyTypes[] = {
    {"<f4", Dtype::kF32}, {"<f8", Dtype::kF64}, {"<f2", Dtype::kF16}, {"|i1", Dtype::kI8},
    {"|u1", Dtype::kU8},  {"<i2", Dtype::kI16}, {"<u2", Dtype::kU16}, {"<i4", Dtype::kI32},
    {"<u4", Dtype::kU32}, {"<i8", Dtype::kI64}, {"|b1", Dtype::kBool}};

std::unexpected<Error> cut_off(const std::string& path, const char* what) {
  return fail_at(path, ErrorKind::kDataLoss, "{}", what);
}

// What follows a key of the header's dictionary: {'descr': '<f4', 'fortran_order': False, ...}.
std::optional<std::string_view> after_key(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::optional<graph::Shape> shape_in(std::string_view text) {
  if (!text.starts_with('(')) return {};
  graph::Shape shape;
  for (std::size_t at = 1; at < text.size();) {
    if (text[at] == ')') return shape;
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return {};
    shape.push_back(size);
    at = static_cast<std::size_t>(end - text.data());
  }
  return {};
}

// Takes the header off the front.
std::optional<std::string_view> take_header(std::string_view& bytes) {
  if (!bytes.starts_with(kNumpyMagic)) return {};
  bytes.remove_prefix(kNumpyMagic.size());
  std::uint8_t major = 0, minor = 0;
  if (!take_value(bytes, major) || !take_value(bytes, minor)) return {};
  std::uint32_t size = 0;
  std::uint16_t short_size = 0;
  if (major == 1 ? !take_value(bytes, short_size) : !take_value(bytes, size)) return {};
  if (major == 1) size = short_size;
  if (bytes.size() < size) return {};
  const std::string_view header = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return header;
}

Result<FileTensor> parse_npy(const std::string& path, std::string_view bytes) {
  const auto header = take_header(bytes);
  if (!header) return cut_off(path, "it is no .npy file of NumPy, or it is cut off");
  const auto descr = after_key(*header, "descr"), order = after_key(*header, "fortran_order"),
             shape_text = after_key(*header, "shape");
  const auto shape = shape_text ? shape_in(*shape_text) : std::nullopt;
  if (!descr || !order || !shape) return cut_off(path, "its header is not as NumPy writes it");
  const std::string_view type = descr->substr(descr->starts_with('\'') ? 1 : 0, 3);
  const auto* const known = std::ranges::find(kNumpyTypes, type, &NumpyType::descr);
  if (known == std::end(kNumpyTypes))
    return fail_at(
        path, ErrorKind::kUnsupported,
        "its elements are of the type {}; convert them with NumPy's astype() to a type that Lathe "
        "has, as float32, in this machine's byte order",
        descr->substr(0, descr->find_first_of(",}")));
  if (order->starts_with("True") && shape->size() > 1)
    return fail_at(path, ErrorKind::kUnsupported,
                   "its elements are in Fortran's order; save numpy.ascontiguousarray() of it");
  const std::int64_t elements = graph::elements_of(*shape);
  if (std::cmp_not_equal(bytes.size() / static_cast<std::size_t>(size_of(known->dtype)),
                         elements) ||
      bytes.size() % static_cast<std::size_t>(size_of(known->dtype)) != 0)
    return fail_at(path, ErrorKind::kDataLoss,
                   "it has {} bytes of elements, and {} are as many as its shape takes; it is cut "
                   "off, perhaps",
                   bytes.size(), graph::typed(known->dtype, *shape));
  const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
  return FileTensor{known->dtype, *shape, graph::Data::own({first, first + bytes.size()})};
}

Result<FileTensor> parse_proto(const std::string& path, std::string_view bytes) {
  auto tensor = onnx::parse_tensor(bytes);
  if (!tensor) return cut_off(path, "it is no TensorProto of ONNX, or it is cut off");
  const auto dtype = onnx::dtype_of(tensor->type);
  if (!dtype)
    return fail_at(path, ErrorKind::kUnsupported, "its elements are {}, which Lathe does not have",
                   onnx::type_name(tensor->type));
  return FileTensor{*dtype, std::move(tensor->shape), std::move(tensor->data)};
}

std::string npy_header(Dtype dtype, const graph::Shape& shape) {
  const auto* const type = std::ranges::find(kNumpyTypes, dtype, &NumpyType::dtype);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type->descr,
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kNumpyMagic.size() + 2 + sizeof(std::uint16_t);
  while ((before + header.size() + 1) % kNumpyAlignment != 0) header += ' ';
  return header + "\n";
}

}  // namespace

Result<FileTensor> read_tensor(const std::string& path) {
  const bool numpy = path.ends_with(".npy");
  if (!numpy && !path.ends_with(".pb"))
    return fail_at(path, ErrorKind::kInvalidArgument,
                   "tensors are read from files whose names end in .npy (numpy.save) or .pb "
                   "(TensorProto of ONNX)");
  const std::string bytes = LATHE_TRY(read_file(path));
  return numpy ? parse_npy(path, bytes) : parse_proto(path, bytes);
}

Status write_npy(const std::string& path, const FileTensor& tensor) {
  graph::Data data = tensor.data;
  Dtype dtype = tensor.dtype;
  if (dtype == Dtype::kBF16) {
    dtype = Dtype::kF32;
    std::vector<double> numbers;
    for (std::size_t at = 0; at < tensor.data.bytes.size(); at += 2)
      numbers.push_back(load_element(Dtype::kBF16, tensor.data.bytes.data() + at));
    data = graph::Data::of(dtype, numbers);
  }
  const std::string header = npy_header(dtype, tensor.shape);
  std::string bytes(kNumpyMagic);
  append_value(bytes, std::uint8_t{1});
  append_value(bytes, std::uint8_t{0});
  append_value(bytes, static_cast<std::uint16_t>(header.size()));
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
  return write_whole(path, bytes);
}

}  // namespace lathe::api
