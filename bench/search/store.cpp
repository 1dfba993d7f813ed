// Fills a database as years of tuning leave it: some 300 workloads with two or more runs of as many
// trials, whose configurations, traces, times and failures differ as those of a search do. Then it
// reads runs from it.
#include <chrono>
#include <cmath>
#include <filesystem>

#include "api/targets.h"
#include "api/workload.h"
#include "base/statistics.h"
#include "search/folder.h"
#include "search/probe.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"

namespace lathe::bench {
namespace {

constexpr int kWorkloads = 300, kRuns = 2, kBatch = 32;
constexpr int kTrials = 510;  // of a run, unless told

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

api::WorkloadRequest request_of(int number) {
  const auto pick = [&number](auto... values) {
    const std::int64_t all[] = {values...};
    const auto at = static_cast<std::size_t>(number) % sizeof...(values);
    number /= sizeof...(values);
    return all[at];
  };
  const auto kind = pick(0, 1, 2, 3, 4);
  const auto size = pick(7, 14, 28, 56), channels = pick(32, 64, 96, 128, 256);
  const auto more = channels * pick(1, 2, 3);
  api::WorkloadRequest request;
  if (kind <= 1) {
    const auto kernel = kind == 0 ? 3 : 1;
    request.text = "conv2d";
    request.flags = {{"input", fmt::format("1,{},{},{}", channels, size, size)},
                     {"weight", fmt::format("{},{},{},{}", more, channels, kernel, kernel)},
                     {"pad", kind == 0 ? "1" : "0"}};
    request.layout = more == channels ? "plain" : "free";
  } else if (kind == 2) {
    request.text = "matmul";
    request.flags = {{"m", std::to_string(size * 16)},
                     {"n", std::to_string(channels * 4)},
                     {"k", std::to_string(more)}};
  } else if (kind == 3) {
    request.text = "conv2d";
    request.flags = {{"input", fmt::format("1,{},{},{}", more, size, size)},
                     {"weight", fmt::format("{},1,3,3", more)},
                     {"groups", std::to_string(more)},
                     {"pad", "1"}};
  } else {
    request.text = "softmax";
    request.flags = {{"input", fmt::format("{},{}", size * 16, more + 1)}};
  }
  return request;
}

// Random numbers around 1, with a long tail of slow ones.
double slowdown(Rng& rng) { return 1 + std::abs(std::log(rng.uniform() + 1e-9)) * 0.5; }

// As the runner times: samples of 50 microseconds or of one call, for 8 milliseconds, by a clock
// whose seconds are differences of large numbers.
std::vector<store::Visit> visits_of(double seconds, Rng& rng) {
  std::vector<store::Visit> visits;
  const int count = 1 + static_cast<int>(rng.below(3));
  const double calls = std::max(1.0, std::ceil(50e-6 / seconds));
  const auto samples = static_cast<int>(std::clamp(8e-3 / (seconds * calls), 3.0, 20.0));
  double clock = 20'000 + std::floor(1e9 * rng.uniform()) * 1e-9;
  const auto elapsed = [&](double wanted) {
    const double begin = clock;
    clock += std::round(wanted * 1e9) * 1e-9;
    return clock - begin;
  };
  for (int v = 0; v < count; ++v) {
    const double drift = 1 + 0.02 * rng.uniform();
    store::Visit visit{.visit = v};
    for (int s = 0; s < samples; ++s)
      visit.seconds.push_back(elapsed(seconds * calls * drift * (1 + 0.03 * rng.uniform())) /
                              calls);
    visit.sentinel_seconds = elapsed(1e-4 * (1 + 0.2 * rng.uniform()));
    if (rng.below(8) == 0) visit.disturbed.push_back(elapsed(seconds * calls * 2) / calls);
    visits.push_back(std::move(visit));
  }
  return visits;
}

// A search: half of its configurations are new, half are neighbours of those that came before.
class Search {
 public:
  Search(const te::Workload& workload, const Target& target, const space::Space& space,
         std::uint64_t seed)
      : space_(space), rng_(seed), peak_seconds_(te::flops(workload) / 6e10 + 2e-6) {
    run_.workload = te::workload_key(workload);
    run_.target = target.text();
    run_.space = "default";
    run_.space_hash = fmt::format("{:016x}", space.hash());
    run_.search = "annealing";
    run_.model = "xgb-rank";
    run_.seed = seed;
    host_ = host_fingerprint();
  }
  store::Run& run() { return run_; }

