// Operators that read or write where another input says. An index counts from the end where it is
// negative.
#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "compiler/interp/scalar.h"
#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// One of the operators of compiler/ops, in which an index counts from the end where it is negative.
Made looked_up(Site& site, const char* op, ops::Arguments arguments, const Shape& shape) {
  if (elements_of(shape) == 0) {
    if (!site.at(0).constant || !site.at(1).constant)
      return site.unsupported("its result has no elements");
    return std::vector<int>{site.constant(site.dtype(0), shape, std::span<const double>())};
  }
  arguments["input"] = fmt::format("{}", fmt::join(at_least_1d(site.shape(0)), ","));
  arguments["indices"] = fmt::format("{}", fmt::join(at_least_1d(site.shape(1)), ","));
  arguments["dtype"] = name_of(site.dtype(0));
  arguments["index-dtype"] = name_of(site.dtype(1));
  arguments["outside"] = "negative";
  return site.call(op, std::move(arguments), {site.input(0), site.input(1)}, shape);
}

// What the updates of a place come to with the element: ONNX has "none" for the update itself.
Result<std::string> change_of(const Site& site) {
  const std::string change = LATHE_TRY(site.text("reduction", "none"));
  return change == "none" ? "update" : change;
}

// The same of operators that change places: data, indices, updates.
Made changed(Site& site, const char* op, ops::Arguments arguments, const Shape& updates) {
  if (site.shape(2) != updates || site.dtype(2) != site.dtype(0))
    return site.wrong("its data is {}, its indices are {}, its updates {}",
                      typed(site.dtype(0), site.shape(0)), typed(site.dtype(1), site.shape(1)),
                      typed(site.dtype(2), site.shape(2)));
  if (elements_of(updates) == 0) return std::vector<int>{site.view(site.input(0), site.shape(0))};
  arguments["op"] = LATHE_TRY(change_of(site));
  arguments["input"] = fmt::format("{}", fmt::join(site.shape(0), ","));
  arguments["indices"] = fmt::format("{}", fmt::join(site.shape(1), ","));
  arguments["dtype"] = name_of(site.dtype(0));
  arguments["index-dtype"] = name_of(site.dtype(1));
  arguments["outside"] = "negative";
  return site.call(op, std::move(arguments), {site.input(0), site.input(1), site.input(2)},
                   site.shape(0));
}

Status check_indices(const Site& site) {
  if (is_float(site.dtype(1)) || site.dtype(1) == Dtype::kBool)
    return site.wrong("its indices are {}", name_of(site.dtype(1)));
  return {};
}

// What stands at a place that is known is a slice, which needs no look-up; none where it is not.
std::optional<std::int64_t> known_place(const Site& site, std::size_t axis) {
  if (site.at(0).constant || !site.at(1).constant || site.at(1).elements() != 1)
    return std::nullopt;
  const std::int64_t size = site.shape(0)[axis], given = interp::whole(numbers_of(site.at(1))[0]);
  const std::int64_t place = given < 0 ? given + size : given;
  return place >= 0 && place < size ? std::optional(place) : std::nullopt;
}

Made gather(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), data.size()));
  Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), at.begin(), at.end());
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  if (const auto place = known_place(site, axis))
    return site.call("slice",
                     {{"input", fmt::format("{}", fmt::join(data, ","))},
                      {"axes", std::to_string(axis)},
                      {"begin", std::to_string(*place)},
                      {"end", std::to_string(*place + 1)},
                      {"dtype", std::string(name_of(site.dtype(0)))}},
                     {site.input(0)}, shape);
  return looked_up(site, "gather", {{"axis", std::to_string(axis)}}, shape);
}

// The axis along which an element of the indices, which have the rank of the data, says where.
Result<std::size_t> axis_of_elements(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), data.size()));
  bool fits = at.size() == data.size();
  for (std::size_t d = 0; fits && d < at.size(); ++d) fits = d == axis || at[d] <= data[d];
  if (!fits)
    return site.wrong("its data is {}, its indices are {}", typed(site.dtype(0), data),
                      typed(site.dtype(1), at));
  return axis;
}

Made gather_elements(Site& site) {
  const std::size_t axis = LATHE_TRY(axis_of_elements(site));
  return looked_up(site, "gather_elements", {{"axis", std::to_string(axis)}}, site.shape(1));
}

