// lathe export: records as JSON lines on standard output.
#include <iostream>
#include <memory>

#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"

namespace lathe::cli {
namespace {

struct Flags {
  WorkloadFlags workload;
  std::string database;
};

Result<int> perform(const Flags& flags) {
  store::Query query;
  if (!flags.workload.request.text.empty())
    query.workload = te::workload_key(LATHE_TRY(api::make_workload(flags.workload.request)).program);
  const auto store = LATHE_TRY(api::open_existing(flags.database));
  LATHE_TRY_STATUS(store::export_lines(*store, query, std::cout));
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, Work& work) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("export", "write records as JSON lines, all or those of a workload");
  add_workload_flags(*command, flags->workload, false);
  add_database_flag(*command, flags->database);
  command->callback([flags, &work] { work = [flags] { return perform(*flags); }; });
}

}  // namespace lathe::cli
