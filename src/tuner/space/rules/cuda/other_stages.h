// Stages beside the main one of a program for a card: each has the structure of its kind, with
// sizes that are chosen once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/rules/cuda/cuda_context.h"
#include "tuner/space/rules/cuda/row_kernel_space.h"
#include "tuner/space/rules/cuda/thread_sum.h"

namespace lathe::space {

struct BlockRule;

class OtherStages {
 public:
  OtherStages(std::shared_ptr<const Prepared> prepared, int main, const CudaContext& context);

  // The sketch of the program: `put_main` puts the main stage on a grid, and adds what it has
  // placed to the names; it may throw StepRefused. Stages along rows come before it, so that what
  // follows it finds them done.
  Result<Sketch> sketch(const std::function<void(Sketch&, std::set<std::string>&)>& put_main) const;

 private:
  // Puts all stages but those among `placed` on grids. Throws StepRefused.
  void put(ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) const;

  struct Other {
    ItemStage stage;
    ThreadSum sum;
    std::shared_ptr<const BlockRule> blocks;  // null: it goes on no blocks
    std::vector<std::int64_t> values;         // of its knobs
  };

  std::shared_ptr<const Prepared> prepared_;
  RowsBeside rows_;
  CudaTarget target_;
  std::vector<Other> others_;  // sums first: maps may follow them
};

}  // namespace lathe::space