  std::vector<store::Record> batch(int first, int count) {
    std::vector<store::Record> records;
    for (int i = first; i < first + count; ++i) records.push_back(trial(i));
    return records;
  }

 private:
  space::Config propose() {
    if (seen_.empty() || rng_.below(2) == 0) return space_.random(rng_);
    return space_.neighbour(seen_[rng_.below(seen_.size())], rng_);
  }

  store::Record trial(int index) {
    seen_.push_back(propose());
    store::Record r;
    r.run = run_.id;
    r.batch = index / kBatch;
    r.index = index;
    r.workload = run_.workload;
    r.target = run_.target;
    r.fingerprint = host_.text();
    r.cpu = host_.cpu();
    r.trace = schedule::to_json(space_.trace(seen_.back()));
    r.config = space_.to_json(seen_.back());
    r.space_hash = run_.space_hash;
    r.codegen_version = 7;
    r.program_hash = fmt::format("{:016x}", space_.program_number(seen_.back()));
    r.predicted_score = rng_.uniform();
    r.build_seconds = 0.03 * (1 + rng_.uniform());
    r.run_seconds = 0.04 * (1 + rng_.uniform());
    r.model_seconds = 0.004 * rng_.uniform();
    r.search_seconds = 0.01 * rng_.uniform();
    r.time = fmt::format("2026-08-{:02}T{:02}:{:02}:{:02}.{:03}Z", 1 + run_.id % 28, run_.id % 24,
                         index / 60 % 60, index % 60, rng_.below(1000));
    if (rng_.below(50) == 0) {
      r.error_kind = "timeout";
      r.error_message = "took longer than 5 s";
      r.error_place = "runner";
      return r;
    }
    r.visits = visits_of(peak_seconds_ * slowdown(rng_), rng_);
    r.seconds = quantile(r.visits.front().seconds, 0.25);
    r.numerical_error = 1e-7 * (1 + rng_.uniform());
    return r;
  }

  const space::Space& space_;
  Rng rng_;
  double peak_seconds_;
  store::Run run_;
  Fingerprint host_;
  std::vector<space::Config> seen_;
};

// Adds the runs of a workload, a batch at a time; returns the seconds that took.
Result<double> fill(store::Store& store, int number, int trials) {
  const auto made = LATHE_TRY(api::make_workload(request_of(number)));
  const Target target = LATHE_TRY(api::make_target("cpu:znver3", 1 + number % 2));
  const auto space =
      LATHE_TRY(api::space_of_key(made.definition, target, space::Flavour::kDefault));
  double seconds = 0;
  for (int seed = 0; seed < kRuns; ++seed) {
    const auto own = static_cast<std::uint64_t>(number * kRuns + seed);  // some workloads are equal
    Search search(made.definition, target, *space, own);
    search.run() = LATHE_TRY(store.open_run(search.run()));
    for (int i = 0; i < trials; i += kBatch) {
      auto records = search.batch(i, std::min(kBatch, trials - i));
      const double begin = now();
      LATHE_TRY_STATUS(store.add(records));
      seconds += now() - begin;
    }
  }
  return seconds;
}

Result<double> seconds_of_reading(store::Store& store, std::int64_t run) {
  const double begin = now();
  LATHE_TRY_STATUS(store.each({.run = run}, [](const store::Record&) { return true; }));
  return now() - begin;
}

}  // namespace

Result<std::vector<Row>> storing(const Settings& settings) {
  const Folder folder;
  const std::string path =
      settings.database.empty() ? folder.file("records.db") : settings.database;
  const int trials = settings.configs > 0 ? settings.configs : kTrials;
  auto store = LATHE_TRY(store::open_sqlite(path));
  double adding = 0;
  for (int number = 0; number < kWorkloads; ++number)
    adding += LATHE_TRY(fill(*store, number, trials));
  store = LATHE_TRY(store::open_sqlite(path));
  std::vector<double> reading;
  for (int i = 0; i < 50; ++i) reading.push_back(LATHE_TRY(seconds_of_reading(*store, 1 + 11 * i)));
  const auto records = static_cast<double>(LATHE_TRY(store->count({})));
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  const std::string among = fmt::format("{} records", records);
  return std::vector<Row>{{among, "size of the database", bytes / 1e6, "MB"},
                          {among, "a record", bytes / records, "bytes"},
                          {among, "records added a second, in batches of 32", records / adding, ""},
                          {among, "a run read, median", 1e3 * median(reading), "ms"}};
}

}  // namespace lathe::bench
