// lathe doctor: tells whether this machine can tune, and what its times are worth.
#include "api/doctor.h"

#include <algorithm>
#include <memory>

#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  MachineFlags machine;
  bool json = false;
};

const char* mark_of(api::Check::State state) {
  switch (state) {
    case api::Check::State::kFine: return "fine";
    case api::Check::State::kDoubtful: return "doubtful";
    case api::Check::State::kBroken: break;
  }
  return "broken";
}

void print(const api::Check& check) {
  fmt::print("{:<9} {:<13} {}\n", mark_of(check.state), check.what, check.finding);
  if (!check.advice.empty()) fmt::print("{:<23} {}\n", "", check.advice);
}

Result<int> perform(const Flags& flags) {
  const Target target = LATHE_TRY(target_of(flags.machine));
  const TimingClaim claim;
  complain_unless_alone(claim);
  const auto checks =
      api::examine(target, threads_line(flags.machine, target), flags.machine.database);
  Json json = Json::array();
  for (const api::Check& check : checks) {
    if (!flags.json) print(check);
    json.push_back({{"what", check.what},
                    {"state", mark_of(check.state)},
                    {"finding", check.finding},
                    {"advice", check.advice}});
  }
  if (flags.json) fmt::print("{}\n", dump(json));
  const bool broken = std::ranges::any_of(
      checks, [](const api::Check& check) { return check.state == api::Check::State::kBroken; });
  return broken ? kFailed : kDone;
}

}  // namespace

Command doctor_command() {
  return {"doctor", "say what tuning needs of this machine, and what disturbs its times",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            set.flag("--json", flags->json, "machine-readable output");
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
