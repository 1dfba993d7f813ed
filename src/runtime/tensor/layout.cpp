#include "runtime/tensor/layout.h"

#include <algorithm>
#include <cstring>

namespace lathe::tensor {
namespace {

// The storage offset of every value of one dimension. The offsets of all dimensions add up.
std::vector<std::int64_t> dim_offsets(const Border& border, int dim) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(border.shape[dim]), 0);
  for (const LayoutDigit& digit : border.layout) {
    if (digit.dim != dim) continue;
    for (std::size_t x = 0; x < offsets.size(); ++x)
      offsets[x] += digit.offset(static_cast<std::int64_t>(x));
  }
  return offsets;
}

// Calls visit(row-major index, storage index) for every element, in row-major order.
template <class Visitor>
void for_each_element(const Border& border, const Visitor& visit) {
  const std::int64_t elements = border.elements();
  if (elements == 0) return;
  const int rank = static_cast<int>(border.shape.size());
  if (rank == 0) return visit(0, 0);
  std::vector<std::vector<std::int64_t>> offsets;
  for (int d = 0; d < rank; ++d) offsets.push_back(dim_offsets(border, d));
  std::vector<std::int64_t> x(rank, 0);
  const auto& inner = offsets.back();
  for (std::int64_t row = 0; row < elements; row += border.shape.back()) {
    std::int64_t base = 0;
    for (int d = 0; d + 1 < rank; ++d) base += offsets[d][x[d]];
    for (std::size_t i = 0; i < inner.size(); ++i)
      visit(row + static_cast<std::int64_t>(i), base + inner[i]);
    for (int d = rank - 2; d >= 0; --d) {
      if (++x[d] < border.shape[d]) break;
      x[d] = 0;
    }
  }
}

template <class Word>
void copy_words(const Border& border, const void* from, void* to, bool packing) {
  const auto* source = static_cast<const Word*>(from);
  auto* target = static_cast<Word*>(to);
  if (packing)
    for_each_element(
        border, [&](std::int64_t plain, std::int64_t stored) { target[stored] = source[plain]; });
  else
    for_each_element(
        border, [&](std::int64_t plain, std::int64_t stored) { target[plain] = source[stored]; });
}

void copy(const Border& border, const void* from, void* to, bool packing) {
  switch (size_of(border.dtype)) {
    case 1: return copy_words<std::uint8_t>(border, from, to, packing);
    case 2: return copy_words<std::uint16_t>(border, from, to, packing);
    case 4: return copy_words<std::uint32_t>(border, from, to, packing);
    default: return copy_words<std::uint64_t>(border, from, to, packing);
  }
}

// True if the digits of dimension `dim` tell all its values apart: they are the digits of a number
// in a mixed radix.
bool digits_tell_apart(const Border& border, int dim) {
  std::vector<LayoutDigit> digits;
  for (const LayoutDigit& digit : border.layout)
    if (digit.dim == dim && digit.extent > 1) digits.push_back(digit);
  std::ranges::sort(digits, {}, &LayoutDigit::weight);
  std::int64_t values = 1;
  for (const LayoutDigit& digit : digits) {
    if (digit.weight != values) return false;
    if (digit.extent > (border.shape[dim] - 1) / values) return true;
    values *= digit.extent;
  }
  return border.shape[dim] == 1;
}

// A quick and sufficient test: offsets are numbers in a mixed radix, too. No digit and no stride is
// larger than 2^36.
bool clearly_unique(const Border& border) {
  std::vector<LayoutDigit> digits;
  for (const LayoutDigit& digit : border.layout) {
    if (digit.within > 0) return false;
    if (digit.extent > 1) digits.push_back(digit);
  }
  std::ranges::sort(digits, {}, &LayoutDigit::stride);
  std::int64_t reach = 0;  // the largest offset that the digits so far make
  for (const LayoutDigit& digit : digits) {
    if (digit.stride <= reach || (digit.extent - 1) > border.size / digit.stride) return false;
    reach += (digit.extent - 1) * digit.stride;
  }
  for (int dim = 0; dim < static_cast<int>(border.shape.size()); ++dim)
    if (!digits_tell_apart(border, dim)) return false;
  return true;
}

