#include "api/borders.h"

#include <algorithm>

namespace lathe::api {
namespace {

using tensor::LayoutDigit;

// Where index `dim` of the tensor is in the merged index: (merged / weight) % extent.
struct Place {
  int merged;
  std::int64_t weight, extent;
  bool first;  // nothing of its group is above it
};

std::vector<Place> places_of(const std::vector<std::int64_t>& shape,
                             const std::vector<int>& merged) {
  std::vector<Place> places(shape.size());
  std::int64_t weight = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const bool last = d + 1 == shape.size() || merged[d + 1] != merged[d];
    weight = last ? 1 : weight * shape[d + 1];
    places[d] = {merged[d], weight, shape[d], d == 0 || merged[d - 1] != merged[d]};
  }
  return places;
}

LayoutDigit merged_digit(const LayoutDigit& digit, const Place& place) {
  LayoutDigit out{place.merged, digit.weight * place.weight, digit.extent, digit.stride};
  if (!place.first && place.extent % (digit.weight * digit.extent) != 0)
    out.within = place.weight * place.extent;
  return out;
}

// True if the outer digit goes on where the inner one ends, in the index and in storage.
bool joins(const LayoutDigit& outer, const LayoutDigit& inner) {
  return outer.dim == inner.dim && outer.within == 0 && inner.within == 0 &&
         outer.weight == inner.weight * inner.extent && outer.stride == inner.stride * inner.extent;
}

}  // namespace

void merge_dimensions(flat::Border& border, const te::Tensor& tensor) {
  if (tensor.border_shape.empty()) return;
  const auto merged = te::merged_dims(border.shape, tensor.border_shape);
  LATHE_CHECK(merged.has_value());
  const auto places = places_of(border.shape, *merged);
  std::vector<LayoutDigit> layout;
  for (const LayoutDigit& digit : border.layout) {
    if (digit.extent == 1) continue;
    const LayoutDigit next = merged_digit(digit, places[static_cast<std::size_t>(digit.dim)]);
    if (!layout.empty() && joins(layout.back(), next)) {
      layout.back().weight = next.weight;
      layout.back().stride = next.stride;
      layout.back().extent *= next.extent;
    } else {
      layout.push_back(next);
    }
  }
  border.layout = std::move(layout);
  border.shape = tensor.border_shape;
}

}  // namespace lathe::api
