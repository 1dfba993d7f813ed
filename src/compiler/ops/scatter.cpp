#include "compiler/ops/scatter.h"

#include <algorithm>
#include <array>

#include "compiler/ops/lookup.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;
using Sizes = std::vector<std::int64_t>;

// What an element and the updates of its place come to.
enum class Change { kUpdate, kAdd, kMul, kMax, kMin };
constexpr std::array<std::string_view, 5> kChanges = {"update", "add", "mul", "max", "min"};

// A stage writes each element once: it goes over all updates that may be for its place.
struct Scatter {
  Change change;
  Dtype dtype;
  std::string sized, here;    // iterators of the output: "i0:3,i1:5"; "i0,i1"
  std::string places, place;  // those of them that updates are for, likewise
  std::string updates;        // iterators over updates: "k:7"
  std::string number;         // of an update, in order: "k"
  std::string is_here;        // whether the update is for the element: "J[i0,k] == i32(i1)"
  std::string update;         // "U[i0,k]"
  std::string last;           // the update whose number L has for the place

  // Narrow types are computed in wider ones.
  std::string as_computed(const std::string& value) const {
    return te::is_narrow(dtype) ? fmt::format("{}({})", name_of(te::accumulator_of(dtype)), value)
                                : value;
  }
  std::string as_stored(const std::string& value) const {
    return te::is_narrow(dtype) ? fmt::format("{}({})", name_of(dtype), value) : value;
  }

  std::string stages() const {
    const std::string x = fmt::format("X[{}]", here), own = as_computed(x),
                      new_one = as_computed(update);
    const auto over = [&](const char* reduction, const std::string& otherwise) {
      return fmt::format("({}({}) select({}, {}, {}))", reduction, updates, is_here, new_one,
                         otherwise);
    };
    const auto written = [&](const std::string& value) {
      return fmt::format("Y[{}] = {}\n", sized, as_stored(value));
    };
    switch (change) {
      case Change::kAdd: return written(own + " + " + over("sum", "0"));
      case Change::kMul: return written(own + " * " + over("prod", "1"));
      case Change::kMax: return written(fmt::format("max({}, {})", own, over("max", own)));
      case Change::kMin: return written(fmt::format("min({}, {})", own, over("min", own)));
      case Change::kUpdate: break;
    }
    return fmt::format(
        "L[{}] = max({}) select({}, i32({}), -1)\nY[{}] = select(L[{}] < 0, {}, {})\n", places,
        updates, is_here, number, sized, place, x, last);
  }
};

struct Asked {
  Change change;
  Dtype dtype;
  Lookup lookup;
};
Result<Asked> asked_of(const Values& values) {
  const Change change = LATHE_TRY(one_of<Change>(values, "op", kChanges));
  const Dtype dtype = LATHE_TRY(change == Change::kUpdate ? copied_of(values) : dtype_of(values));
  return Asked{change, dtype, LATHE_TRY(changed_of(values))};
}

Status check_count(std::int64_t count, std::string_view what) {
  if (count <= std::int64_t{1} << 30) return {};
  return Values::error(what, "{} places are more than 2^30", count);
}

std::string declared_tensors(const Sizes& input, Dtype dtype, const std::string& indices,
                             const std::string& updates) {
  return fmt::format("{}\n{}\n{}\noutput {}\n", typed(shaped("X", input), dtype), indices,
                     typed(updates, dtype), typed(shaped("Y", input), dtype));
}

Result<std::vector<Algorithm>> build_scatter_elements(const Values& values) {
  const Asked asked = LATHE_TRY(asked_of(values));
  const Sizes &input = values.numbers("input"), &indices = values.numbers("indices");
  const std::size_t axis = LATHE_TRY(axis_of_elements(values));
  LATHE_TRY_STATUS(check_count(indices[axis], "indices"));
  LATHE_TRY_STATUS(check_count(input[axis], "input"));
  std::vector<std::string> here, sized, whole;
  for (std::size_t d = 0; d < input.size(); ++d) {
    here.push_back(fmt::format("i{}", d));
    sized.push_back(fmt::format("i{}:{}", d, input[d]));
    whole.push_back(fmt::format("i{}:{}", d, indices[d]));
  }
  std::vector<std::string> at = here;
  at[axis] = "k";
  // Where there are fewer indices along another dimension, what lies behind them stays.
  Sizes alike = indices;
  alike[axis] = input[axis];
  const char* no_place = alike == input ? "" : " else -1";
  const char* nothing = alike == input                ? ""
                        : asked.dtype == Dtype::kBool ? " else false"
                                                      : " else 0";
  Scatter out{asked.change, asked.dtype};
  out.here = fmt::format("{}", fmt::join(here, ","));
  out.sized = fmt::format("{}", fmt::join(sized, ","));
  out.places = out.sized;
  out.place = out.here;
  out.updates = fmt::format("k:{}", indices[axis]);
  out.number = "k";
  out.is_here = fmt::format("J[{}{}] == i32(i{})", fmt::join(at, ","), no_place, axis);
  out.update = fmt::format("U[{}{}]", fmt::join(at, ","), nothing);
  at[axis] = fmt::format("min(max(L[{}], 0), {})", out.here, indices[axis] - 1);
  out.last = fmt::format("U[{}{}]", fmt::join(at, ","), nothing);
  const std::string places =
      fmt::format("J[{}] = i32({})\n", fmt::join(whole, ","),
                  asked.lookup.number(fmt::format("I[{}]", out.here), input[axis], input[axis]));
  return direct(
      parsed("scatter_elements",
             declared_tensors(input, asked.dtype, asked.lookup.declared(indices, {input[axis]}),
                              shaped("U", indices)) +
                 places + out.stages()));
}

