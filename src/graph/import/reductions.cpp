// Reductions, places of extremes, sums along an axis.
#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

struct Over {
  std::vector<std::size_t> axes;
  Shape shape;  // of the output
};

// Axes are an attribute, and an input in later versions.
Result<Over> over_of(const Site& site) {
  const std::size_t rank = site.shape(0).size();
  std::vector<std::int64_t> given = LATHE_TRY(site.integers("axes", {}));
  if (site.has(1)) given = LATHE_TRY(site.known_integers(1, "axes"));
  const bool keep = LATHE_TRY(site.integer("keepdims", 1)) != 0;
  Over over{LATHE_TRY(site.axes(given, rank)), {}};
  if (given.empty() && LATHE_TRY(site.integer("noop_with_empty_axes", 0)) == 0) {
    over.axes.resize(rank);
    std::iota(over.axes.begin(), over.axes.end(), 0);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    const bool reduced = std::ranges::binary_search(over.axes, d);
    if (!reduced) over.shape.push_back(site.shape(0)[d]);
    else if (keep) over.shape.push_back(1);
  }
  return over;
}

std::string listed(const std::vector<std::size_t>& axes) {
  return fmt::format("{}", fmt::join(axes, ","));
}

// Y = after(sum of before(x)): both have the hole {}. f16 and bf16 are computed in f32.
Made written(Site& site, const Over& over, const std::string& before, const std::string& after) {
  std::vector<std::string> iters, read, reduced;
  Shape kept;
  for (std::size_t d = 0; d < site.shape(0).size(); ++d) {
    const bool goes = std::ranges::binary_search(over.axes, d);
    const std::string iter = fmt::format("{}{}", goes ? 'k' : 'i', d);
    read.push_back(iter);
    (goes ? reduced : iters).push_back(goes ? iter : fmt::format("{}:{}", iter, site.shape(0)[d]));
    if (!goes) kept.push_back(site.shape(0)[d]);
  }
  if (iters.empty()) iters.emplace_back("one:1");
  const bool narrow = site.dtype(0) == Dtype::kF16 || site.dtype(0) == Dtype::kBF16;
  const std::string x =
      fmt::format(fmt::runtime(narrow ? "f32(X[{}])" : "X[{}]"), fmt::join(read, ","));
  const std::string term = fmt::format(fmt::runtime(before), x);
  std::string value =
      reduced.empty() ? term : fmt::format("(sum({}) {})", fmt::join(reduced, ","), term);
  value = fmt::format(fmt::runtime(after), value);
  if (narrow) value = fmt::format("{}({})", name_of(site.dtype(0)), value);
  return site.write(
      fmt::format("{}\noutput {}\nY[{}] = {}\n", declared("X", site.dtype(0), site.shape(0)),
                  declared("Y", site.dtype(0), kept), fmt::join(iters, ","), value),
      {site.input(0)}, over.shape);
}

// What the operator of compiler/ops does.
Row reduction(const char* name, const char* op) {
  return {name, 1, 1, [=](Site& site) -> Made {
            const Over over = LATHE_TRY(over_of(site));
            const bool mean = std::string_view(op) == "mean";
            if (over.axes.empty()) return std::vector<int>{site.view(site.input(0), over.shape)};
            const bool sums = std::string_view(op) == "sum" || std::string_view(op) == "prod";
            if (!is_float(site.dtype(0)) && (mean || (sums && size_of(site.dtype(0)) < 4)))
              return site.unsupported("its input is {}", name_of(site.dtype(0)));
            return site.call("reduce",
                             {{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                              {"op", op},
                              {"axes", listed(over.axes)},
                              {"dtype", std::string(name_of(site.dtype(0)))}},
                             {site.input(0)}, over.shape);
          }};
}

Row composed(const char* name, const char* before, const char* after) {
  return {name, 1, 1, [=](Site& site) -> Made {
            return written(site, LATHE_TRY(over_of(site)), before, after);
          }};
}

Made log_sum_exp(Site& site) {
  const Over over = LATHE_TRY(over_of(site));
  if (over.axes.empty()) return std::vector<int>{site.view(site.input(0), over.shape)};
  return site.call("logsumexp",
                   {{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                    {"axes", listed(over.axes)},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   {site.input(0)}, over.shape);
}

Row extreme(const char* name, const char* op) {
  return {name, 1, 1, [=](Site& site) -> Made {
            const std::size_t axis =
                LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), site.shape(0).size()));
            const bool keep = LATHE_TRY(site.integer("keepdims", 1)) != 0;
            Shape shape = site.shape(0);
            if (keep) shape[axis] = 1;
            else shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
            ops::Arguments arguments{{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                                     {"axes", std::to_string(axis)},
                                     {"dtype", std::string(name_of(site.dtype(0)))}};
            if (LATHE_TRY(site.integer("select_last_index", 0)) != 0) arguments["last"] = "true";
            return site.call(op, arguments, {site.input(0)}, shape);
          }};
}

Made cumulated(Site& site) {
  const auto given = LATHE_TRY(site.known_integers(1, "axes"));
  if (given.size() != 1) return site.wrong("it has {} axes", given.size());
  const Dtype dtype = site.dtype(0);
  if (!is_float(dtype) && size_of(dtype) < 4)
    return site.unsupported("its input is {}", name_of(dtype));
  const std::size_t axis = LATHE_TRY(site.axis(given[0], site.shape(0).size()));
  ops::Arguments arguments{{"input", fmt::format("{}", fmt::join(site.shape(0), ","))},
                           {"axis", std::to_string(axis)},
                           {"dtype", std::string(name_of(dtype))}};
  for (const char* flag : {"reverse", "exclusive"})
    if (LATHE_TRY(site.integer(flag, 0)) != 0) arguments[flag] = "true";
  return site.call("cumsum", arguments, {site.input(0)}, site.shape(0));
}

}  // namespace

std::vector<Row> reduction_rows() {
  return {reduction("ReduceMean", "mean"),
          reduction("ReduceSum", "sum"),
          reduction("ReduceMax", "max"),
          reduction("ReduceMin", "min"),
          reduction("ReduceProd", "prod"),
          composed("ReduceL1", "abs({})", "{}"),
          composed("ReduceL2", "{0} * {0}", "sqrt({})"),
          composed("ReduceSumSquare", "{0} * {0}", "{}"),
          composed("ReduceLogSum", "{}", "log({})"),
          {"ReduceLogSumExp", 1, 1, log_sum_exp},
          extreme("ArgMax", "argmax"),
          extreme("ArgMin", "argmin"),
          {"CumSum", 11, 2, cumulated}};
}

}  // namespace lathe::graph
