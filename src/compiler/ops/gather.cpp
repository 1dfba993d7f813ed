#include "compiler/ops/gather.h"

#include <algorithm>

#include "compiler/ops/lookup.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;
using Shape = std::vector<std::int64_t>;

// Iterators of dimensions: "i0", "i1".
std::vector<std::string> iterators(char letter, std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < count; ++d) out.push_back(fmt::format("{}{}", letter, d));
  return out;
}

std::string element(const char* tensor, const std::vector<std::string>& index) {
  return fmt::format("{}[{}]", tensor, fmt::join(index, ","));
}

// "i0:3,i1:5"
std::string sized(const std::vector<std::string>& iters, const Shape& shape) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.push_back(fmt::format("{}:{}", iters[d], shape[d]));
  return fmt::format("{}", fmt::join(out, ","));
}

Result<std::vector<Algorithm>> build_gather(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const Lookup lookup = LATHE_TRY(lookup_of(values, dtype));
  const Shape &input = values.numbers("input"), &indices = values.numbers("indices");
  const std::size_t axis = LATHE_TRY(one_axis(values, "axis", input));
  std::vector<std::string> read = iterators('i', input.size()), written = read;
  const auto index = iterators('k', indices.size());
  Shape output = input;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  read[axis] = lookup.place(element("I", index), input[axis], input[axis]);
  written.erase(written.begin() + at);
  written.insert(written.begin() + at, index.begin(), index.end());
  output.erase(output.begin() + at);
  output.insert(output.begin() + at, indices.begin(), indices.end());
  return direct(
      parsed("gather", fmt::format("{}\n{}\nY[{}] = X[{}{}]\n", typed(shaped("X", input), dtype),
                                   lookup.declared(indices, {input[axis]}), sized(written, output),
                                   fmt::join(read, ","), lookup.otherwise())));
}

Result<std::vector<Algorithm>> build_gather_elements(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const Lookup lookup = LATHE_TRY(lookup_of(values, dtype));
  const Shape &input = values.numbers("input"), &indices = values.numbers("indices");
  const std::size_t axis = LATHE_TRY(axis_of_elements(values));
  const auto iters = iterators('i', input.size());
  std::vector<std::string> read = iters;
  read[axis] = lookup.place(element("I", iters), input[axis], input[axis]);
  return direct(parsed("gather_elements",
                       fmt::format("{}\n{}\nY[{}] = X[{}{}]\n", typed(shaped("X", input), dtype),
                                   lookup.declared(indices, {input[axis]}), sized(iters, indices),
                                   fmt::join(read, ","), lookup.otherwise())));
}

// The dimensions of the input that the coordinates of an index are for: after those of batches.
Result<Shape> indexed_sizes(const Values& values) {
  const Shape &input = values.numbers("input"), &indices = values.numbers("indices");
  const auto batch = static_cast<std::size_t>(values.integer("batch-dims"));
  if (batch >= indices.size() || batch >= input.size())
    return Values::error("batch-dims", "[{}] and [{}] have no {} common dimensions and others",
                         fmt::join(input, ","), fmt::join(indices, ","), batch);
  if (!std::equal(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(batch),
                  indices.begin()))
    return Values::error("batch-dims", "[{}] and [{}] differ in their first {} dimensions",
                         fmt::join(input, ","), fmt::join(indices, ","), batch);
  const auto coordinates = static_cast<std::size_t>(indices.back());
  if (coordinates > input.size() - batch)
    return Values::error("indices",
                         "the last dimension has {} coordinates for each place, the input [{}] has "
                         "{} dimensions for them",
                         coordinates, fmt::join(input, ","), input.size() - batch);
  const auto first = input.begin() + static_cast<std::ptrdiff_t>(batch);
  return Shape(first, first + static_cast<std::ptrdiff_t>(coordinates));
}

