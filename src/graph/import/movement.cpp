// Operators that put elements elsewhere.
#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

std::string joined(const std::vector<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

ops::Arguments of_input(const Site& site) {
  return {{"input", joined(at_least_1d(site.shape(0)))},
          {"dtype", std::string(name_of(site.dtype(0)))}};
}

bool is_bool(const Site& site, std::size_t input) { return site.dtype(input) == Dtype::kBool; }

// Y[i0,...] = X[at(d)] for each dimension d of X.
Made picked(Site& site, const Shape& shape, const std::vector<std::string>& indices,
            const std::string& outside = "") {
  return site.write(
      fmt::format("{}\noutput {}\nY[{}] = X[{}{}]\n", declared("X", site.dtype(0), site.shape(0)),
                  declared("Y", site.dtype(0), shape), iterators(shape),
                  indices.empty() ? "0" : fmt::format("{}", fmt::join(indices, ",")), outside),
      {site.input(0)}, shape);
}

Made transposed(Site& site) {
  const std::size_t rank = site.shape(0).size();
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto order = LATHE_TRY(site.integers("perm", reversed));
  std::vector<std::int64_t> sorted = order, all = reversed;
  std::ranges::sort(sorted);
  std::ranges::sort(all);
  if (sorted != all)
    return site.wrong("its order [{}] does not name each of {} dimensions once", joined(order),
                      rank);
  return permuted(site, site.input(0), order);
}

Made concat(Site& site) {
  const std::size_t axis =
      LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 1)), site.shape(0).size()));
  std::vector<int> ids;
  std::vector<std::string> shapes;
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    if (!site.has(i)) return site.wrong("its input {} is left out", i);
    Shape rest = site.shape(i), first = site.shape(0);
    if (rest.size() == first.size()) rest[axis] = first[axis] = 0;
    if (rest != first || site.dtype(i) != site.dtype(0))
      return site.wrong("its inputs '{}' and '{}' are {} and {}, which cannot be joined along {}",
                        site.at(0).name, site.at(i).name, typed(site.dtype(0), site.shape(0)),
                        typed(site.dtype(i), site.shape(i)), axis);
    if (site.at(i).elements() == 0) continue;
    ids.push_back(site.input(i));
    shapes.push_back(joined(site.shape(i)));
  }
  if (ids.empty()) return std::vector<int>{site.view(site.input(0), site.shape(0))};
  if (ids.size() == 1) return std::vector<int>{site.view(ids[0], site.value(ids[0]).shape)};
  return site.call("concat",
                   {{"inputs", fmt::format("{}", fmt::join(shapes, ";"))},
                    {"axis", std::to_string(axis)},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   ids);
}

struct Cut {
  std::int64_t begin, step, size;
};

// The elements that each dimension keeps.
Made cut(Site& site, const std::vector<Cut>& cuts) {
  Shape shape;
  for (const Cut& each : cuts) shape.push_back(each.size);
  if (shape == site.shape(0) && std::ranges::all_of(cuts, [](const Cut& c) { return c.step == 1; }))
    return std::vector<int>{site.view(site.input(0), shape)};
  if (elements_of(shape) == 0)
    return std::vector<int>{site.constant(site.dtype(0), shape, std::span<const double>())};
  std::vector<std::int64_t> begin, end, step;
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    begin.push_back(cuts[d].begin);
    step.push_back(cuts[d].step);
    const std::int64_t last = cuts[d].begin + (cuts[d].size - 1) * cuts[d].step;
    // Going back to the first element, the end is before it: further back than the size.
    end.push_back(cuts[d].step > 0 ? last + 1 : last - 1 < 0 ? -site.shape(0)[d] - 1 : last - 1);
  }
  ops::Arguments arguments = of_input(site);
  arguments["begin"] = joined(begin);
  arguments["end"] = joined(end);
  arguments["step"] = joined(step);
  return site.call("slice", arguments, {site.input(0)}, shape);
}

