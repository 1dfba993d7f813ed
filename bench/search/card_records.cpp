// The times of bench/gpu/generated.jsonl.zst as a database, from which `lathe model train` and
// `eval` learn and judge as from records of trials.
#include "base/hash.h"
#include "compiler/te/workload.h"
#include "search/card_samples.h"
#include "tuner/store/store.h"

namespace lathe::bench {
namespace {

// These are no programs of Lathe's.
constexpr const char* kMachine = "NVIDIA H200, generated CUDA C";

store::Record record_of(const store::Run& run, const Sample& sample, std::size_t place) {
  store::Record record;
  record.run = run.id;
  record.workload = run.workload;
  record.target = run.target;
  record.cache_mode = run.cache_mode;
  record.space_hash = run.space_hash;
  record.index = static_cast<int>(place);
  record.fingerprint = record.cpu = kMachine;
  record.config = sample.space->to_json(sample.configs[place]);
  record.trace = schedule::to_json(sample.space->trace(sample.configs[place]));
  record.program_hash = hex(hash_of(record.trace.dump()));
  record.seconds = sample.seconds[place];
  record.visits.push_back({0, {record.seconds}, 0});
  return record;
}

Status add(store::Store& store, const Sample& sample) {
  store::Run wanted;
  wanted.workload = te::workload_key(sample.space->workload());
  wanted.target = sampled_card().text();
  wanted.cache_mode = CacheMode::kWarm;
  wanted.space = "wide";
  wanted.space_hash = hex(sample.space->hash());
  wanted.search = "random";
  wanted.model = "none";
  const store::Run run = LATHE_TRY(store.open_run(wanted));
  std::vector<store::Record> records;
  for (std::size_t i = 0; i < sample.configs.size(); ++i)
    records.push_back(record_of(run, sample, i));
  return store.add(records);
}

}  // namespace

Result<std::vector<Row>> card_records(const Settings& settings) {
  if (settings.database.empty())
    return fail(ErrorKind::kInvalidArgument, "name the database to write with --db");
  const Samples samples = LATHE_TRY(card_samples(settings));
  const auto store = LATHE_TRY(store::open_sqlite(settings.database));
  std::vector<Row> rows;
  for (const auto& [name, sample] : samples) {
    LATHE_TRY_STATUS(add(*store, sample));
    rows.push_back({name, "written", static_cast<double>(sample.configs.size()), "records"});
  }
  return rows;
}

}  // namespace lathe::bench
