// Ask and tell without a store or a measurer, for those who measure by themselves.
#pragma once

#include <memory>
#include <vector>

#include "tuner/tune/tune.h"

namespace lathe::tune {

class Proposer {
 public:
  // Search, model, seed and jobs as in `options`; the subject must outlive this.
  static Result<std::unique_ptr<Proposer>> make(const Subject& subject, const Options& options);
  virtual ~Proposer() = default;
  // Learns from what was told since, then proposes. Fewer than wanted only when the space is
  // exhausted.
  virtual Result<std::vector<space::Config>> ask(int wanted) = 0;
  virtual Status tell(const std::vector<search::Measured>& results) = 0;
};

}  // namespace lathe::tune
