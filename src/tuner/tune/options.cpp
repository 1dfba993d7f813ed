#include "tuner/tune/options.h"

#include <algorithm>
#include <cmath>

namespace lathe::tune {
namespace {

Status check_exploration(const search::Options& exploration) {
  if (exploration.chains < 1 || exploration.steps < 1)
    return fail(ErrorKind::kInvalidArgument,
                "annealing needs at least 1 chain and 1 step, not {} and {}", exploration.chains,
                exploration.steps);
  if (!(exploration.epsilon >= 0 && exploration.epsilon <= 1 && exploration.lambda >= 1 &&
        exploration.alpha >= 0 && std::isfinite(exploration.lambda + exploration.alpha)))
    return fail(ErrorKind::kInvalidArgument,
                "epsilon must be from 0 to 1, lambda at least 1 and alpha at least 0, not {:g}, "
                "{:g} and {:g}",
                exploration.epsilon, exploration.lambda, exploration.alpha);
  if (!(exploration.temperature >= 0 && std::isfinite(exploration.temperature) &&
        exploration.elite >= 0 && exploration.elite <= 1))
    return fail(ErrorKind::kInvalidArgument,
                "the temperature must be at least 0 and elite from 0 to 1, not {:g} and {:g}",
                exploration.temperature, exploration.elite);
  return {};
}

}  // namespace

Status check(const Options& options) {
  if (options.run.trials < 1)
    return fail(ErrorKind::kInvalidArgument, "the number of trials must be at least 1, not {}",
                options.run.trials);
  if (options.search.batch < 1 || options.search.first_batch < 1)
    return fail(ErrorKind::kInvalidArgument, "the batch must be at least 1, not {}",
                std::min(options.search.batch, options.search.first_batch));
  if (!(options.model.global_trials > 0))
    return fail(ErrorKind::kInvalidArgument,
                "a global model must be worth more than no trial, not {:g}",
                options.model.global_trials);
  LATHE_TRY_STATUS(check_exploration(options.search.exploration));
  if (!(options.search.thrift >= 0 && std::isfinite(options.search.thrift)))
    return fail(ErrorKind::kInvalidArgument, "thrift must be at least 0, not {:g}",
                options.search.thrift);
  return {};
}

}  // namespace lathe::tune
