// Elements, slices and rows of a table at places that are data, against plain loops.
#include <cmath>
#include <limits>

#include <fmt/ranges.h>

#include "unit/ops/places.h"

namespace lathe::ops {
namespace {

constexpr double kFill = -7;
const std::vector<std::string>& meanings() {
  static const std::vector<std::string> all = {"promised", "negative", "clip", "wrap", "fill"};
  return all;
}

Evaluation looked_up(const char* name, const Arguments& arguments, std::int64_t size,
                     std::uint64_t seed) {
  const te::Workload p = built(name, arguments);
  Rng rng(seed);
  auto inputs = interp::random_inputs(p, rng);
  inputs[1] = indices_of(inputs[1].shape, size, arguments.at("outside"),
                         arguments.at("index-dtype").c_str(), seed);
  inputs[0].values.front() = std::numeric_limits<double>::infinity();
  return evaluated(p, std::move(inputs));
}

Arguments lookup_arguments(const std::string& outside, const char* index_dtype) {
  Arguments out = {{"outside", outside}, {"index-dtype", index_dtype}};
  if (outside == "fill") out["value"] = "-7";
  return out;
}

void check_gather(const Index& input, const Index& indices, std::int64_t axis,
                  const std::string& outside, const char* index_dtype) {
  Arguments arguments = lookup_arguments(outside, index_dtype);
  arguments["input"] = list(input);
  arguments["indices"] = list(indices);
  arguments["axis"] = std::to_string(axis);
  SCOPED_TRACE(fmt::format("{}", arguments));
  const auto d = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(input) : axis);
  const Evaluation r = looked_up("gather", arguments, input[d], 41);
  const auto at_axis = static_cast<std::ptrdiff_t>(d);
  Index shape(input.begin(), input.begin() + at_axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), input.begin() + at_axis + 1, input.end());
  expect_output(r, shape, [&](const Index& y) {
    const auto first = y.begin() + at_axis, last = first + std::ssize(indices);
    const std::int64_t place = place_of(whole(at(r.inputs[1], {first, last})), input[d], outside);
    if (place == kNowhere) return kFill;
    Index x(y.begin(), first);
    x.push_back(place);
    x.insert(x.end(), last, y.end());
    return at(r.inputs[0], x);
  });
}

TEST(Gather, AlongAnyAxisWhateverIsOutside) {
  for (const std::string& outside : meanings())
    for (const char* index_dtype : {"i64", "i32", "i8", "u8"}) {
      check_gather({7}, {5}, 0, outside, index_dtype);
      check_gather({1, 1}, {1}, -1, outside, index_dtype);
      check_gather({5, 7}, {2, 3}, 0, outside, index_dtype);
      check_gather({3, 5, 7}, {2, 3}, 1, outside, index_dtype);
      check_gather({3, 5, 7}, {11}, -1, outside, index_dtype);
    }
}

TEST(Gather, ARangeIsOneOfTheIndexType) {
  for (const char* outside : {"promised", "negative"})
    for (const char* dtype : {"i8", "u8"}) {
      const te::Workload p = built(
          "gather",
          {{"input", "500,3"}, {"indices", "9"}, {"outside", outside}, {"index-dtype", dtype}});
      EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.outputs()[0])].shape, (Index{9, 3}));
    }
}

TEST(GatherElements, AsTakeAlongAxis) {
  for (const std::string& outside : meanings())
    for (const std::int64_t axis : {0, 1, -1}) {
      const Index input = {4, 5, 7};
      const auto d = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      for (const std::int64_t places : {1, 3, 13}) {
        Index indices = input;
        if (places == 3) indices = {2, 5, 6};  // less than there is
        indices[d] = places;
        Arguments arguments = lookup_arguments(outside, "i32");
        arguments["input"] = list(input);
        arguments["indices"] = list(indices);
        arguments["axis"] = std::to_string(axis);
        const Evaluation r = looked_up("gather_elements", arguments, input[d], 42);
        expect_output(r, indices, [&](const Index& y) {
          Index x = y;
          x[d] = place_of(whole(at(r.inputs[1], y)), input[d], outside);
          return x[d] == kNowhere ? kFill : at(r.inputs[0], x);
        });
      }
    }
}

