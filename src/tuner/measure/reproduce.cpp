#include "tuner/measure/reproduce.h"

#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "compiler/te/parse.h"

namespace lathe::measure {
Result<Outcome> reproduce(const std::string& folder, Options options) {
  const Json facts = LATHE_TRY(parse_json(LATHE_TRY(read_file(folder + "/case.json"))));
  te::Workload workload =
      LATHE_TRY(te::parse_workload(LATHE_TRY(read_file(folder + "/workload.te"))));
  workload.contract.free_layout = LATHE_TRY(json_bool(facts, "free_layout"));
  workload.contract.max_error = LATHE_TRY(json_number(facts, "max_error"));
  const Json trace = LATHE_TRY(parse_json(LATHE_TRY(read_file(folder + "/trace.json"))));
  const Target target = LATHE_TRY(parse_target(LATHE_TRY(json_string(facts, "target"))));
  options.seed = static_cast<std::uint64_t>(LATHE_TRY(json_int(facts, "seed")));
  const auto measurer = LATHE_TRY(make_measurer(workload, target, options));
  Outcome outcome;
  LATHE_TRY_STATUS(measurer->measure({{0, LATHE_TRY(schedule::trace_from_json(trace))}},
                                     std::numeric_limits<double>::infinity(),
                                     [&](Outcome finished) { outcome = std::move(finished); }, {}));
  return outcome;
}

}  // namespace lathe::measure
