// Operators that choose elements: the largest of a row, rows in reverse.

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

Made top_k(Site& site) {
  const auto k = LATHE_TRY(site.known_integers(1, "numbers"));
  const std::size_t axis =
      LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", -1)), site.shape(0).size()));
  const std::int64_t size = site.shape(0)[axis];
  if (k.size() != 1 || k[0] < 1 || k[0] > size)
    return site.wrong("it asks for [{}] of {} elements", fmt::join(k, ","), size);
  const bool largest = LATHE_TRY(site.integer("largest", 1)) != 0;
  return site.call("top_k",
                   {{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                    {"axis", std::to_string(axis)},
                    {"k", std::to_string(k[0])},
                    {"smallest", largest ? "false" : "true"},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   {site.input(0)});
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

}  // namespace

std::vector<Row> selection_rows() {
  return {{"TopK", 10, 2, top_k}, {"ReverseSequence", 10, 2, reversed}};
}

}  // namespace lathe::graph