std::vector<Cut> whole(const Shape& shape) {
  std::vector<Cut> cuts;
  for (const std::int64_t size : shape) cuts.push_back({0, 1, size});
  return cuts;
}

// Starts are moved to the nearest element, as ONNX says it; Python would leave nothing of those
// that lie before the first one where the step is negative.
Result<Cut> cut_of(const Site& site, std::int64_t size, std::int64_t start, std::int64_t end,
                   std::int64_t step) {
  if (step == 0) return site.wrong("a step is 0");
  if (size == 0) return Cut{0, 1, 0};
  step = std::clamp<std::int64_t>(step, -(size + 1), size + 1);
  const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    return std::clamp(at < 0 ? std::max(at, -2 * size - 2) + size : at, low, high);
  };
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const std::int64_t from = place(start, 0, high), to = place(end, low, high);
  const std::int64_t reach = step > 0 ? to - from : from - to, stride = std::abs(step);
  return Cut{from, step, reach <= 0 ? 0 : (reach + stride - 1) / stride};
}

Made slice(Site& site) {
  std::vector<std::int64_t> starts, ends, axes, steps;
  if (site.version() < 10) {
    starts = LATHE_TRY(site.integers("starts", {}));
    ends = LATHE_TRY(site.integers("ends", {}));
    axes = LATHE_TRY(site.integers("axes", {}));
  } else {
    if (!site.has(1) || !site.has(2)) return site.wrong("it has no starts or no ends");
    starts = LATHE_TRY(site.known_integers(1, "starts"));
    ends = LATHE_TRY(site.known_integers(2, "ends"));
    if (site.has(3)) axes = LATHE_TRY(site.known_integers(3, "axes"));
    if (site.has(4)) steps = LATHE_TRY(site.known_integers(4, "steps"));
  }
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return site.wrong("it has {} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(),
                      axes.size(), steps.size());
  std::vector<Cut> cuts = whole(site.shape(0));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t d = LATHE_TRY(site.axis(axes[k], cuts.size()));
    cuts[d] = LATHE_TRY(cut_of(site, site.shape(0)[d], starts[k], ends[k], steps[k]));
  }
  return cut(site, cuts);
}

Result<std::vector<std::int64_t>> sizes_of_parts(const Site& site, std::int64_t size) {
  if (site.has(1)) return LATHE_TRY(site.known_integers(1, "sizes"));
  if (site.given("split")) return LATHE_TRY(site.integers("split", {}));
  const auto parts =
      LATHE_TRY(site.integer("num_outputs", static_cast<std::int64_t>(site.outputs())));
  if (parts < 1 || parts > size || (size % parts != 0 && !site.given("num_outputs")))
    return site.wrong("{} elements do not divide into {} parts", size, parts);
  const std::int64_t each = (size + parts - 1) / parts;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), each);
  sizes.back() = size - each * (parts - 1);
  return sizes;
}

Made split(Site& site) {
  const std::size_t axis =
      LATHE_TRY(site.axis(LATHE_TRY(site.integer("axis", 0)), site.shape(0).size()));
  const std::int64_t size = site.shape(0)[axis];
  const auto sizes = LATHE_TRY(sizes_of_parts(site, size));
  std::int64_t before = 0;
  std::vector<int> ids;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > size - before)
      return site.wrong("its parts are [{}], of {} elements", joined(sizes), size);
    if (part == 0 && !site.at(0).constant) return site.unsupported("a part has no elements");
    std::vector<Cut> cuts = whole(site.shape(0));
    cuts[axis] = {before, 1, part};
    ids.push_back(LATHE_TRY(cut(site, cuts))[0]);
    before += part;
  }
  if (before != size || sizes.size() < site.outputs())
    return site.wrong("its parts are [{}], of {} elements for {} outputs", joined(sizes), size,
                      site.outputs());
  return ids;
}

struct Pads {
  std::vector<std::int64_t> before, after;
};