bool all_unique(const Border& border) {
  std::vector<bool> taken(static_cast<std::size_t>(border.size), false);
  bool unique = true;
  for_each_element(border, [&](std::int64_t, std::int64_t stored) {
    unique = unique && !taken[stored];
    taken[stored] = true;
  });
  return unique;
}

}  // namespace

std::int64_t Border::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

Border plain_border(std::string name, Dtype dtype, std::vector<std::int64_t> shape, bool constant) {
  Border border{
      .name = std::move(name), .dtype = dtype, .shape = std::move(shape), .constant = constant};
  std::int64_t stride = border.elements();
  for (std::size_t d = 0; d < border.shape.size(); ++d) {
    stride = border.shape[d] == 0 ? 0 : stride / border.shape[d];
    border.layout.push_back({static_cast<int>(d), 1, border.shape[d], stride});
  }
  border.size = border.elements();
  return border;
}

bool is_plain(const Border& border) {
  if (border.size != border.elements()) return false;
  if (border.layout == plain_border("", border.dtype, border.shape).layout) return true;
  bool plain = true;
  std::int64_t stride = border.size;
  for (std::size_t d = 0; d < border.shape.size() && plain; ++d) {
    stride = border.shape[d] == 0 ? 0 : stride / border.shape[d];
    const auto offsets = dim_offsets(border, static_cast<int>(d));
    for (std::size_t x = 0; x < offsets.size() && plain; ++x)
      plain = offsets[x] == stride * static_cast<std::int64_t>(x);
  }
  return plain;
}

Status verify(const Border& border) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 36;
  std::int64_t elements = 1;
  for (const std::int64_t extent : border.shape) {
    if (extent < 0 || extent > kLargest || (extent > 0 && elements > kLargest / extent))
      return fail_at(border.name, ErrorKind::kInvalidArgument,
                     "a program's tensor may have at most 2^36 elements, this one has more");
    elements *= extent;
  }
  if (border.size < elements || border.size > kLargest)
    return fail_at(border.name, ErrorKind::kInvalidArgument,
                   "storage of {} elements cannot hold {} elements", border.size, elements);
  const auto rank = static_cast<int>(border.shape.size());
  for (const LayoutDigit& digit : border.layout)
    if (digit.dim < 0 || digit.dim >= rank || digit.weight < 1 || digit.extent < 1 ||
        digit.stride < 0 || digit.stride > kLargest || digit.extent > kLargest || digit.within < 0)
      return fail_at(border.name, ErrorKind::kInvalidArgument, "a layout digit is out of range");
  if (elements == 0) return {};
  std::int64_t largest = 0;
  for (int d = 0; d < rank; ++d) {
    const auto offsets = dim_offsets(border, d);
    largest += *std::ranges::max_element(offsets);
  }
  if (largest >= border.size)
    return fail_at(border.name, ErrorKind::kInvalidArgument,
                   "the layout leaves its storage of {} elements", border.size);
  if (!clearly_unique(border) && !all_unique(border))
    return fail_at(border.name, ErrorKind::kInvalidArgument,
                   "two elements share one place in the layout");
  return {};
}

void pack(const Border& border, const void* plain, void* storage) {
  if (is_plain(border)) {
    std::memcpy(storage, plain, static_cast<std::size_t>(border.bytes()));
    return;
  }
  std::memset(storage, 0, static_cast<std::size_t>(border.bytes()));
  copy(border, plain, storage, true);
}

void unpack(const Border& border, const void* storage, void* plain) {
  if (is_plain(border)) std::memcpy(plain, storage, static_cast<std::size_t>(border.bytes()));
  else copy(border, storage, plain, false);
}

}  // namespace lathe::tensor
