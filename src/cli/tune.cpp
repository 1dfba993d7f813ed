// lathe tune: searches for the fastest program of a workload.
#include <memory>
#include <thread>

#include "api/tuning.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  WorkloadFlags workload;
  MachineFlags machine;
  tune::Options options;
  bool json = false;
};

void add_search_flags(CLI::App& command, tune::Options& options) {
  command.add_option("--trials", options.trials, "trials of the run in all; the same command goes on")
      ->check(whole_number(1, 10'000'000))->capture_default_str();
  command.add_option("--time", options.seconds, "seconds this command may take")->type_name("SECONDS")->check(number_above_zero());
  command.add_option("--jobs", options.jobs, "processes that may work at once")->check(whole_number(1, 1024))->capture_default_str();
  command.add_option("--seed", options.seed, "of everything random; another seed is another run")
      ->check(whole_number(0, INT64_MAX))->capture_default_str();
  command.add_option("--search", options.search, "how candidates are chosen")
      ->check(one_of({"annealing", "genetic", "random"}))->capture_default_str();
  command.add_option("--model", options.model, "what learns from the trials")
      ->check(one_of({"xgb-rank", "xgb-reg", "none"}))->capture_default_str();
  command.add_option("--features", options.features, "what it sees of a program")
      ->check(one_of({"context", "relation", "configuration"}))->capture_default_str();
  command.add_flag("--fresh", options.fresh, "learn nothing from other runs' records");
}

Result<int> perform(const Flags& flags) {
  auto workload = LATHE_TRY(api::make_workload(flags.workload.request));
  api::TuneRequest request;
  request.target = LATHE_TRY(api::make_target(flags.machine.target, flags.machine.threads));
  request.database = flags.machine.database;
  request.options = flags.options;
  request.options.cache_mode = flags.machine.cache;
  request.options.flavour = LATHE_TRY(api::flavour_named(flags.machine.space));
  request.program = std::move(workload.program);
  catch_interrupts();
  ProgressLine line(stderr, te::flops(request.program));
  const auto tuned = api::run_tuning(
      request, [&](const tune::Progress& progress, double peak) { line.update(progress, peak); }, interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  if (flags.json) fmt::print("{}\n", dump(to_json(*tuned)));
  else fmt::print("{}", text_of(*tuned));
  return tuned->summary.best.ok() ? kDone : kFailed;
}

}  // namespace

void add_tune(CLI::App& app, Work& work) {
  auto flags = std::make_shared<Flags>();
  flags->options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  auto* command = app.add_subcommand("tune", "search for the fastest program of a workload");
  add_workload_flags(*command, flags->workload);
  add_search_flags(*command, flags->options);
  add_target_flags(*command, flags->machine);
  add_database_flag(*command, flags->machine.database);
  add_space_flag(*command, flags->machine);
  add_cache_flag(*command, flags->machine);
  command->add_flag("--json", flags->json, "end with one JSON object on standard output");
  command->callback([flags, &work] { work = [flags] { return perform(*flags); }; });
}

}  // namespace lathe::cli
