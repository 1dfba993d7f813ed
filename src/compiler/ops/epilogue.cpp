#include "compiler/ops/epilogue.h"

#include <set>

#include "base/known_names.h"
#include "base/split.h"

namespace lathe::ops {
namespace {

// The text of the stage's value, and of the declarations that its epilogue adds.
struct Chain {
  std::string value;
  std::vector<std::string> declarations;
};

Status add(Chain& chain, const std::string& step, const Output& output) {
  const std::vector<std::string> parts = split(step, ':');
  if (parts[0] == "clip") {
    if (parts.size() != 3 || !parse_real(parts[1]) || !parse_real(parts[2]))
      return Values::error("epilogue", "clip needs two numbers, as in clip:0:6, not '{}'", step);
    if (parse_real(parts[1]) > parse_real(parts[2]))
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
    chain.declarations.push_back(shaped("residual", output.shape, output.border_shape));
  } else {
    return Values::error("epilogue",
                         "there is no step '{}'; known are bias, residual, relu, clip:LOW:HIGH{}",
                         step, did_you_mean({"bias", "residual", "relu", "clip"}, step));
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

}  // namespace

Parameter epilogue_parameter() {
  return {Parameter::Kind::kText, "epilogue", "",
          "what follows in the same workload, in order: bias, residual, relu, clip:LOW:HIGH"};
}

Result<te::Workload> workload_with_epilogue(const Values& values, std::string_view name,
                                            const std::vector<std::string>& declarations,
                                            const Output& output, const std::string& value,
                                            const std::string& before) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  const Chain chain = LATHE_TRY(chain_of(values.text("epilogue"), value, output));
  std::string text;
  for (const auto* list : {&declarations, &chain.declarations})
    for (const std::string& declaration : *list) text += typed(declaration, dtype) + "\n";
  text += before;
  text += fmt::format("{}[{}] = {}\n", output.name, fmt::join(output.iters, ","), chain.value);
  te::Workload workload = LATHE_TRY(parsed(name, text));
  const auto written = static_cast<std::size_t>(workload.outputs().front());
  workload.tensors[written].border_shape = output.border_shape;
  return workload;
}

}  // namespace lathe::ops
