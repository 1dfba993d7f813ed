// Makes rows for one loop program, of any kind that looks at the program and not at its
// configuration.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tuner/feature/blocks.h"
#include "tuner/feature/card_plan.h"
#include "tuner/feature/feature.h"
#include "tuner/feature/plan.h"
#include "tuner/feature/tree.h"

namespace lathe::feature {

// The usual columns, then those of the card (card_plan.h).
class CardContextPlan {
 public:
  CardContextPlan(const ir::Nest& nest, const CudaTarget& card) : usual_(nest), card_(nest, card) {}
  void row(std::span<const std::int64_t> values, float* out) const;

 private:
  Plan usual_;
  CardPlan card_;
};

using AnyPlan = std::variant<Plan, TreePlan, BlocksPlan, CardContextPlan>;

class ProgramPlan {
 public:
  ProgramPlan(const Features& features, const ir::Nest& nest);  // not kConfiguration
  // `values` are the values of the nest's sizes; out has room for program_width(features) floats.
  void row(std::span<const std::int64_t> values, float* out) const;

 private:
  Kind kind_;
  AnyPlan plan_;
};

// Not of kConfiguration.
int program_width(const Features& features);
std::vector<std::string> program_names(const Features& features);

}  // namespace lathe::feature
