#include "compiler/ops/one_hot.h"

#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

Result<std::vector<Algorithm>> build_one_hot(const Values& values) {
  const bool given = values.flag("values");
  const Dtype dtype = LATHE_TRY(given ? copied_of(values) : dtype_of(values));
  const auto index_dtype = dtype_from_name(values.text("index-dtype"));
  if (!index_dtype || is_float(*index_dtype) || *index_dtype == Dtype::kBool)
    return Values::error("index-dtype",
                         "'{}' is no type of whole numbers; known are i64, i32, i8, u8",
                         values.text("index-dtype"));
  const std::int64_t depth = LATHE_TRY(values.size("depth"));
  const auto& shape = values.numbers("input");
  std::vector<std::int64_t> output = shape;
  output.push_back(depth);
  const auto axes = LATHE_TRY(values.axes("axis", output));
  if (axes.size() != 1)
    return Values::error("axis", "one dimension is needed, {} are given", axes.size());
  std::vector<std::string> index, iters;
  for (std::size_t d = 0; d < shape.size(); ++d) index.push_back(fmt::format("i{}", d));
  iters = index;
  const auto place = static_cast<std::ptrdiff_t>(axes.front());
  iters.insert(iters.begin() + place, "k");
  output.pop_back();
  output.insert(output.begin() + place, depth);
  std::string x = fmt::format("X[{}]", fmt::join(index, ","));
  if (*index_dtype != Dtype::kI64) x = fmt::format("i64({})", x);
  std::string there = fmt::format("{} == k", x);
  if (values.flag("negative")) there += fmt::format(" || {} + {} == k", x, depth);
  return direct(parsed(
      "one_hot",
      fmt::format("{}\n{}{}\nY[{}] = select({}, {})\n", typed(shaped("X", shape), *index_dtype),
                  given ? typed("V[2]", dtype) + "\n" : "", typed(shaped("Y", output), dtype),
                  fmt::join(iters, ","), there, given ? "V[1], V[0]" : "1, 0")));
}

}  // namespace

Operator one_hot() {
  return {
      "one_hot",
      "1 at the place that each element of X gives along a new dimension, else 0",
      {{Kind::kDims, "input", "", "shape of the input"},
       {Kind::kInt, "depth", "", "size of the new dimension"},
       {Kind::kAxes, "axis", "-1", "which one of the output's it is; -1 is the last"},
       {Kind::kFlag, "negative", "false", "a number below 0 counts from the end"},
       {Kind::kFlag, "values", "false",
        "with a second input V[2], which has what stands for 0 and for 1"},
       {Kind::kText, "index-dtype", "i64", "element type of the input: i64, i32, i8 or u8"},
       {Kind::kText, "dtype", "f32",
        fmt::format("element type of the output: {}; bool with --values alone", known_dtypes())}},
      build_one_hot};
}

}  // namespace lathe::ops
