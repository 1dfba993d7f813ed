// Configurations of a space as machine code between guard pages.
#pragma once

#include <string>
#include <vector>

#include "base/target.h"
#include "oracle/te_eval.h"
#include "tuner/space/space.h"
#include "unit/codegen/harness.h"

namespace lathe::space {

// The outputs of the program with this configuration, which it leaves in `flat`.
Result<std::vector<interp::Bytes>> run_built(const Space& space, const Config& config,
                                             const Target& target,
                                             const std::vector<interp::Tensor>& inputs,
                                             flat::Program& flat);

// A workload with random inputs, and what the evaluation of the expression makes of them.
class Candidate {
 public:
  // Throws where the expression cannot be evaluated.
  Candidate(const te::Workload& workload, Rng& rng);

  // Empty if it was built and computes the program.
  std::string what_is_wrong(const Space& space, const Config& config, const Target& target) const;

 private:
  std::vector<interp::Tensor> inputs_, want_;
};

}  // namespace lathe::space
