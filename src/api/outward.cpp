#include "api/outward.h"

#include "base/processors.h"
#include "tuner/store/store.h"
#include "tuner/tune/option_list.h"

namespace lathe {

Workload workload_from(te::Workload definition) {
  auto impl = std::make_shared<Workload::Impl>();
  impl->definition = std::move(definition);
  impl->key = te::workload_key(impl->definition);
  return Workload(std::move(impl));
}

std::string database_of(const Machine& machine) {
  return machine.database.empty() ? store::default_path() : machine.database;
}
CacheMode cache_of(const Machine& machine) {
  return machine.cold_cache ? CacheMode::kCold : CacheMode::kWarm;
}

int jobs_of(int wanted) { return wanted > 0 ? wanted : usual_jobs().number; }

Result<tune::Options> options_of(const TuneOptions& options) {
  tune::Options out;
  tune::take(options, out);
  out.run.jobs = jobs_of(options.jobs);
  out.run.flavour = LATHE_TRY(space::flavour_named(options.space));
  out.run.cache_mode = cache_of(options.machine);
  return out;
}

}  // namespace lathe
