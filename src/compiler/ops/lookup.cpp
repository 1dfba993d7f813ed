#include "compiler/ops/lookup.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "base/known_names.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

constexpr std::array<std::string_view, 5> kOutside = {"promised", "negative", "clip", "wrap",
                                                      "fill"};
constexpr std::array<std::string_view, 5> kOutsideOfChanges = {"promised", "negative", "clip",
                                                               "wrap", "drop"};

// The largest number of a type of whole numbers, at most 2^40: no tensor has more elements.
std::int64_t largest_of(Dtype dtype) {
  const bool is_signed =
      dtype == Dtype::kI8 || dtype == Dtype::kI16 || dtype == Dtype::kI32 || dtype == Dtype::kI64;
  const std::size_t bits = 8 * size_of(dtype) - (is_signed ? 1 : 0);
  return bits > 40 ? std::int64_t{1} << 40 : (std::int64_t{1} << bits) - 1;
}
bool has_negative(Dtype dtype) {
  return dtype == Dtype::kI8 || dtype == Dtype::kI16 || dtype == Dtype::kI32 ||
         dtype == Dtype::kI64;
}

Parameter index_parameter() {
  return {Kind::kText, "index-dtype", "i64",
          "element type of the indices: i64, i32, i16, i8, u8 ..."};
}
Result<Dtype> index_dtype_of(const Values& values) {
  const auto dtype = dtype_from_name(values.text("index-dtype"));
  if (dtype && !is_float(*dtype) && *dtype != Dtype::kBool) return *dtype;
  return Values::error("index-dtype",
                       "'{}' is no type of whole numbers; known are i64, i32, i16, i8, u32, u16, "
                       "u8",
                       values.text("index-dtype"));
}

}  // namespace

std::string Lookup::declared(const std::vector<std::int64_t>& shape,
                             const std::vector<std::int64_t>& sizes) const {
  std::string text = typed(shaped("I", shape), index_dtype);
  if (outside != Outside::kPromised && outside != Outside::kNegative) return text;
  const std::int64_t most = *std::ranges::max_element(sizes), largest = largest_of(index_dtype);
  const bool below = outside == Outside::kNegative && has_negative(index_dtype);
  return fmt::format("{} in {}..{}", text, below ? -std::min(most, largest + 1) : 0,
                     std::min(most - 1, largest));
}

std::string Lookup::place(const std::string& index, std::int64_t size, std::int64_t largest) const {
  const std::string number = index_dtype == Dtype::kI64 ? index : fmt::format("i64({})", index);
  switch (outside) {
    case Outside::kPromised:
      return size == largest ? index : fmt::format("min({}, {})", index, size - 1);
    case Outside::kNegative:
      // The range says what is promised; that it is inside is proven by the ends.
      return has_negative(index_dtype)
                 ? fmt::format("min(max(select({0} < 0, {0} + {1}, {0}), 0), {2})", number, size,
                               size - 1)
                 : fmt::format("min({}, {})", number, size - 1);
    case Outside::kClip: return fmt::format("min(max({}, 0), {})", number, size - 1);
    case Outside::kWrap: return fmt::format("({0} % {1} + {1}) % {1}", number, size);
    case Outside::kFill: return index;
  }
  LATHE_CHECK(false, "no such meaning");
}

std::string Lookup::number(const std::string& index, std::int64_t size,
                           std::int64_t largest) const {
  std::string number = fmt::format("i64({})", place(index, size, largest));
  if (outside != Outside::kFill) return number;
  return fmt::format("select({0} >= 0 && {0} < {1}, {0}, -1)", number, size);
}

std::string Lookup::otherwise() const {
  return outside == Outside::kFill ? " else " + value : std::string();
}

std::vector<Parameter> lookup_parameters() {
  return {
      index_parameter(),
      {Kind::kText, "outside", "promised",
       "what an index beyond the ends is: promised (there is none), negative (-1 is the last, as "
       "in Python), clip (the nearest place), wrap (modulo the size) or fill (--value is read)"},
      {Kind::kText, "value", "0", "what --outside fill reads: a number, inf or -inf"}};
}

Result<Lookup> lookup_of(const Values& values, Dtype dtype) {
  const auto outside = LATHE_TRY(one_of<Outside>(values, "outside", kOutside));
  if (outside != Outside::kFill && values.text("value") != "0")
    return Values::error("value", "only --outside fill reads it");
  return Lookup{outside, LATHE_TRY(index_dtype_of(values)),
                LATHE_TRY(number_text(values, "value", dtype))};
}

std::vector<Parameter> changed_parameters() {
  return {index_parameter(),
          {Kind::kText, "outside", "promised",
           "what an index beyond the ends is: promised (there is none), negative (-1 is the last, "
           "as in Python), clip (the nearest place), wrap (modulo the size) or drop (its update "
           "is left out)"}};
}

Result<Lookup> changed_of(const Values& values) {
  return Lookup{LATHE_TRY(one_of<Outside>(values, "outside", kOutsideOfChanges)),
                LATHE_TRY(index_dtype_of(values)), ""};
}

Result<std::size_t> one_axis(const Values& values, std::string_view name,
                             const std::vector<std::int64_t>& shape) {
  const auto axes = LATHE_TRY(values.axes(name, shape));
  if (axes.size() != 1)
    return Values::error(name, "one dimension is needed, {} are given", axes.size());
  return axes.front();
}

Result<std::size_t> axis_of_elements(const Values& values) {
  const auto &input = values.numbers("input"), &indices = values.numbers("indices");
  const std::size_t axis = LATHE_TRY(one_axis(values, "axis", input));
  bool fits = indices.size() == input.size();
  for (std::size_t d = 0; fits && d < input.size(); ++d) fits = d == axis || indices[d] <= input[d];
  if (!fits)
    return Values::error("indices",
                         "[{}] is larger than the input [{}], or has another rank; only dimension "
                         "{} may be larger",
                         fmt::join(indices, ","), fmt::join(input, ","), axis);
  return axis;
}

}  // namespace lathe::ops
