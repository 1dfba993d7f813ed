// Makes rows for one loop program, of any kind that looks at the program and not at its
// configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tuner/feature/blocks.h"
#include "tuner/feature/feature.h"
#include "tuner/feature/plan.h"
#include "tuner/feature/tree.h"

namespace lathe::feature {

class ProgramPlan {
 public:
  ProgramPlan(const Features& features, const ir::Nest& nest);  // not kConfiguration
  // `values` are the values of the nest's sizes; out has room for program_width(features) floats.
  void row(std::span<const std::int64_t> values, float* out) const;

 private:
  Kind kind_;
  std::variant<Plan, TreePlan, BlocksPlan> plan_;
};

// Not of kConfiguration.
int program_width(const Features& features);
std::vector<std::string> program_names(const Features& features);

}  // namespace lathe::feature