Result<Pads> pads_of(const Site& site) {
  const std::size_t rank = site.shape(0).size();
  const auto all = site.version() < 11 ? LATHE_TRY(site.integers("pads", {}))
                   : site.has(1)       ? LATHE_TRY(site.known_integers(1, "pads"))
                                       : std::vector<std::int64_t>();
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (site.has(3)) {
    axes.clear();
    for (const std::int64_t axis : LATHE_TRY(site.known_integers(3, "axes")))
      axes.push_back(LATHE_TRY(site.axis(axis, rank)));
  }
  if (all.size() != 2 * axes.size())
    return site.wrong("it has {} pads, and {} dimensions take twice as many", all.size(),
                      axes.size());
  Pads pads{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  for (std::size_t k = 0; k < axes.size(); ++k) {
    pads.before[axes[k]] = all[k];
    pads.after[axes[k]] = all[k + axes.size()];
  }
  for (std::size_t d = 0; d < rank; ++d) {
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (std::max(std::abs(pads.before[d]), std::abs(pads.after[d])) > kMost ||
        site.shape(0)[d] + pads.before[d] + pads.after[d] < 1)
      return site.wrong("its pads {} and {} leave nothing of {} elements", pads.before[d],
                        pads.after[d], site.shape(0)[d]);
  }
  return pads;
}

Made pad(Site& site) {
  const std::string mode = LATHE_TRY(site.text("mode", "constant"));
  const Pads pads = LATHE_TRY(pads_of(site));
  Shape shape = site.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += pads.before[d] + pads.after[d];
  if (shape == site.shape(0) && std::ranges::all_of(pads.before, [](auto p) { return p == 0; }))
    return std::vector<int>{site.view(site.input(0), shape)};
  ops::Arguments arguments = of_input(site);
  arguments["pad"] = joined(pads.before) + "," + joined(pads.after);
  arguments["mode"] = mode;
  if (mode == "constant") {
    double value = LATHE_TRY(site.real("value", 0));
    if (site.has(2)) {
      const auto given = LATHE_TRY(site.known(2, "values"));
      if (given.size() > 1) return site.wrong("it has {} values", given.size());
      if (!given.empty()) value = given[0];
    }
    arguments["value"] = number_text(value);
  }
  return site.call("pad", arguments, {site.input(0)}, shape);
}

Made expand(Site& site) {
  const Shape wanted = LATHE_TRY(site.known_integers(1, "sizes"));
  Shape shape = site.shape(0);
  if (wanted.size() > shape.size()) shape.insert(shape.begin(), wanted.size() - shape.size(), 1);
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    std::int64_t& size = shape[shape.size() - wanted.size() + d];
    if (wanted[d] < 1 || (size != wanted[d] && size != 1 && wanted[d] != 1))
      return site.wrong("its input is {}, and cannot become [{}]",
                        typed(site.dtype(0), site.shape(0)), joined(wanted));
    size = std::max(size, wanted[d]);
  }
  if (elements_of(shape) == site.at(0).elements())
    return std::vector<int>{site.view(site.input(0), shape)};
  return picked(site, shape, {read_indices(site.shape(0), shape)});
}

Made tile(Site& site) {
  const auto times = LATHE_TRY(site.known_integers(1, "repeats"));
  if (times.size() != site.shape(0).size())
    return site.wrong("it has {} repeats for {} dimensions", times.size(), site.shape(0).size());
  Shape shape;
  std::vector<std::string> indices;
  for (std::size_t d = 0; d < times.size(); ++d) {
    if (times[d] < 1 || times[d] > std::int64_t{1} << 31)
      return site.unsupported("it repeats dimension {} {} times", d, times[d]);
    shape.push_back(elements_of({site.shape(0)[d], times[d]}));
    indices.push_back(fmt::format("i{} % {}", d, site.shape(0)[d]));
  }
  return picked(site, shape, indices);
}

