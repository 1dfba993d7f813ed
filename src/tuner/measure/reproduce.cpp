#include "tuner/measure/reproduce.h"

#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "base/trust.h"
#include "compiler/te/parse.h"

namespace lathe::measure {
namespace {

namespace fs = std::filesystem;

// What is in the folder becomes a program that runs. So nobody else may have a hand in it, and a
// file of it is nowhere else.
Status check_folder(const std::string& folder) {
  LATHE_TRY_STATUS(check_unshared(folder));
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    if (at->is_symlink(code))
      return fail_at(at->path().string(), ErrorKind::kIo,
                     "this is a link, and a wrong answer leaves files alone; remove it, or put the "
                     "file itself there");
    LATHE_TRY_STATUS(check_unshared(at->path().string()));
  }
  return {};
}

}  // namespace

Result<Outcome> reproduce(const std::string& folder, Options options) {
  LATHE_TRY_STATUS(check_folder(folder));
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
