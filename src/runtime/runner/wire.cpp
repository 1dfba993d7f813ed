#include "runtime/runner/wire.h"

namespace lathe::runner {

Writer& Writer::text(std::string_view value) {
  put(static_cast<std::uint64_t>(value.size()));
  bytes_.append(value);
  return *this;
}

Writer& Writer::borders(const std::vector<tensor::Border>& borders) {
  put(static_cast<std::uint64_t>(borders.size()));
  for (const auto& border : borders) {
    text(border.name).put(border.dtype).list(border.shape);
    put(static_cast<std::uint64_t>(border.layout.size()));
    for (const auto& digit : border.layout)
      put(digit.dim).put(digit.weight).put(digit.extent).put(digit.stride).put(digit.within);
    put(border.size).put(static_cast<std::uint8_t>(border.constant));
  }
  return *this;
}

Writer& Writer::error(const Error& error) {
  return text(name_of(error.kind)).text(error.message).text(error.place);
}

std::string_view Reader::next(std::size_t size) {
  if (damaged_ || size > bytes_.size()) {
    damaged_ = true;
    return {};
  }
  const auto raw = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return raw;
}

std::string Reader::text() { return std::string(next(get<std::uint64_t>())); }

std::vector<tensor::Border> Reader::borders() {
  const auto count = get<std::uint64_t>();
  std::vector<tensor::Border> borders;
  for (std::uint64_t i = 0; i < count && !damaged_; ++i) {
    tensor::Border border;
    border.name = text();
    border.dtype = get<Dtype>();
    if (border.dtype > Dtype::kBool) damaged_ = true;
    border.shape = list<std::int64_t>();
    const auto digits = get<std::uint64_t>();
    for (std::uint64_t d = 0; d < digits && !damaged_; ++d) {
      tensor::Digit digit;
      digit.dim = get<int>();
      digit.weight = get<std::int64_t>();
      digit.extent = get<std::int64_t>();
      digit.stride = get<std::int64_t>();
      digit.within = get<std::int64_t>();
      border.layout.push_back(digit);
    }
    border.size = get<std::int64_t>();
    border.constant = flag();
    borders.push_back(std::move(border));
  }
  return borders;
}

Error Reader::error() {
  Error error;
  error.kind = error_kind_from_name(text());
  error.message = text();
  error.place = text();
  return error;
}

}  // namespace lathe::runner