// [n, c, h, w] with a block of b x b channels, which becomes pixels.
Made depth_to_space(Site& site) {
  const std::int64_t b = LATHE_TRY(site.integer("blocksize", 0));
  const std::string mode = LATHE_TRY(site.text("mode", "DCR"));
  const Shape& in = site.shape(0);
  if (in.size() != 4 || b < 1 || b > 1 << 15 || in[1] % (b * b) != 0)
    return site.wrong("its input is {}, its blocks {}", typed(site.dtype(0), in), b);
  const std::int64_t depth = in[1] / (b * b);
  const std::string channel = mode == "CRD"
                                  ? fmt::format("i1*{} + i2 % {} * {} + i3 % {}", b * b, b, b, b)
                                  : fmt::format("(i2 % {0} * {0} + i3 % {0}) * {1} + i1", b, depth);
  return picked(site, {in[0], depth, elements_of({in[2], b}), elements_of({in[3], b})},
                {"i0", channel, fmt::format("i2 / {}", b), fmt::format("i3 / {}", b)});
}

Made space_to_depth(Site& site) {
  const std::int64_t b = LATHE_TRY(site.integer("blocksize", 0));
  const Shape& in = site.shape(0);
  if (in.size() != 4 || b < 1 || b > 1 << 15 || in[2] % b != 0 || in[3] % b != 0)
    return site.wrong("its input is {}, its blocks {}", typed(site.dtype(0), in), b);
  return picked(site, {in[0], elements_of({in[1], b * b}), in[2] / b, in[3] / b},
                {"i0", fmt::format("i1 % {}", in[1]), fmt::format("i2*{} + i1 / {}", b, in[1] * b),
                 fmt::format("i3*{} + i1 / {} % {}", b, in[1], b)});
}

// A triangle of the last two dimensions is kept, the rest is 0.
Made triangle(Site& site) {
  const std::size_t rank = site.shape(0).size();
  if (rank < 2) return site.wrong("its input has {} dimensions, and needs 2", rank);
  std::int64_t k = 0;
  if (site.has(1)) {
    const auto given = LATHE_TRY(site.known_integers(1, "diagonals"));
    if (given.size() != 1) return site.wrong("it has {} diagonals", given.size());
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    k = std::clamp(given[0], -kMost, kMost);
  }
  if (is_bool(site, 0)) return site.unsupported("its input is bool");
  const bool upper = LATHE_TRY(site.integer("upper", 1)) != 0;
  const Shape& shape = site.shape(0);
  std::vector<std::string> all;
  for (std::size_t d = 0; d < rank; ++d) all.push_back(fmt::format("i{}", d));
  return site.write(fmt::format("{}\nY[{}] = select(i{} - i{} {} {}, X[{}], 0)\n",
                                declared("X", site.dtype(0), shape), iterators(shape), rank - 1,
                                rank - 2, upper ? ">=" : "<=", k, fmt::join(all, ",")),
                    {site.input(0)}, shape);
}

}  // namespace

Made permuted(Site& site, int value, const std::vector<std::int64_t>& order) {
  const Shape from = site.value(value).shape;
  Shape shape;
  std::vector<std::int64_t> moving;  // what is not of size 1 must keep its order in a view
  for (const std::int64_t d : order) {
    shape.push_back(from[static_cast<std::size_t>(d)]);
    if (shape.back() != 1) moving.push_back(d);
  }
  if (std::ranges::is_sorted(moving)) return std::vector<int>{site.view(value, shape)};
  return site.call("transpose",
                   {{"input", joined(at_least_1d(from))},
                    {"order", joined(order)},
                    {"dtype", std::string(name_of(site.value(value).dtype))}},
                   {value}, shape);
}

std::vector<Row> movement_rows() {
  return {{"Transpose", 1, 1, transposed},
          {"Concat", 4, 1, concat},
          {"Slice", 1, 1, slice},
          {"Split", 2, 1, split},
          {"Pad", 2, 1, pad},
          {"Expand", 8, 2, expand},
          {"Tile", 6, 2, tile},
          {"DepthToSpace", 1, 1, depth_to_space},
          {"SpaceToDepth", 1, 1, space_to_depth},
          {"Trilu", 14, 1, triangle}};
}

}  // namespace lathe::graph
