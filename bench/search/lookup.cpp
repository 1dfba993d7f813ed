// Finds the best record of a workload among 100,000, in a database of its own that is filled with
// traces as tuning leaves them.
#include <chrono>

#include "api/targets.h"
#include "base/statistics.h"
#include "search/folder.h"
#include "search/probe.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::bench {
namespace {

constexpr int kRecords = 100'000;
constexpr int kWorkloads = 100;
constexpr int kEach = kRecords / kWorkloads;
constexpr int kLookups = 5'000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The keys of 100 workloads: C6's key with other names for its output.
std::string key_of(const std::string& key, int number) {
  return fmt::format("{} # {}", key, number);
}

store::Run run_of(const std::string& workload, const Target& target, const space::Space& space) {
  store::Run run;
  run.workload = workload;
  run.target = target.text();
  run.cache_mode = CacheMode::kWarm;
  run.space = "default";
  run.space_hash = fmt::format("{:016x}", space.hash());
  run.search = "annealing";
  run.model = "xgb-rank";
  return run;
}

std::vector<store::Record> trials(const space::Space& space) {
  std::vector<store::Record> out(kEach);
  Rng rng(1);
  const Fingerprint host = host_fingerprint();
  for (int i = 0; i < kEach; ++i) {
    const auto config = space.random(rng);
    store::Record& r = out[static_cast<std::size_t>(i)];
    r.batch = i / 64;
    r.index = i;
    r.fingerprint = host.text();
    r.cpu = host.cpu();
    r.trace = schedule::to_json(space.trace(config));
    r.config = space.to_json(config);
    r.codegen_version = 1;
    r.program_hash = fmt::format("{:016x}", static_cast<unsigned>(i));
    for (int visit = 0; visit < 3; ++visit)
      r.visits.push_back({visit, std::vector<double>(8, 1e-3 + 1e-6 * i), 1e-4});
    r.seconds = 1e-3 + 1e-6 * rng.uniform();
  }
  return out;
}

Status fill(store::Store& store, const std::string& key, const Target& target,
            const space::Space& space) {
  const auto pattern = trials(space);
  for (int w = 0; w < kWorkloads; ++w) {
    const auto run = LATHE_TRY(store.open_run(run_of(key_of(key, w), target, space)));
    auto records = pattern;
    for (auto& record : records) {
      record.run = run.id;
      record.workload = run.workload;
      record.target = run.target;
      record.cache_mode = run.cache_mode;
      record.space_hash = run.space_hash;
    }
    LATHE_TRY_STATUS(store.add(records));
  }
  return {};
}

}  // namespace

Result<std::vector<Row>> lookup(const Settings&) {
  const Folder folder;
  const Target target = LATHE_TRY(api::make_target("cpu:host", 1));
  const auto workload = LATHE_TRY(workloads()).front();
  const auto space =
      LATHE_TRY(space::derive_space(workload.definition, target, space::Flavour::kDefault));
  const std::string key = te::workload_key(workload.definition), path = folder.file("records.db");
  LATHE_TRY_STATUS(fill(*LATHE_TRY(store::open_sqlite(path)), key, target, *space));

  const double opening = now();
  const auto store = LATHE_TRY(store::open_sqlite(path));
  const auto look = [&](int number) {
    return store->best({.workload = key_of(key, number),
                        .target = target.text(),
                        .cache_mode = CacheMode::kWarm,
                        .cpu = host_fingerprint().cpu()});
  };
  if (!LATHE_TRY(look(0))) return fail(ErrorKind::kInternal, "the look-up found nothing");
  const double opened = now() - opening;
  Rng rng(2);
  std::vector<double> micros;
  for (int i = 0; i < kWorkloads; ++i) LATHE_TRY(look(i));
  for (int i = 0; i < kLookups; ++i) {
    const int number = static_cast<int>(rng.below(kWorkloads));
    const double start = now();
    const auto best = LATHE_TRY(look(number));
    micros.push_back(1e6 * (now() - start));
    if (!best) return fail(ErrorKind::kInternal, "the look-up found nothing");
  }
  const std::string among = fmt::format("{} records", LATHE_TRY(store->count({})));
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  return std::vector<Row>{{among, "best record, warm, median", median(micros), "us"},
                          {among, "best record, warm, worst", quantile(micros, 1), "us"},
                          {among, "database opened and the first look-up", 1e3 * opened, "ms"},
                          {among, "size of the database", megabytes, "MB"}};
}

}  // namespace lathe::bench