Made gather_nd(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::int64_t batch = LATHE_TRY(site.integer("batch_dims", 0));
  const std::int64_t depth = at.empty() ? 0 : at.back();
  if (batch < 0 || depth < 1 || batch + depth > static_cast<std::int64_t>(data.size()) ||
      batch >= static_cast<std::int64_t>(at.size()))
    return site.wrong("its data is {}, its indices are {} with {} dimensions of a batch",
                      typed(site.dtype(0), data), typed(site.dtype(1), at), batch);
  Shape shape(at.begin(), at.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  return looked_up(site, "gather_nd", {{"batch-dims", std::to_string(batch)}}, shape);
}

Made scatter_elements(Site& site) {
  const std::size_t axis = LATHE_TRY(axis_of_elements(site));
  return changed(site, "scatter_elements", {{"axis", std::to_string(axis)}}, site.shape(1));
}

Made scatter_nd(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::int64_t depth = at.empty() ? 0 : at.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.size()))
    return site.wrong("its data is {}, its indices are {}", typed(site.dtype(0), data),
                      typed(site.dtype(1), at));
  Shape updates(at.begin(), at.end() - 1);
  updates.insert(updates.end(), data.begin() + depth, data.end());
  return changed(site, "scatter_nd", {}, updates);
}

// Of what a condition names that is known: it is a lookup at places that are known.
Made compressed(Site& site) {
  const auto condition = LATHE_TRY(site.known(1, "conditions"));
  Shape data = site.shape(0);
  int value = site.input(0);
  if (!site.given("axis")) {
    data = {site.at(0).elements()};
    value = site.view(value, data);
  }
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), data.size()));
  std::vector<double> places;
  for (std::size_t e = 0; e < condition.size(); ++e)
    if (condition[e] != 0) places.push_back(static_cast<double>(e));
  if (site.dtype(1) != Dtype::kBool || std::cmp_greater(condition.size(), data[axis]))
    return site.wrong("its condition is {}, for {} elements", typed(site.dtype(1), site.shape(1)),
                      data[axis]);
  Shape shape = data;
  shape[axis] = std::ssize(places);
  if (places.empty()) return site.unsupported("its condition leaves nothing");
  const int indices = site.constant(Dtype::kI64, {shape[axis]}, places);
  return site.call("gather",
                   {{"input", fmt::format("{}", fmt::join(data, ","))},
                    {"indices", std::to_string(shape[axis])},
                    {"axis", std::to_string(axis)},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   {value, indices}, shape);
}

Made one_hot(Site& site) {
  const auto given = LATHE_TRY(site.known(1, "depths"));
  std::vector<std::int64_t> depth(given.size());
  std::ranges::transform(given, depth.begin(), interp::whole);
  if (depth.size() != 1 || depth[0] < 1) return site.wrong("its depth is no number from 1");
  const Shape& at = site.shape(0);
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", -1)), at.size() + 1));
  if (site.at(2).elements() != 2) return site.wrong("it needs two values");
  Shape shape = at;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth[0]);
  int places = site.input(0);
  if (is_float(site.dtype(0)))
    places = LATHE_TRY(element_wise(site, "i64({0})", {places}, Dtype::kI64))[0];
  return site.call("one_hot",
                   {{"input", fmt::format("{}", fmt::join(at_least_1d(at), ","))},
                    {"depth", std::to_string(depth[0])},
                    {"axis", std::to_string(axis + (at.empty() ? 1 : 0))},
                    {"negative", "true"},
                    {"values", "true"},
                    {"index-dtype", std::string(name_of(site.value(places).dtype))},
                    {"dtype", std::string(name_of(site.dtype(2)))}},
                   {places, site.input(2)}, shape);
}

}  // namespace

std::vector<Row> lookup_rows() {
  return {{"Gather", 1, 2, gather},
          {"GatherElements", 11, 2, gather_elements},
          {"GatherND", 11, 2, gather_nd},
          {"ScatterElements", 11, 3, scatter_elements},
          {"Scatter", 9, 3, scatter_elements},
          {"ScatterND", 11, 3, scatter_nd},
          {"Compress", 9, 2, compressed},
          {"OneHot", 9, 3, one_hot}};
}

}  // namespace lathe::graph