// Writes "6*i0 + 3*i1 + i2": the number of a place among all of a shape.
std::string number_of(char letter, const Sizes& shape) {
  std::vector<std::string> parts;
  std::int64_t step = elements_of(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    step /= shape[d];
    parts.push_back(fmt::format("{}*{}{}", step, letter, d));
  }
  return fmt::format("{}", fmt::join(parts, " + "));
}

// The stage that makes one number of the coordinates of each place; a negative one is no place.
// `at`: "k0,k1", of the indices; `sized`: the same with sizes.
std::string numbers_of(const Sizes& places, const Lookup& lookup, const std::string& at,
                       const std::string& sized) {
  std::vector<std::string> numbers, parts;
  std::int64_t step = elements_of(places);
  for (std::size_t c = 0; c < places.size(); ++c) {
    numbers.push_back(
        lookup.number(fmt::format("I[{}{}]", at, c), places[c], *std::ranges::max_element(places)));
    step /= places[c];
    parts.push_back(fmt::format("{} * ({})", step, numbers.back()));
  }
  std::string number = fmt::format("{}", fmt::join(parts, " + "));
  if (lookup.outside == Outside::kFill)
    for (const std::string& each : numbers)
      number = fmt::format("select({} < 0, -1, {})", each, number);
  return fmt::format("J[{}] = i32({})\n", sized, number);
}

// The dimensions of the input that coordinates are for.
Result<Sizes> places_of(const Sizes& input, const Sizes& indices) {
  const std::int64_t coordinates = indices.back();
  if (coordinates > std::ssize(input))
    return Values::error("indices",
                         "the last dimension has {} coordinates for each place, the input [{}] has "
                         "{} dimensions",
                         coordinates, fmt::join(input, ","), input.size());
  Sizes places(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(coordinates));
  LATHE_TRY_STATUS(check_count(elements_of({indices.begin(), indices.end() - 1}), "indices"));
  LATHE_TRY_STATUS(check_count(elements_of(places), "input"));
  return places;
}

Result<std::vector<Algorithm>> build_scatter_nd(const Values& values) {
  const Asked asked = LATHE_TRY(asked_of(values));
  const Sizes &input = values.numbers("input"), &indices = values.numbers("indices");
  const Sizes places = LATHE_TRY(places_of(input, indices));
  // One place alone has an iterator, too.
  Sizes updates(indices.begin(), indices.end() - 1);
  const bool alone = updates.empty();
  if (alone) updates.push_back(1);
  const auto listed = [](char letter, std::size_t first, const Sizes& sizes, bool with_sizes) {
    std::vector<std::string> out;
    for (std::size_t d = first; d < sizes.size(); ++d)
      out.push_back(with_sizes ? fmt::format("{}{}:{}", letter, d, sizes[d])
                               : fmt::format("{}{}", letter, d));
    return fmt::format("{}", fmt::join(out, ","));
  };
  const std::string k = listed('k', 0, updates, false),
                    tail = listed('i', places.size(), input, false),
                    comma = tail.empty() ? "" : ",";
  Scatter out{asked.change, asked.dtype};
  out.here = listed('i', 0, input, false);
  out.sized = listed('i', 0, input, true);
  out.places = listed('i', 0, places, true);
  out.place = listed('i', 0, places, false);
  out.updates = listed('k', 0, updates, true);
  out.number = number_of('k', updates);
  out.is_here = fmt::format("J[{}] == i32({})", k, number_of('i', places));
  out.update = fmt::format("U[{}{}{}]", k, comma, tail);
  std::vector<std::string> last;
  std::int64_t step = elements_of(updates);
  for (const std::int64_t size : updates) {
    step /= size;
    last.push_back(fmt::format("max(L[{}], 0) / {} % {}", out.place, step, size));
  }
  out.last = fmt::format("U[{}{}{}]", fmt::join(last, ","), comma, tail);
  Sizes shape_of_updates = updates;
  shape_of_updates.insert(shape_of_updates.end(),
                          input.begin() + static_cast<std::ptrdiff_t>(places.size()), input.end());
  return direct(parsed("scatter_nd",
                       declared_tensors(input, asked.dtype, asked.lookup.declared(indices, places),
                                        shaped("U", shape_of_updates)) +
                           numbers_of(places, asked.lookup, alone ? "" : k + ",", out.updates) +
                           out.stages()));
}

std::vector<Parameter> with_changes(std::vector<Parameter> first) {
  first.push_back({Kind::kText, "op", "update",
                   "what an element and the updates of its place come to: update (the last one), "
                   "add, mul, max or min"});
  std::ranges::copy(changed_parameters(), std::back_inserter(first));
  first.push_back(copied_parameter());
  return first;
}

}  // namespace

Operator scatter_elements() {
  return {"scatter_elements", "X with an element changed for each index along a dimension",
          with_changes(
              {{Kind::kDims, "input", "", "shape of the input"},
               {Kind::kDims, "indices", "",
                "shape of the indices and updates: the input's or less, but along the "
                "dimension"},
               {Kind::kAxes, "axis", "-1", "the dimension that they are for; -1 is the last"}}),
          build_scatter_elements};
}

Operator scatter_nd() {
  return {"scatter_nd", "X with slices changed at places of several coordinates",
          with_changes({{Kind::kDims, "input", "", "shape of the input"},
                        {Kind::kDims, "indices", "",
                         "shape of the indices; the last dimension holds the coordinates of a "
                         "place"}}),
          build_scatter_nd};
}

}  // namespace lathe::ops
