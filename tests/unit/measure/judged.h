// References computed by the interpreter, and what the runner says of answers.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "compiler/te/workload.h"
#include "oracle/te_eval.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// Throws where the text is no workload.
te::Workload parsed(const std::string& text);

std::vector<interp::Tensor> as_inputs(const te::Workload& workload,
                                      const std::vector<std::vector<double>>& values);

// The reference of a program on given inputs, computed by the interpreter; it is printed and parsed
// as on its way to the builder.
Reference reference_of(const te::Workload& workload,
                       const std::vector<std::vector<double>>& values);

// What the runner says of f32 results (integers are small here).
bool is_right(const te::Workload& workload, const Reference& reference,
              const std::vector<std::vector<double>>& got);

}  // namespace lathe::measure
