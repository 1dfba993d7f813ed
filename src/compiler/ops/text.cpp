#include "compiler/ops/text.h"

#include "base/known_names.h"
#include "compiler/te/parse.h"
#include "compiler/te/types.h"

namespace lathe::ops {

Parameter dtype_parameter() {
  return {
      Parameter::Kind::kText, "dtype", "f32",
      fmt::format("element type of the inputs: {}, but bool; sums of i8, u8, i16 and u16 are i32",
                  known_dtypes())};
}

Parameter float_parameter() {
  return {Parameter::Kind::kText, "dtype", "f32", "element type: f32, f64, f16 or bf16"};
}

Parameter copied_parameter() {
  return {Parameter::Kind::kText, "dtype", "f32", fmt::format("element type: {}", known_dtypes())};
}

Result<Dtype> dtype_of(const Values& values) {
  const auto dtype = dtype_from_name(values.text("dtype"));
  if (!dtype)
    return Values::error("dtype", "'{}' is no numeric element type; known are {}",
                         values.text("dtype"), known_dtypes(values.text("dtype")));
  if (*dtype == Dtype::kBool)
    return Values::error("dtype", "bool is no numeric element type; name another one");
  return *dtype;
}

Result<Dtype> copied_of(const Values& values) {
  return values.text("dtype") == name_of(Dtype::kBool) ? Result<Dtype>(Dtype::kBool)
                                                       : dtype_of(values);
}

Result<Dtype> float_of(const Values& values) {
  const auto dtype = dtype_from_name(values.text("dtype"));
  if (!dtype || !is_float(*dtype))
    return Values::error("dtype",
                         "'{}' is no floating-point type, which this needs; known are f32, f64, "
                         "f16, bf16",
                         values.text("dtype"));
  return *dtype;
}

Result<std::string> number_text(const Values& values, std::string_view name, Dtype dtype) {
  const std::string& text = values.text(name);
  if (dtype == Dtype::kBool) {
    if (text == "0" || text == "1") return text == "0" ? "false" : "true";
    return Values::error(name, "'{}' is none of 0 and 1, which stand for bools", text);
  }
  if (is_float(dtype) && (text == "inf" || text == "-inf")) return text;
  const auto value = parse_real(text);
  if (!value) return Values::error(name, "'{}' is no number, as 0.5 and -inf are", text);
  if (const auto number = te::number_as(*value, dtype); !number)
    return Values::error(name, "{}", number.error().message);
  return fmt::format("{}", *value);
}

std::string shaped(std::string_view name, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", name, fmt::join(shape, ","));
}

std::string shaped(std::string_view name, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& border) {
  const std::string text = shaped(name, shape);
  return border.empty() || border == shape
             ? text
             : fmt::format("{} as [{}]", text, fmt::join(border, ","));
}

std::string typed(const std::string& declaration, Dtype dtype) {
  const std::size_t bracket = declaration.find('[');
  return fmt::format("{}: {}{}", declaration.substr(0, bracket), name_of(dtype),
                     declaration.substr(bracket));
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count = count > kMany / size ? kMany : count * size;
  return count;
}

Result<te::Workload> parsed(std::string_view name, const std::string& text) {
  auto workload = te::parse_workload(fmt::format("name {}\n{}", name, text));
  if (!workload) workload.error().place = name;
  return workload;
}

Result<std::vector<Algorithm>> direct(Result<te::Workload> workload) {
  std::vector<Algorithm> out;
  out.push_back({"direct", LATHE_TRY(std::move(workload))});
  return out;
}

}  // namespace lathe::ops
