// Operators that choose elements: the largest of a row, rows in reverse, those that a condition
// names. Windows of signals, which are known from their size.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

// Each element's place among its row is counted, and the element of each place is looked for: a
// sum over pairs, which is right and takes its time.
Made top_k(Site& site) {
  const auto k = LATHE_TRY(site.known_integers(1, "numbers"));
  const std::size_t rank = site.shape(0).size();
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", -1)), rank));
  const std::int64_t size = site.shape(0)[axis];
  if (k.size() != 1 || k[0] < 1 || k[0] > size)
    return site.wrong("it asks for [{}] of {} elements", fmt::join(k, ","), size);
  const bool largest = LATHE_TRY(site.integer("largest", 1)) != 0;
  std::vector<std::string> own(rank), other(rank), inner(rank);
  for (std::size_t d = 0; d < rank; ++d) own[d] = other[d] = inner[d] = fmt::format("i{}", d);
  other[axis] = "q";
  inner[axis] = "p";
  Shape shape = site.shape(0);
  shape[axis] = k[0];
  const std::string x = fmt::format("X[{}]", fmt::join(own, ",")),
                    y = fmt::format("X[{}]", fmt::join(other, ","));
  const std::string text =
      fmt::format("{}\nP[{}] = sum(q:{}) i64(select({} {} {} || {} == {} && q < i{}, 1, 0))\n",
                  declared("X", site.dtype(0), site.shape(0)), iterators(site.shape(0)), size, y,
                  largest ? ">" : "<", x, y, x, axis);
  const std::string there = fmt::format("P[{}] == i{}", fmt::join(inner, ","), axis);
  const std::string places =
      fmt::format("I[{}] = max(p:{}) select({}, p, 0)\n", iterators(shape), size, there);
  std::vector<int> ids;
  std::vector<std::string> found(rank);
  for (std::size_t d = 0; d < rank; ++d) found[d] = fmt::format("i{}", d);
  std::vector<std::string> read = found;
  read[axis] = fmt::format("min(max(I[{}], 0), {})", fmt::join(found, ","), size - 1);
  ids.push_back(LATHE_TRY(site.write(
      text + places + fmt::format("Y[{}] = X[{}]\n", iterators(shape), fmt::join(read, ",")),
      {site.input(0)}, shape))[0]);
  if (site.wants(1)) ids.push_back(LATHE_TRY(site.write(text + places, {site.input(0)}, shape))[0]);
  return ids;
}

// The first elements of each row along the time, as many as its length says, in reverse.
Made reversed(Site& site) {
  const std::size_t rank = site.shape(0).size();
  if (rank < 2) return site.wrong("its input is {}", typed(site.dtype(0), site.shape(0)));
  const std::size_t time = LATHE_TRY(site.axis(LATHE_TRY(site.integer("time_axis", 0)), rank)),
                    batch = LATHE_TRY(site.axis(LATHE_TRY(site.integer("batch_axis", 1)), rank));
  const Shape& shape = site.shape(0);
  if (time == batch || site.shape(1) != Shape{shape[batch]} || is_float(site.dtype(1)))
    return site.wrong("its lengths are {}", typed(site.dtype(1), site.shape(1)));
  std::vector<std::string> index;
  for (std::size_t d = 0; d < rank; ++d) index.push_back(fmt::format("i{}", d));
  const std::string length = fmt::format("i64(L[i{}])", batch);
  index[time] = fmt::format("min(max(select(i{0} < {1}, {1} - 1 - i{0}, i{0}), 0), {2})", time,
                            length, shape[time] - 1);
  return site.write(fmt::format("{}\n{}\nY[{}] = X[{}]\n", declared("X", site.dtype(0), shape),
                                declared("L", site.dtype(1), site.shape(1)), iterators(shape),
                                fmt::join(index, ",")),
                    {site.input(0), site.input(1)}, shape);
}

// A sum of cosines with these factors, of a window of a size.
Row window(const char* name, double first, double second, double third) {
  return {name, 17, 1, [=](Site& site) -> Made {
            const auto size = LATHE_TRY(site.known_integers(0, "sizes"));
            if (size.size() != 1 || size[0] < 1 || size[0] > 1 << 20)
              return site.wrong("its size is [{}]", fmt::join(size, ","));
            const std::int64_t type = LATHE_TRY(site.integer("output_datatype", 1));
            const auto dtype = onnx::dtype_of(static_cast<int>(type));
            if (!dtype || !is_float(*dtype))
              return site.unsupported("it makes {}", onnx::type_name(static_cast<int>(type)));
            const bool periodic = LATHE_TRY(site.integer("periodic", 1)) != 0;
            const auto steps = static_cast<double>(periodic ? size[0] : size[0] - 1);
            std::vector<double> values;
            for (std::int64_t n = 0; n < size[0]; ++n) {
              const double angle =
                  steps == 0 ? 0 : 2 * std::numbers::pi * static_cast<double>(n) / steps;
              values.push_back(first - second * std::cos(angle) + third * std::cos(2 * angle));
            }
            return std::vector<int>{site.constant(*dtype, {size[0]}, values)};
          }};
}

}  // namespace

std::vector<Row> selection_rows() {
  return {{"TopK", 10, 2, top_k},
          {"ReverseSequence", 10, 2, reversed},
          window("HannWindow", 0.5, 0.5, 0),
          window("HammingWindow", 25.0 / 46, 21.0 / 46, 0),
          window("BlackmanWindow", 0.42, 0.5, 0.08)};
}

}  // namespace lathe::graph
