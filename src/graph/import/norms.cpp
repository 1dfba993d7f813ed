// Softmax and norms.
#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

ops::Arguments row_arguments(const Site& site) {
  return {{"input", fmt::format("{}", fmt::join(at_least_1d(site.shape(0)), ","))},
          {"dtype", std::string(name_of(site.dtype(0)))}};
}

Result<std::string> eps_of(const Site& site) {
  return number_text(LATHE_TRY(site.real("epsilon", 1e-5)));
}

std::string axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::size_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return fmt::format("{}", fmt::join(axes, ","));
}

// From version 13 on along one axis; before, all from the axis on are a row.
Result<std::string> softmax_axes(const Site& site) {
  const std::size_t rank = site.shape(0).size();
  const std::size_t axis = LATHE_TRY(site.axis(
      LATHE_TRY(site.integer("axis", site.version() < 13 ? 1 : -1)), rank, site.version() < 13));
  return site.version() < 13 ? axes_from(axis, rank) : std::to_string(axis);
}

Row row_wise(const char* name, const char* op) {
  return {name, 1, 1, [=](Site& site) -> Made {
            ops::Arguments arguments = row_arguments(site);
            arguments["axes"] = LATHE_TRY(softmax_axes(site));
            if (arguments["axes"].empty()) return site.unsupported("its rows are one element");
            return site.call(op, arguments, {site.input(0)}, site.shape(0));
          }};
}

Made hardmax(Site& site) {
  if (site.version() < 13) return site.unsupported("its rows go over several dimensions");
  const std::size_t rank = site.shape(0).size();
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", -1)), rank));
  ops::Arguments arguments = row_arguments(site);
  arguments["axes"] = std::to_string(axis);
  Shape others = site.shape(0);
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
  const int place = LATHE_TRY(site.call("argmax", arguments, {site.input(0)}, others))[0];
  return site.call("one_hot",
                   {{"input", fmt::format("{}", fmt::join(at_least_1d(others), ","))},
                    {"depth", std::to_string(site.shape(0)[axis])},
                    {"axis", std::to_string(axis + (others.empty() ? 1 : 0))},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   {place}, site.shape(0));
}

Status check_channels(const Site& site, std::size_t from, std::size_t to) {
  if (site.shape(0).size() < 2)
    return site.wrong("its input is {}", typed(site.dtype(0), site.shape(0)));
  for (std::size_t i = from; i < to; ++i)
    if (!site.has(i) || site.shape(i) != Shape{site.shape(0)[1]} || site.dtype(i) != site.dtype(0))
      return site.has(i) && site.dtype(i) != site.dtype(0)
                 ? Status(site.unsupported("its inputs are {} and {}", name_of(site.dtype(0)),
                                           name_of(site.dtype(i))))
                 : Status(site.wrong("input {} must have one {} for each of {} channels", i,
                                     name_of(site.dtype(0)), site.shape(0)[1]));
  return {};
}

Made batch_norm(Site& site) {
  LATHE_TRY_STATUS(check_channels(site, 1, 5));
  if (LATHE_TRY(site.integer("training_mode", 0)) != 0 || site.wants(1))
    return site.unsupported("it computes statistics, as in training");
  if (LATHE_TRY(site.integer("spatial", 1)) != 1)
    return site.unsupported("its attribute spatial is 0");
  ops::Arguments arguments = row_arguments(site);
  arguments["eps"] = LATHE_TRY(eps_of(site));
  return site.call("batch_norm", arguments,
                   {site.input(0), site.input(1), site.input(2), site.input(3), site.input(4)},
                   site.shape(0));
}

Made instance_norm(Site& site) {
  LATHE_TRY_STATUS(check_channels(site, 1, 3));
  ops::Arguments arguments = row_arguments(site);
  arguments["groups"] = std::to_string(site.shape(0)[1]);
  arguments["eps"] = LATHE_TRY(eps_of(site));
  return site.call("group_norm", arguments, {site.input(0), site.input(1), site.input(2)},
                   site.shape(0));
}

// From version 21 on, scale and shift have an element a channel; before, one a group.
Made group_norm(Site& site) {
  if (site.version() < 21) return site.unsupported("its scale is one number for each group");
  LATHE_TRY_STATUS(check_channels(site, 1, 3));
  ops::Arguments arguments = row_arguments(site);
  arguments["groups"] = std::to_string(LATHE_TRY(site.integer("num_groups", 0)));
  arguments["eps"] = LATHE_TRY(eps_of(site));
  return site.call("group_norm", arguments, {site.input(0), site.input(1), site.input(2)},
                   site.shape(0));
}

Made layer_norm(Site& site) {
  const std::size_t rank = site.shape(0).size();
  const std::size_t axis = LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", -1)), rank));
  const Shape row(site.shape(0).begin() + static_cast<std::ptrdiff_t>(axis), site.shape(0).end());
  std::vector<int> inputs{site.input(0)};
  for (std::size_t i = 1; i < 3; ++i) {
    if (!site.has(i)) continue;
    if (site.shape(i) != row || site.dtype(i) != site.dtype(0))
      return site.unsupported("its input {} is {}, and a row is {}", i,
                              typed(site.dtype(i), site.shape(i)), typed(site.dtype(0), row));
    inputs.push_back(site.input(i));
  }
  ops::Arguments arguments = row_arguments(site);
  arguments["axes"] = axes_from(axis, rank);
  arguments["eps"] = LATHE_TRY(eps_of(site));
  if (!site.has(2)) arguments["no-shift"] = "true";
  if (!site.wants(1) && !site.wants(2))
    return site.call("layer_norm", arguments, inputs, site.shape(0));
  arguments["statistics"] = "true";
  auto ids = LATHE_TRY(site.call("layer_norm", arguments, inputs));
  Shape kept = site.shape(0);
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(axis), kept.end(), 1);
  for (std::size_t o = 0; o < ids.size(); ++o)
    ids[o] = site.view(ids[o], o == 0 ? site.shape(0) : kept);
  return ids;
}

