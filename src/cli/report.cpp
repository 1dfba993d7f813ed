// lathe report: shows what a database holds, as a page for people.
#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/chrono.h>

#include "api/report/report.h"
#include "base/file.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/report/page.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string positional, database, only, output = "lathe-report.html";
};

Result<std::string> database_of(const Flags& flags) {
  if (flags.positional.empty()) return flags.database;
  if (flags.database != store::default_path() && flags.database != flags.positional)
    return fail_at("--db", ErrorKind::kInvalidArgument,
                   "two databases are given, {} and {}; choose one", flags.positional,
                   flags.database);
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
  std::erase_if(report.workloads, [&](const report::WorkloadReport& w) {
    const auto has = [&](const std::string& part) { return part.find(text) != std::string::npos; };
    return !has(w.key) && !has(w.title) && !has(w.shapes) && !has(w.target);
  });
  if (!report.workloads.empty()) return {};
  return fail_at("--only", ErrorKind::kNotFound,
                 "no workload of the database contains \"{}\"; lathe trials lists them all", text);
}

Result<int> perform(const Flags& flags) {
  const std::string path = LATHE_TRY(database_of(flags));
  const auto store = LATHE_TRY(api::open_existing(path));
  auto report = report::gather(*store);
  if (!report && report.error().place.empty()) report.error().place = path;
  if (!report) return std::unexpected(report.error());
  LATHE_TRY_STATUS(keep_only(*report, flags.only));
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const PageInfo info{std::filesystem::path(path).filename(), std::filesystem::absolute(path),
                      fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now))};
  LATHE_TRY_STATUS(write_page(flags.output, report_page(*report, info)));
  if (flags.output != "-")
    fmt::print("{}: {}\n", flags.output,
               counted(static_cast<std::int64_t>(report->workloads.size()), "workload"));
  return kDone;
}

}  // namespace

Command report_command() {
  return {
      "report",
      "write what a database holds as a page for people: curves, knobs, models, failures, programs",
      [](FlagSet& set) -> Work {
        auto flags = std::make_shared<Flags>();
        set.positional("DB", flags->positional, "database of records, as --db", false);
        add_database_flag(set, flags->database);
        set.text("--only", flags->only, "TEXT",
                 "only workloads whose expression, shapes or target contain it");
        set.text("-o,--output", flags->output, "FILE",
                 "where to write the page; - for standard output");
        return [flags] { return perform(*flags); };
      }};
}

}  // namespace lathe::cli
