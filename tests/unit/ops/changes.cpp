// Tensors that are changed at places that are data, against plain loops over the updates.
#include <cmath>

#include <fmt/ranges.h>

#include "unit/ops/places.h"

namespace lathe::ops {
namespace {

double changed(const std::string& op, double element, double update) {
  if (op == "add") return element + update;
  if (op == "mul") return element * update;
  if (op == "max") return std::isnan(update) ? update : std::max(element, update);
  if (op == "min") return std::isnan(update) ? update : std::min(element, update);
  return update;
}

std::size_t offset_of(const Index& shape, const Index& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + index[d];
  return static_cast<std::size_t>(offset);
}

struct Change {
  Index input, indices;
  std::string op, outside;
  const char* index_dtype = "i64";
  const char* dtype = "f64";

  Arguments arguments() const {
    return {{"input", list(input)}, {"indices", list(indices)},   {"op", op},
            {"outside", outside},   {"index-dtype", index_dtype}, {"dtype", dtype}};
  }
};

std::vector<interp::Tensor> inputs_of(const te::Workload& workload, const Change& c,
                                      std::int64_t size) {
  Rng rng(71);
  auto inputs = interp::random_inputs(workload, rng);
  inputs[1] = indices_of(c.indices, size, c.outside, c.index_dtype, 72);
  if (inputs[0].dtype == Dtype::kF64) inputs[2].values.back() = std::nan("");
  return inputs;
}

void check_elements(const Change& c, std::int64_t axis) {
  Arguments arguments = c.arguments();
  arguments["axis"] = std::to_string(axis);
  SCOPED_TRACE(fmt::format("{}", arguments));
  const auto d = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(c.input) : axis);
  const te::Workload workload = built("scatter_elements", arguments);
  const Evaluation r = evaluated(workload, inputs_of(workload, c, c.input[d]));
  std::vector<double> want = r.inputs[0].values;
  each_index(c.indices, [&](const Index& index) {
    Index place = index;
    place[d] = place_of(whole(at(r.inputs[1], index)), c.input[d], c.outside);
    if (place[d] == kNowhere) return;
    double& element = want[offset_of(c.input, place)];
    element = changed(c.op, element, at(r.inputs[2], index));
  });
  expect_output(r, c.input, [&](const Index& y) { return want[offset_of(c.input, y)]; });
}

TEST(ScatterElements, AnyChangeWhateverIsOutside) {
  for (const char* op : {"update", "add", "mul", "max", "min"})
    for (const char* outside : {"promised", "negative", "clip", "wrap", "drop"}) {
      check_elements({{7}, {5}, op, outside}, 0);
      check_elements({{7}, {1}, op, outside, "i8", "i64"}, 0);
      check_elements({{1, 1}, {1, 1}, op, outside, "u8"}, -1);
      check_elements({{3, 5}, {3, 11}, op, outside, "i32"}, -1);
      check_elements({{4, 5, 3}, {2, 13, 2}, op, outside}, 1);
      check_elements({{5, 3, 4}, {7, 3, 4}, op, outside}, 0);
    }
  check_elements({{3, 5}, {3, 9}, "update", "negative", "i64", "bool"}, 1);
}

void check_places(const Change& c) {
  SCOPED_TRACE(fmt::format("{}", c.arguments()));
  const auto coordinates = static_cast<std::size_t>(c.indices.back());
  const std::int64_t least = *std::min_element(
      c.input.begin(), c.input.begin() + static_cast<std::ptrdiff_t>(coordinates));
  const te::Workload workload = built("scatter_nd", c.arguments());
  const Evaluation r = evaluated(workload, inputs_of(workload, c, least));
  std::vector<double> want = r.inputs[0].values;
  const Index leading(c.indices.begin(), c.indices.end() - 1),
      slice(c.input.begin() + static_cast<std::ptrdiff_t>(coordinates), c.input.end());
  std::size_t update = 0;
  each_index(leading, [&](const Index& k) {
    Index place, coordinate = k;
    coordinate.push_back(0);
    for (std::size_t a = 0; a < coordinates; ++a) {
      coordinate.back() = static_cast<std::int64_t>(a);
      place.push_back(place_of(whole(at(r.inputs[1], coordinate)), c.input[a], c.outside));
    }
    const bool nowhere = std::ranges::count(place, kNowhere) > 0;
    each_index(slice, [&](const Index& rest) {
      const double given = r.inputs[2].values.at(update++);
      Index element = place;
      element.insert(element.end(), rest.begin(), rest.end());
      if (nowhere) return;
      double& old = want[offset_of(c.input, element)];
      old = changed(c.op, old, given);
    });
  });
  expect_output(r, c.input, [&](const Index& y) { return want[offset_of(c.input, y)]; });
}

TEST(ScatterNd, SlicesAndElementsAtAnyPlaces) {
  for (const char* op : {"update", "add", "mul", "max", "min"})
    for (const char* outside : {"promised", "negative", "clip", "wrap", "drop"}) {
      check_places({{7}, {5, 1}, op, outside});
      check_places({{7}, {1}, op, outside, "i32"});
      check_places({{3, 5}, {11, 2}, op, outside, "i8"});
      check_places({{3, 5}, {2, 3, 1}, op, outside, "u8"});
      check_places({{3, 300}, {2, 2}, op, outside, "i8", "i64"});
      check_places({{4, 1, 3}, {2, 1, 3}, op, outside});
      check_places({{2, 3, 5, 2}, {7, 2}, op, outside});
    }
  check_places({{5, 2}, {9, 1}, "update", "negative", "i64", "bool"});
}

}  // namespace
}  // namespace lathe::ops