// Each element over a power of the squares of its neighbours among the channels.
Made local_response(Site& site) {
  const std::int64_t size = LATHE_TRY(site.integer("size", 0));
  if (size < 1 || size > 1 << 20 || site.shape(0).size() < 2 || !is_float(site.dtype(0)))
    return site.wrong("its size is {}, its input {}", size, typed(site.dtype(0), site.shape(0)));
  std::vector<std::string> all, near;
  for (std::size_t d = 0; d < site.shape(0).size(); ++d) {
    all.push_back(fmt::format("i{}", d));
    near.push_back(d == 1 ? fmt::format("i1 + k - {}", (size - 1) / 2) : all.back());
  }
  const double alpha = LATHE_TRY(site.real("alpha", 1e-4));
  return site.write(
      fmt::format("{0}\noutput {1}\n"
                  "Y[{2}] = X[{3}] * pow({4} + {5} * (sum(k:{6}) X[{7} else 0] * X[{7} else 0]), "
                  "-{8})\n",
                  declared("X", site.dtype(0), site.shape(0)),
                  declared("Y", site.dtype(0), site.shape(0)), iterators(site.shape(0)),
                  fmt::join(all, ","), number_text(LATHE_TRY(site.real("bias", 1))),
                  number_text(alpha / static_cast<double>(size)), size, fmt::join(near, ","),
                  number_text(LATHE_TRY(site.real("beta", 0.75)))),
      {site.input(0)});
}

// Less their mean, over their deviation.
Made mean_variance(Site& site) {
  const auto axes =
      LATHE_TRY(site.axes(LATHE_TRY(site.integers("axes", {0, 2, 3})), site.shape(0).size()));
  Shape kept = site.shape(0);
  for (const std::size_t axis : axes) kept[axis] = 1;
  const auto mean = [&](int id) {
    ops::Arguments arguments = row_arguments(site);
    arguments["op"] = "mean";
    arguments["axes"] = fmt::format("{}", fmt::join(axes, ","));
    return site.call("reduce", arguments, {id}, kept);
  };
  if (axes.empty() || !is_float(site.dtype(0)))
    return site.unsupported("its input is {}", typed(site.dtype(0), site.shape(0)));
  const int middle = LATHE_TRY(mean(site.input(0)))[0];
  const int apart = LATHE_TRY(element_wise(site, "{0} - {1}", {site.input(0), middle}))[0];
  const int square = LATHE_TRY(element_wise(site, "{0} * {0}", {apart}))[0];
  return element_wise(site, "{0} / (sqrt({1}) + 1e-9)", {apart, LATHE_TRY(mean(square))[0]});
}

}  // namespace

std::vector<Row> norm_rows() {
  return {row_wise("Softmax", "softmax"),
          row_wise("LogSoftmax", "log_softmax"),
          {"Hardmax", 13, 1, hardmax},
          {"BatchNormalization", 7, 5, batch_norm},
          {"InstanceNormalization", 6, 3, instance_norm},
          {"GroupNormalization", 21, 3, group_norm},
          {"LayerNormalization", 17, 2, layer_norm},
          {"MeanVarianceNormalization", 9, 1, mean_variance},
          {"LRN", 1, 1, local_response}};
}

}  // namespace lathe::graph