// The coordinates are for dimensions of different sizes: indices that are right for the smallest.
void check_gather_nd(const Index& input, const Index& indices, std::size_t batch,
                     const std::string& outside) {
  Arguments arguments = lookup_arguments(outside, "i64");
  arguments["input"] = list(input);
  arguments["indices"] = list(indices);
  arguments["batch-dims"] = std::to_string(batch);
  SCOPED_TRACE(fmt::format("{}", arguments));
  const auto coordinates = static_cast<std::size_t>(indices.back());
  std::int64_t least = input[batch];
  for (std::size_t c = 0; c < coordinates; ++c) least = std::min(least, input[batch + c]);
  const Evaluation r = looked_up("gather_nd", arguments, least, 43);
  Index shape(indices.begin(), indices.end() - 1);
  const std::size_t leading = shape.size();
  for (std::size_t d = batch + coordinates; d < input.size(); ++d) shape.push_back(input[d]);
  const bool single = shape.empty();
  if (single) shape.push_back(1);
  expect_output(r, shape, [&](const Index& y) {
    Index at_index(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(leading));
    Index x(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(batch));
    at_index.push_back(0);
    for (std::size_t c = 0; c < coordinates; ++c) {
      at_index.back() = static_cast<std::int64_t>(c);
      x.push_back(place_of(whole(at(r.inputs[1], at_index)), input[batch + c], outside));
      if (x.back() == kNowhere) return kFill;
    }
    if (!single) x.insert(x.end(), y.begin() + static_cast<std::ptrdiff_t>(leading), y.end());
    return at(r.inputs[0], x);
  });
}

TEST(GatherNd, PlacesOfSeveralCoordinates) {
  for (const std::string& outside : meanings()) {
    check_gather_nd({5, 7, 3}, {4, 2}, 0, outside);
    check_gather_nd({5, 7, 3}, {2, 3, 3}, 0, outside);
    check_gather_nd({5, 7}, {2}, 0, outside);
    check_gather_nd({5, 7, 3}, {5, 2, 1}, 1, outside);
    check_gather_nd({2, 3, 5, 4}, {2, 3, 1}, 2, outside);
  }
}

void check_embedding(const Index& table, const Index& indices, const std::string& bag,
                     const std::string& outside, const char* dtype) {
  Arguments arguments = lookup_arguments(outside, "i64");
  if (outside == "fill" && std::string(dtype) == "u8") arguments["value"] = "0";
  arguments["table"] = list(table);
  arguments["indices"] = list(indices);
  arguments["bag"] = bag;
  arguments["dtype"] = dtype;
  SCOPED_TRACE(fmt::format("{}", arguments));
  const te::Workload p = built("embedding", arguments);
  Rng rng(44);
  auto inputs = interp::random_inputs(p, rng);
  inputs[1] = indices_of(indices, table[0], outside, "i64", 44);
  const Evaluation r = evaluated(p, std::move(inputs));
  const double fill = std::string(dtype) == "u8" ? 0 : kFill;
  const auto row = [&](const Index& index, std::int64_t j) {
    const std::int64_t place = place_of(whole(at(r.inputs[1], index)), table[0], outside);
    return place == kNowhere ? fill : at(r.inputs[0], {place, j});
  };
  Index shape = indices;
  if (bag != "none") shape.pop_back();
  shape.push_back(table[1]);
  expect_output(r, shape, [&](const Index& y) {
    Index index(y.begin(), y.end() - 1);
    if (bag == "none") return row(index, y.back());
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    index.push_back(0);
    for (; index.back() < indices.back(); ++index.back()) {
      sum += row(index, y.back());
      most = std::max(most, row(index, y.back()));
    }
    return bag == "max" ? most : bag == "sum" ? sum : sum / static_cast<double>(indices.back());
  });
}

TEST(Embedding, RowsAndWhatBagsComeTo) {
  for (const std::string& outside : meanings()) {
    for (const char* bag : {"none", "sum", "mean", "max"})
      for (const char* dtype : {"f32", "bf16"}) {
        check_embedding({11, 5}, {7}, bag, outside, dtype);
        check_embedding({1, 1}, {1}, bag, outside, dtype);
        check_embedding({13, 3}, {2, 5}, bag, outside, dtype);
      }
    for (const char* bag : {"none", "sum", "max"})
      check_embedding({9, 4}, {3, 4}, bag, outside, "u8");
  }
}

}  // namespace
}  // namespace lathe::ops
