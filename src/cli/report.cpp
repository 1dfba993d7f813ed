// lathe report: shows what a database holds, and where the time of a model goes, as a page for
// people.
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include <fmt/chrono.h>

#include "api/model_check.h"
#include "api/report/model_report.h"
#include "api/report/report.h"
#include "api/targets.h"
#include "base/file.h"
#include "base/processors.h"
#include "base/timing_claim.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/live_work.h"
#include "cli/open_model.h"
#include "cli/report/page.h"
#include "cli/results.h"
#include "cli/show_model.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string positional, only, output = "lathe-report.html";
  MachineFlags machine;
  // Of a model.
  std::vector<std::string> shapes;
  std::string weights_type = api::WeightsRequest().type;
  double max_error = 0;  // 0: the usual one
  bool floors = false;
};

Result<std::string> database_of(const Flags& flags) {
  const std::string& database = flags.machine.database;
  if (flags.positional.empty() || names_model(flags.positional)) return database;
  if (database != store::default_path() && database != flags.positional)
    return fail_at("--db", ErrorKind::kInvalidArgument,
                   "two databases are given, {} and {}; choose one", flags.positional, database);
  return flags.positional;
}

Status write_page(const std::string& path, const std::string& page) {
  if (path == "-") {
    fmt::print("{}", page);
    return {};
  }
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored))
    return fail_at("--output", ErrorKind::kInvalidArgument,
                   "\"{}\" is no file name for the page; give one, as in -o report.html", path);
  return write_whole(path, page);
}

// Keeps the workloads of which `text` is a part of what the page's table says, or of their key.
Status keep_only(report::Report& report, const std::string& text) {
  if (text.empty()) return {};
  std::erase_if(report.workloads, [&](const report::WorkloadReport& w) {
    const auto has = [&](const std::string& part) { return part.find(text) != std::string::npos; };
    return !has(w.key) && !has(w.title) && !has(w.shapes) && !has(w.target);
  });
  if (!report.workloads.empty()) return {};
  return fail_at("--only", ErrorKind::kNotFound,
                 "no workload of the database contains \"{}\"; lathe trials lists them all", text);
}

Status check_no_flags_of_model(const Flags& flags) {
  LATHE_TRY_STATUS(check_no_weights_type(flags.weights_type));
  const MachineFlags usual;
  for (const auto& [flag, given] :
       {std::pair("--shape", !flags.shapes.empty()), std::pair("--max-error", flags.max_error > 0),
        std::pair("--floors", flags.floors),
        std::pair("--target", flags.machine.target != usual.target),
        std::pair("--threads", flags.machine.threads != usual.threads)})
    if (given)
      return fail_at(flag, ErrorKind::kInvalidArgument,
                     "this is for a model.onnx; --only TEXT chooses among a database's workloads");
  return {};
}

Status add_floors(report::ModelReport& report, const graph::Graph& graph, const Target& target) {
  LATHE_TRY_STATUS(api::check_timed_here(target));
  const TimingClaim claim;
  complain_unless_alone(claim);
  const auto floors =
      LATHE_TRY(with_live_line("measuring floors", [&](const api::ModelProgress& progress) {
        return api::node_floors(graph, target, usual_jobs().number, progress);
      }));
  for (report::ModelTask& task : report.tasks) task.floor = floors[graph::place(task.nodes[0])];
  return {};
}

Result<report::ModelReport> report_of_model(const Flags& flags) {
  const Target target = LATHE_TRY(target_of(flags.machine));
  const double max_error = flags.max_error > 0 ? flags.max_error : api::kModelError;
  const api::ScheduleRequest programs = schedule_request("best", flags.machine);
  const OpenModel model = LATHE_TRY(open_model(flags.positional, flags.shapes,
                                               {flags.weights_type, max_error}, target, programs));
  auto report = LATHE_TRY(with_live_line("looking for records", [&](const auto&) {
    return report::describe_model(model.graph(), programs, target);
  }));
  report.name = std::filesystem::path(flags.positional).filename();
  if (flags.floors) LATHE_TRY_STATUS(add_floors(report, model.graph(), target));
  return report;
}

// Of a model, the workloads of its tasks; there may be none.
Result<report::Report> gathered(const std::string& path, const report::ModelReport* model) {
  std::set<std::string> keys;
  if (model != nullptr)
    for (const report::ModelTask& task : model->tasks) keys.insert(task.key);
  const auto store = api::open_existing(path);
  if (!store && model != nullptr && store.error().kind == ErrorKind::kNotFound) {
    complain(store.error().text());
    return report::Report();
  }
  if (!store) return std::unexpected(store.error());
  auto report = report::gather(**store, model != nullptr ? &keys : nullptr);
  if (!report && report.error().place.empty()) report.error().place = path;
  return report;
}

Result<int> perform(const Flags& flags) {
  const std::string path = LATHE_TRY(database_of(flags));
  std::optional<report::ModelReport> model;
  if (names_model(flags.positional)) model = LATHE_TRY(report_of_model(flags));
  else LATHE_TRY_STATUS(check_no_flags_of_model(flags));
  auto report = LATHE_TRY(gathered(path, model ? &*model : nullptr));
  LATHE_TRY_STATUS(keep_only(report, flags.only));
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const PageInfo info{std::filesystem::path(path).filename(), std::filesystem::absolute(path),
                      fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now))};
  LATHE_TRY_STATUS(write_page(flags.output,
                              report_page(report, info, kMostSections, model ? &*model : nullptr)));
  if (flags.output == "-") return kDone;
  const std::string nodes =
      model ? counted(std::ssize(model->nodes), "node") + " of the model, " : "";
  fmt::print("{}: {}{}\n", flags.output, nodes, counted(std::ssize(report.workloads), "workload"));
  return kDone;
}

}  // namespace

Command report_command() {
  return {"report",
          "write what a database holds as a page for people: curves, knobs, models, failures, "
          "programs; "
          "or where the time of a model.onnx goes",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            set.positional(
                "DB", flags->positional,
                "database of records, as --db; or model.onnx, whose graph is shown with the "
                "time of each node",
                false);
            add_database_flag(set, flags->machine.database);
            set.text("--only", flags->only, "TEXT",
                     "only workloads whose expression, shapes or target contain it");
            set.text("-o,--output", flags->output, "FILE",
                     "where to write the page; - for standard output");
            set.group("Of a model");
            set.repeated("--shape", flags->shapes, "NAME=SIZES",
                         "a size that the model leaves open, batch=1, or all of an input's");
            set.number("--max-error", flags->max_error, "X",
                       "largest error allowed, relative to the largest output (default 1e-4)");
            add_weights_type_flag(set, flags->weights_type);
            add_floors_flag(set, flags->floors);
            add_target_flags(set, flags->machine);
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
