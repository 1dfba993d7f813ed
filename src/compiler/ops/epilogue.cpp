#include "compiler/ops/epilogue.h"

#include <charconv>
#include <optional>
#include <set>

#include "base/split.h"
#include "compiler/te/parse.h"

namespace lathe::ops {
namespace {

// The text of the stage's value, and of the declarations that its epilogue adds.
struct Chain {
  std::string value;
  std::vector<std::string> declarations;
};

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && rest == text.data() + text.size();
  return whole && value - value == 0 ? std::optional(value) : std::nullopt;
}

Status add(Chain& chain, const std::string& step, const Output& output) {
  const std::vector<std::string> parts = split(step, ':');
  if (parts[0] == "clip") {
    if (parts.size() != 3 || !number_of(parts[1]) || !number_of(parts[2]))
      return Values::error("epilogue", "clip needs two numbers, as in clip:0:6, not '{}'", step);
    if (number_of(parts[1]) > number_of(parts[2]))
      return Values::error("epilogue",
                           "clip needs the lower number first, as in clip:0:6, not '{}'", step);
    chain.value = fmt::format("min(max({}, {}), {})", chain.value, parts[1], parts[2]);
    return {};
  }
  if (step == "relu") {
    chain.value = "relu(" + chain.value + ")";
  } else if (step == "bias") {
    chain.value += " + bias[" + output.channel + "]";
    chain.declarations.push_back("const " + shaped("bias", {output.channels}));
  } else if (step == "residual") {
    std::vector<std::string> index;
    for (const std::string& iter : output.iters) index.push_back(iter.substr(0, iter.find(':')));
    chain.value += fmt::format(" + residual[{}]", fmt::join(index, ","));
    std::string residual = shaped("residual", output.shape);
    if (!output.border_shape.empty())
      residual += fmt::format(" as [{}]", fmt::join(output.border_shape, ","));
    chain.declarations.push_back(std::move(residual));
  } else {
    return Values::error(
        "epilogue", "there is no step '{}'; known are bias, residual, relu, clip:LOW:HIGH", step);
  }
  return {};
}

Result<Chain> chain_of(const std::string& epilogue, std::string value, const Output& output) {
  Chain chain{std::move(value), {}};
  std::set<std::string> seen;
  if (epilogue.empty()) return chain;
  for (const std::string& step : split(epilogue, ',')) {
    if ((step == "bias" || step == "residual") && !seen.insert(step).second)
      return Values::error("epilogue", "{} is there twice", step);
    LATHE_TRY_STATUS(add(chain, step, output));
  }
  return chain;
}

std::string typed(const std::string& declaration, std::string_view dtype) {
  const std::size_t bracket = declaration.find('[');
  return fmt::format("{}: {}{}", declaration.substr(0, bracket), dtype,
                     declaration.substr(bracket));
}

}  // namespace

Parameter epilogue_parameter() {
  return {Parameter::Kind::kText, "epilogue", "",
          "what follows in the same workload, in order: bias, residual, relu, clip:LOW:HIGH"};
}

Parameter dtype_parameter() {
  return {Parameter::Kind::kText, "dtype", "f32",
          fmt::format("element type of the inputs: {}; sums of i8 and u8 are i32", known_dtypes())};
}

std::string shaped(std::string_view name, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", name, fmt::join(shape, ","));
}

Result<te::Workload> workload_with_epilogue(const Values& values, std::string_view name,
                                            const std::vector<std::string>& declarations,
                                            const Output& output, const std::string& value) {
  const auto dtype = dtype_from_name(values.text("dtype"));
  if (!dtype || *dtype == Dtype::kBool)
    return Values::error("dtype", "'{}' is no numeric element type; known are {}",
                         values.text("dtype"), known_dtypes());
  const Chain chain = LATHE_TRY(chain_of(values.text("epilogue"), value, output));
  std::string text = fmt::format("name {}\n", name);
  for (const auto* list : {&declarations, &chain.declarations})
    for (const std::string& declaration : *list) text += typed(declaration, name_of(*dtype)) + "\n";
  text += fmt::format("{}[{}] = {}\n", output.name, fmt::join(output.iters, ","), chain.value);
  auto workload = te::parse_workload(text);
  // We wrote this text: its line numbers mean nothing to the caller.
  if (!workload) {
    workload.error().place = name;
    return workload;
  }
  const auto written = static_cast<std::size_t>(workload->outputs().front());
  workload->tensors[written].border_shape = output.border_shape;
  return workload;
}

Result<std::vector<Algorithm>> direct(Result<te::Workload> workload) {
  std::vector<Algorithm> out;
  out.push_back({"direct", LATHE_TRY(std::move(workload))});
  return out;
}

}  // namespace lathe::ops
