#include "cli/check_text.h"

#include <utility>

#include "cli/results.h"

namespace lathe::cli {

double model_error(api::WorkloadRequest& named) {
  const double given = std::exchange(named.max_error, 0);
  return given > 0 ? given : api::kModelError;
}

std::string check_text(const api::ModelCheck& checked, double max_error) {
  std::string text = fmt::format(
      "the whole agrees with f64 up to {:.1e} of the largest element of {} ({:.0e} is allowed); {} "
      "elements of its nodes' references are the evaluator's",
      checked.error, printable(checked.output), max_error, checked.elements);
  if (checked.error > max_error)
    text = fmt::format(
        "the whole differs from f64 by {:.1e} of the largest element of {}: conditions or steps in "
        "the model, which roundings turn, may be why; each node was checked alone",
        checked.error, printable(checked.output));
  return text;
}

}  // namespace lathe::cli