Result<std::vector<Algorithm>> build_gather_nd(const Values& values) {
  const Dtype dtype = LATHE_TRY(copied_of(values));
  const Lookup lookup = LATHE_TRY(lookup_of(values, dtype));
  const Shape sizes = LATHE_TRY(indexed_sizes(values));
  const Shape &input = values.numbers("input"), &indices = values.numbers("indices");
  const auto batch = static_cast<std::size_t>(values.integer("batch-dims"));
  std::vector<std::string> written = iterators('k', indices.size() - 1),
                           read(written.begin(),
                                written.begin() + static_cast<std::ptrdiff_t>(batch)),
                           index = written;
  Shape output(indices.begin(), indices.end() - 1);
  index.emplace_back();
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    index.back() = std::to_string(c);
    read.push_back(lookup.place(element("I", index), sizes[c], *std::ranges::max_element(sizes)));
  }
  for (std::size_t d = read.size(); d < input.size(); ++d) {
    read.push_back(fmt::format("i{}", d));
    written.push_back(read.back());
    output.push_back(input[d]);
  }
  if (output.empty()) {
    output.push_back(1);
    written.emplace_back("one");
  }
  return direct(
      parsed("gather_nd", fmt::format("{}\n{}\nY[{}] = X[{}{}]\n", typed(shaped("X", input), dtype),
                                      lookup.declared(indices, sizes), sized(written, output),
                                      fmt::join(read, ","), lookup.otherwise())));
}

Result<std::vector<Algorithm>> build_embedding(const Values& values) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const Lookup lookup = LATHE_TRY(lookup_of(values, dtype));
  const Shape table = LATHE_TRY(values.dims("table", 2));
  const Shape& indices = values.numbers("indices");
  const std::string& bag = values.text("bag");
  if (bag != "none" && bag != "sum" && bag != "mean" && bag != "max")
    return Values::error("bag", "'{}' is nothing that rows come to; known are none, sum, mean, max",
                         bag);
  if (bag == "mean" && !is_float(dtype))
    return Values::error("dtype", "a mean needs a floating-point type, {} is none", name_of(dtype));
  std::vector<std::string> index = iterators('k', indices.size()), written = index;
  Shape output = indices;
  std::string value = fmt::format(
      "T[{},j{}]", lookup.place(element("I", index), table[0], table[0]), lookup.otherwise());
  if (bag != "none") {
    written.pop_back();
    output.pop_back();
    value =
        fmt::format("({}({}:{}) {}){}", bag == "max" ? "max" : "sum", index.back(), indices.back(),
                    value, bag == "mean" ? fmt::format(" / {}", indices.back()) : std::string());
  }
  written.emplace_back("j");
  output.push_back(table[1]);
  return direct(
      parsed("embedding",
             fmt::format("{}\n{}\nY[{}] = {}\n", typed(shaped("T", table), dtype),
                         lookup.declared(indices, {table[0]}), sized(written, output), value)));
}

std::vector<Parameter> with_lookup(std::vector<Parameter> first,
                                   Parameter dtype = copied_parameter()) {
  std::ranges::copy(lookup_parameters(), std::back_inserter(first));
  first.push_back(std::move(dtype));
  return first;
}

}  // namespace

Operator gather() {
  return {
      "gather", "slices of X along a dimension, at the places that indices give",
      with_lookup({{Kind::kDims, "input", "", "shape of the input"},
                   {Kind::kDims, "indices", "", "shape of the indices"},
                   {Kind::kAxes, "axis", "0", "the dimension that they are for; -1 is the last"}}),
      build_gather};
}

Operator gather_elements() {
  return {
      "gather_elements", "an element of X for each index along a dimension",
      with_lookup({{Kind::kDims, "input", "", "shape of the input"},
                   {Kind::kDims, "indices", "",
                    "shape of the indices: the input's or less, but along the dimension"},
                   {Kind::kAxes, "axis", "-1", "the dimension that they are for; -1 is the last"}}),
      build_gather_elements};
}

Operator gather_nd() {
  return {
      "gather_nd", "slices of X at places of several coordinates",
      with_lookup({{Kind::kDims, "input", "", "shape of the input"},
                   {Kind::kDims, "indices", "",
                    "shape of the indices; the last dimension holds the coordinates of a place"},
                   {Kind::kInt, "batch-dims", "0", "first dimensions that both have in common"}}),
      build_gather_nd};
}

Operator embedding() {
  return {"embedding", "rows of a table, or what the rows of a bag come to",
          with_lookup({{Kind::kDims, "table", "", "its shape: rows,width"},
                       {Kind::kDims, "indices", "",
                        "shape of the indices; with --bag the last dimension is a bag"},
                       {Kind::kText, "bag", "none",
                        "what the rows of a bag come to: none (rows stay), sum, mean or max"}},
                      dtype_parameter()),
          build_embedding};
}

}  // namespace lathe::ops
