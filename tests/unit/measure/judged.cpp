#include "unit/measure/judged.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/te/parse.h"
#include "runtime/runner/check.h"

namespace lathe::measure {

te::Workload parsed(const std::string& text) {
  const auto workload = te::parse_workload(text);
  LATHE_CHECK(workload.has_value(), "{}\n{}", text, workload ? "" : workload.error().text());
  return *workload;
}

std::vector<interp::Tensor> as_inputs(const te::Workload& workload,
                                      const std::vector<std::vector<double>>& values) {
  std::vector<interp::Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(workload.inputs()[i])];
    inputs.push_back({tensor.dtype, tensor.shape, values[i], {}});
  }
  return inputs;
}

Reference reference_of(const te::Workload& workload,
                       const std::vector<std::vector<double>>& values) {
  const ReferenceWorkload made = reference_workload(workload);
  const te::Workload reference = parsed(te::print_workload(made.workload));
  EXPECT_TRUE(te::equal(reference, made.workload)) << te::print_workload(made.workload);
  const auto results = interp::evaluate(reference, as_inputs(reference, values));
  LATHE_CHECK(results.has_value(), "{}", results ? "" : results.error().text());
  const auto output = [&](const std::string& name) {
    for (std::size_t o = 0; o < reference.outputs().size(); ++o)
      if (reference.tensors[static_cast<std::size_t>(reference.outputs()[o])].name == name)
        return (*results)[o].values;
    throw std::logic_error(name);
  };
  Reference out;
  for (const ReferenceNames& names : made.names) {
    out.values.push_back(output(names.value));
    out.bounds.push_back(names.bound.empty() ? std::vector<double>(out.values.back().size(), 0)
                                             : output(names.bound));
    for (double& bound : out.bounds.back())
      if (std::isnan(bound)) bound = kUnknown;
  }
  return out;
}

bool is_right(const te::Workload& workload, const Reference& reference,
              const std::vector<std::vector<double>>& got) {
  std::vector<std::vector<std::byte>> stored;
  std::vector<runner::Comparison> outputs;
  for (std::size_t o = 0; o < got.size(); ++o) {
    const Dtype dtype = workload.tensors[static_cast<std::size_t>(workload.outputs()[o])].dtype;
    const auto step = static_cast<std::size_t>(size_of(dtype));
    stored.emplace_back(got[o].size() * step);
    for (std::size_t i = 0; i < got[o].size(); ++i)
      store_element(dtype, &stored.back()[i * step], got[o][i]);
  }
  for (std::size_t o = 0; o < got.size(); ++o)
    outputs.push_back({workload.tensors[static_cast<std::size_t>(workload.outputs()[o])].dtype,
                       stored[o].data(), reference.values[o], reference.bounds[o]});
  runner::Loaded result;
  runner::compare(outputs, allowed_error(workload, reference_workload(workload).jumps, reference),
                  result);
  return !result.wrong;
}

}  // namespace lathe::measure
