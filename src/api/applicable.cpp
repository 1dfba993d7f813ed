#include "api/applicable.h"

#include "api/targets.h"
#include "compiler/driver/driver.h"

namespace lathe::api {

Result<schedule::Trace> applied_trace(const store::Record& record, const te::Workload& workload,
                                      const Target& target) {
  auto trace = LATHE_TRY(schedule::trace_from_json(record.trace));
  try {
    LATHE_TRY(driver::lowered(te::canonical(workload), trace, target));
  } catch (const InvariantError& broken) {
    return driver::compiler_bug(broken);
  }
  return trace;
}

namespace {

Result<std::optional<Applicable>> first_that_applies(store::Store& store, const store::Query& query,
                                                     const te::Workload& workload,
                                                     const Target& target, PassedOver& passed) {
  std::optional<Applicable> found;
  LATHE_TRY_STATUS(store.each_by_standing(query, [&](const store::Record& record) {
    if (passed.records.contains(record.id)) return true;
    auto trace = applied_trace(record, workload, target);
    if (trace) {
      found = {record, std::move(*trace)};
      return false;
    }
    if (passed.records.empty())
      passed.first =
          fmt::format("trial {} of run {} ({})", record.index, record.run, trace.error().text());
    passed.records.insert(record.id);
    return true;
  }));
  return found;
}

}  // namespace

Result<std::optional<Applicable>> best_applicable(store::Store& store, store::Query query,
                                                  const te::Workload& workload,
                                                  const Target& target, PassedOver& passed) {
  query.codegen_version = LATHE_TRY(codegen_version(target));
  if (auto own = LATHE_TRY(first_that_applies(store, query, workload, target, passed))) return own;
  query.codegen_version.reset();
  return first_that_applies(store, query, workload, target, passed);
}

}  // namespace lathe::api
