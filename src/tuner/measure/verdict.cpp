#include "tuner/measure/verdict.h"

#include <algorithm>
#include <cmath>

#include "tuner/measure/reproducer.h"

namespace lathe::measure {
namespace {

constexpr std::int64_t kLargestTile = 6;  // of the algorithms in spaces
// Of the largest output: no tile that the step allows rounds more, so what is beyond is a fault.
constexpr double kMostRounding = 0.1;

// True for a trace written by hand whose errors nobody has bounded.
bool has_large_tiles(const schedule::Trace& trace) {
  return std::ranges::any_of(trace, [](const schedule::Step& step) {
    const auto* algorithm = std::get_if<schedule::CookToom>(&step);
    return algorithm != nullptr &&
           std::ranges::any_of(algorithm->tiles, [](auto tile) { return tile > kLargestTile; });
  });
}

}  // namespace

Error fault_of(const Task& task, const Candidate& candidate, const Built& built,
               const runner::Loaded& loaded) {
  const double allowed = task.workload.contract.max_error;
  // An error that rounding explains is no wrong answer: the workload asks for more than its types
  // can give.
  if (std::abs(loaded.got - loaded.want) <= loaded.bound)
    return {ErrorKind::kInvalidArgument,
            fmt::format("the error is {:.2g} of the largest output, as rounding makes it, and "
                        "--max-error allows {:.2g}; allow more",
                        loaded.max_error, allowed),
            {}};
  if (loaded.max_error <= kMostRounding && has_large_tiles(candidate.trace))
    return {ErrorKind::kInvalidArgument,
            fmt::format("the error is {:.2g} of the largest output, and --max-error allows {:.2g}: "
                        "a Cook-Toom algorithm with tiles of more than {} results rounds too much; "
                        "make them smaller",
                        loaded.max_error, allowed, kLargestTile),
            {}};
  const Options& options = task.session->options;
  const auto folder = save_reproducer(options.reproducer_folder, task.workload,
                                      task.session->target, candidate, built, options.seed, loaded);
  return {ErrorKind::kWrongAnswer,
          fmt::format("the program computed {:.7g} where {:.7g} is right (within {:.2g}); please "
                      "report it with {}",
                      loaded.got, loaded.want, loaded.bound,
                      folder ? *folder : "its trace (" + folder.error().message + ")"),
          folder ? *folder : std::string()};
}

}  // namespace lathe::measure
