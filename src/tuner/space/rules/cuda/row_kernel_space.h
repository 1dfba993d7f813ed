// The schedules of stages that go through rows together: knobs, limits, and what they take.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/rule.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

// The space of a program of such stages. Nothing where some of its stages are none.
std::optional<Derived> derive_row_kernels(const std::shared_ptr<const Prepared>& prepared,
                                          const CudaContext& context);
std::span<const Meaning> row_kernel_meanings();

struct RowKernelRule;

// Such stages beside the main one, with sizes that are chosen once. Their rows are in registers.
class RowsBeside {
 public:
  // Finds none where the main stage is one of them.
  RowsBeside(const std::shared_ptr<const Prepared>& prepared, int main, const CudaContext& context);

  bool any() const { return rule_ != nullptr; }
  // Puts them on a grid before all other stages are. Throws StepRefused.
  void put(ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) const;

 private:
  std::shared_ptr<const RowKernelRule> rule_;  // null: there are none
  std::vector<std::int64_t> values_;           // of its knobs
};

}  // namespace lathe::space
