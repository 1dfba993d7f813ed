// Operators that read where another input says. An index counts from the end where it is negative.
#include <algorithm>

#include <fmt/ranges.h>

#include "compiler/interp/scalar.h"
#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

std::string iter_list(std::size_t from, std::size_t to) {
  std::vector<std::string> iters;
  for (std::size_t d = from; d < to; ++d) iters.push_back(fmt::format("i{}", d));
  return fmt::format("{}", fmt::join(iters, ","));
}

// Writes the index that an element of I says, kept inside of `size` elements.
std::string place(const std::string& read, std::int64_t size) {
  return fmt::format("min(max(select({0} < 0, {0} + {1}, {0}), 0), {2})", "i64(" + read + ")", size,
                     size - 1);
}

Made looked_up(Site& site, const Shape& shape, const std::vector<std::string>& indices) {
  if (elements_of(shape) == 0) {
    if (!site.at(0).constant || !site.at(1).constant)
      return site.unsupported("its result has no elements");
    return std::vector<int>{site.constant(site.dtype(0), shape, std::span<const double>())};
  }
  return site.write(
      fmt::format("{}\n{}\noutput {}\nY[{}] = X[{}]\n", declared("X", site.dtype(0), site.shape(0)),
                  declared("I", site.dtype(1), site.shape(1)), declared("Y", site.dtype(0), shape),
                  iterators(shape), fmt::join(indices, ",")),
      {site.input(0), site.input(1)}, shape);
}

Status check_indices(const Site& site) {
  if (is_float(site.dtype(1)) || site.dtype(1) == Dtype::kBool)
    return site.wrong("its indices are {}", name_of(site.dtype(1)));
  return {};
}

Made gather(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), data.size()));
  Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), at.begin(), at.end());
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  std::vector<std::string> indices;
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (d < axis) indices.push_back(fmt::format("i{}", d));
    else if (d > axis) indices.push_back(fmt::format("i{}", d + at.size() - 1));
    else
      indices.push_back(place(
          fmt::format("I[{}]", at.empty() ? "0" : iter_list(axis, axis + at.size())), data[axis]));
  }
  return looked_up(site, shape, indices);
}

Made gather_elements(Site& site) {
  LATHE_TRY_STATUS(check_indices(site));
  const Shape &data = site.shape(0), &at = site.shape(1);
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), data.size()));
  bool fits = at.size() == data.size();
  for (std::size_t d = 0; fits && d < at.size(); ++d) fits = d == axis || at[d] <= data[d];
  if (!fits)
    return site.wrong("its data is {}, its indices are {}", typed(site.dtype(0), data),
                      typed(site.dtype(1), at));
  std::vector<std::string> indices;
  for (std::size_t d = 0; d < data.size(); ++d)
    indices.push_back(d == axis ? place(fmt::format("I[{}]", iter_list(0, at.size())), data[axis])
                                : fmt::format("i{}", d));
  return looked_up(site, at, indices);
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
  const auto first = static_cast<std::size_t>(batch), known = static_cast<std::size_t>(depth);
  Shape shape(at.begin(), at.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  std::vector<std::string> indices;
  for (std::size_t d = 0; d < data.size(); ++d) {
    if (d < first) indices.push_back(fmt::format("i{}", d));
    else if (d >= first + known)
      indices.push_back(fmt::format("i{}", d - first - known + at.size() - 1));
    else
      indices.push_back(place(fmt::format("I[{}{}{}]", iter_list(0, at.size() - 1),
                                          at.size() > 1 ? "," : "", d - first),
                              data[d]));
  }
  return looked_up(site, shape, indices);
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
  std::vector<std::string> others;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != axis) others.push_back(fmt::format("i{}", d));
  const std::string read =
      fmt::format("i64(I[{}])", others.empty() ? "0" : fmt::format("{}", fmt::join(others, ",")));
  return site.write(
      fmt::format("{}\n{}\noutput {}\nY[{}] = select({} == i{} || {} + {} == i{}, V[1], V[0])\n",
                  declared("I", site.dtype(0), at), declared("V", site.dtype(2), {2}),
                  declared("Y", site.dtype(2), shape), iterators(shape), read, axis, read, depth[0],
                  axis),
      {site.input(0), site.input(2)}, shape);
}

}  // namespace

std::vector<Row> lookup_rows() {
  return {{"Gather", 1, 2, gather},
          {"GatherElements", 11, 2, gather_elements},
          {"GatherND", 11, 2, gather_nd},
          {"OneHot", 9, 3, one_hot}};
}

}  // namespace lathe::graph
