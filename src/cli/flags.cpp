#include "cli/flags.h"

#include "compiler/te/algorithms.h"
#include "tuner/store/store.h"

namespace lathe::cli {

void add_workload_flags(FlagSet& flags, api::WorkloadRequest& request) {
  flags.positional("workload", request.text,
                   "an expression, an operator or a workload of the paper", false);
  flags.group("Workload");
  flags.repeated("--shape", request.shapes, "NAME=SIZES",
                 "shape of an expression's input, e.g. A=1024,1024; once for each");
  flags.repeated("--dtype", request.dtypes, "[NAME=]TYPE",
                 "element type, of one input or of all (default f32)");
  flags.repeated("--const", request.constants, "NAME",
                 "input known beforehand, e.g. weights: packed once, not in every call");
  flags.choice("--layout", request.layout, {"plain", "free"},
               "plain: inputs and outputs are row-major; free: the schedule chooses their layouts "
               "(default: what the expression says, else plain)");
  flags.number("--max-error", request.max_error, "X",
               "largest error allowed, relative to the largest output (default: what the "
               "expression says, else 2e-5)");
  flags.text("--algorithm", request.algorithm, "NAME",
             "how the main sum is computed: " + te::algorithm_words() +
                 " (default: the schedule chooses)");
  flags.choice("--numerics", request.numerics, {"componentwise", "local", "normwise"},
               "how far roundings, NaN and infinity may spread: not at all, within a tile of "
               "neighbouring results, or over whole rows and matrices (default: what the "
               "expression says, else what the algorithm needs, or local)");
  flags.repeated("--range", request.ranges, "NAME=LOW..HIGH",
                 "between which numbers an input lies, e.g. A=0..1: checks draw from it; once for "
                 "each");
  for (const auto& flag : api::operator_flags()) {
    if (flag.name == "dtype") continue;  // it is declared above
    if (flag.takes_value)
      flags.on_text("--" + flag.name, [&request, name = flag.name](const std::string& value) {
        request.flags[name] = value;
      });
    else
      flags.on_flag("--" + flag.name,
                    [&request, name = flag.name] { request.flags[name] = "true"; });
  }
  flags.footer("workload", [command = flags.command()](const std::string& given) {
    return api::operator_help(given, command);
  });
  flags.group("");
}

void add_database_flag(FlagSet& flags, std::string& database) {
  database = store::default_path();
  flags.text("--db", database, "FILE", "database of records (or set LATHE_DB)");
}

void add_target_flags(FlagSet& flags, MachineFlags& machine) {
  flags.text("--target", machine.target, "TARGET",
             "cpu:MCPU[,+feature...][;threads=N], opencl:host, opencl:generic, or opencl:FILE that "
             "describes a device; cuda:host, cuda:sm_80 or another architecture, cuda:A100 or "
             "another card, or cuda:FILE that describes one");
  flags.whole("--threads", machine.threads, 1, kMostThreads,
              "threads of the program (default: for cpu:host the physical cores of one NUMA node "
              "that this process may use, fewer where OMP_NUM_THREADS or the quota of a container "
              "says less; 1 for any other target)");
}

Result<Target> target_of(const MachineFlags& machine) {
  return api::make_target(machine.target, machine.threads);
}

std::string threads_line(const MachineFlags& machine, const Target& target) {
  return api::threads_sentence(machine.target, machine.threads, target);
}

std::string fewer_threads_line(const Target& asked, const Target& taken) {
  return fmt::format("nothing for {} threads is on record; what is for {} is taken",
                     asked.threads(), taken.threads());
}

void add_cache_flag(FlagSet& flags, MachineFlags& machine) {
  flags.choice("--cache", machine.cache, kCacheModes,
               "state of the caches when a program is timed; far: what is constant comes from "
               "memory, as in a model whose weights exceed the caches");
}

void add_space_flag(FlagSet& flags, MachineFlags& machine) {
  flags.choice("--space", machine.space, space::kFlavours,
               "schedules to consider; wide has no constraints, for experiments");
}

void add_schedule_flag(FlagSet& flags, std::string& schedule) {
  flags.choice("--schedule", schedule, api::known_sources(),
               "the best on record, what the models choose unmeasured, the analytic default, or "
               "the loops as written");
  flags.on_text("--trace", "FILE.json", "instead, the steps of this JSON list (docs/steps.md)",
                [&schedule](const std::string& file) {
                  const bool tells = file.ends_with(".json") || file.find('/') != std::string::npos;
                  schedule = tells ? file : "./" + file;
                });
  flags.contradict("--trace", {"--schedule"});
}

api::ScheduleRequest schedule_request(const std::string& which, const MachineFlags& machine) {
  return {which, machine.database, machine.cache, machine.space};
}

}  // namespace lathe::cli
