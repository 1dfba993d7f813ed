#include "api/recorded_spaces.h"

#include <algorithm>

#include "api/schedules.h"
#include "api/workload.h"
#include "base/file.h"
#include "compiler/codegen/llvm/codegen.h"
#include "tuner/recorded/collect.h"
#include "tuner/recorded/replay.h"
#include "tuner/space/restriction.h"

namespace lathe::api {
namespace {

constexpr int kRaced = 200;  // the fastest, whose order matters

Result<std::vector<std::string>> texts(const Json& list, const char* member) {
  std::vector<std::string> out;
  if (!list.contains(member)) return out;
  for (const Json& text : LATHE_TRY(json_array(list, member))) {
    if (!text.is_string())
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of texts", member);
    out.push_back(text.get<std::string>());
  }
  return out;
}

Result<WorkloadRequest> workload_request(const Json& list) {
  WorkloadRequest request;
  request.text = LATHE_TRY(json_string(list, "workload"));
  request.layout = LATHE_TRY(json_string(list, "layout"));
  request.shapes = LATHE_TRY(texts(list, "shapes"));
  request.constants = LATHE_TRY(texts(list, "constants"));
  if (!list.contains("flags")) return request;
  const Json flags = LATHE_TRY(json_member(list, "flags"));
  for (const auto& [flag, value] : flags.items())
    request.flags[flag] = LATHE_TRY(json_string(flags, flag));
  return request;
}

Result<SpaceList> list_from(const Json& json, const std::string& target) {
  SpaceList list;
  list.name = LATHE_TRY(json_string(json, "name"));
  list.flavour = LATHE_TRY(space::flavour_named(LATHE_TRY(json_string(json, "space"))));
  list.cache_mode = LATHE_TRY(json_string(json, "cache"));
  if (list.cache_mode != "warm" && list.cache_mode != "cold")
    return fail(ErrorKind::kInvalidArgument, "\"cache\" must be warm or cold, not \"{}\"",
                list.cache_mode);
  list.target =
      LATHE_TRY(make_target(target, static_cast<int>(LATHE_TRY(json_int(json, "threads")))));
  const auto workload = LATHE_TRY(make_workload(LATHE_TRY(workload_request(json))));
  auto whole =
      LATHE_TRY(space::derive_space(te::canonical(workload.program), list.target, list.flavour));
  list.space =
      LATHE_TRY(space::restrict_space(std::move(whole), LATHE_TRY(json_member(json, "knobs"))));
  return list;
}

// Random search, to the end of the space.
tune::Options everything(const RecordRequest& request, const space::Space& space) {
  tune::Options options;
  options.run.trials = static_cast<int>(space::all_configs(space).size());
  options.search.name = "random";
  options.model.name = "none";
  options.run.fresh = true;
  options.model.transfer = false;
  options.race.seconds = 0;
  options.run.jobs = request.jobs;
  options.run.cache_mode = request.list.cache_mode;
  options.run.flavour = request.list.flavour;
  options.run.codegen_version = codegen::kVersion;
  return options;
}

recorded::Recording blank(const SpaceList& list) {
  recorded::Recording recording;
  recording.name = list.name;
  recording.space = list.space;
  recording.target = list.target;
  recording.machine = host_fingerprint();
  recording.cache_mode = list.cache_mode;
  recording.flavour = list.flavour;
  recording.codegen_version = codegen::kVersion;
  return recording;
}

// Their medians are durable before this returns; what was raced before is not raced again.
Status race_fastest(const std::vector<store::Record>& records, const recorded::Recording& recording,
                    measure::Measurer& measurer, store::Store& store,
                    const std::function<void(double)>& progress,
                    const std::function<bool()>& stop) {
  const auto fastest = recorded::fastest(records, kRaced);
  if (std::ranges::all_of(fastest, &store::Record::raced)) return {};
  const auto results = LATHE_TRY(
      recorded::race_all(fastest, measurer, cache_of(recording.cache_mode), progress, stop));
  return results.empty() ? Status{} : store.set_race(results);
}

}  // namespace

Result<SpaceList> read_space_list(const std::string& path, const std::string& target) {
  const std::string text = LATHE_TRY(read_file(path));
  const auto read = [&]() -> Result<SpaceList> {
    return list_from(LATHE_TRY(parse_json(text)), target);
  };
  auto list = read();
  if (!list)
    list.error().place = list.error().place.empty() ? path : path + ", " + list.error().place;
  return list;
}

Result<RecordedSpace> record_space(const RecordRequest& request, const TuneListener& listener,
                                   const std::function<bool()>& stop) {
  LATHE_TRY_STATUS(check_runs_here(request.list.target));
  recorded::Recording recording = blank(request.list);
  const space::Space& space = *recording.space;
  tune::Options options = everything(request, space);
  const auto store = LATHE_TRY(store::open_sqlite(request.database));
  measure::Options measuring;
  measuring.jobs = request.jobs;
  measuring.cache = cache_of(request.list.cache_mode);
  const auto measurer =
      LATHE_TRY(measure::make_measurer(space.program(), request.list.target, measuring));
  recording.peak_flops = LATHE_TRY(peak_of(*store, *measurer, request.list.target));
  RecordedSpace out;
  out.summary = LATHE_TRY(tune::tune(
      space, *measurer, *store, request.list.target, options,
      [&](const tune::Progress& progress) { listener(progress, recording.peak_flops); }, stop));
  if (out.summary.interrupted) return out;

  tune::Progress racing{.trials = options.run.trials,
                        .failed = out.summary.failed,
                        .wanted = options.run.trials,
                        .main_failure = out.summary.main_failure,
                        .best_seconds = out.summary.best_seconds(),
                        .phase = "racing the fastest"};
  const auto raced = [&](double share) {
    racing.phase = fmt::format("racing the fastest, {:.0f} % done", 100 * share);
    listener(racing, recording.peak_flops);
  };
  const auto records = LATHE_TRY(recorded::records_of(*store, out.summary.run, recording));
  LATHE_TRY_STATUS(race_fastest(records, recording, *measurer, *store, raced, stop));
  out.summary.interrupted = stop();
  if (out.summary.interrupted) return out;
  LATHE_TRY_STATUS(recorded::collect(
      LATHE_TRY(recorded::records_of(*store, out.summary.run, recording)), recording));
  out.difficulty = recorded::difficulty_of(recording);
  LATHE_TRY_STATUS(recorded::save(recording, request.output));
  return out;
}

tune::Options replay_options(const recorded::Recording& recording, tune::Options options) {
  options.run.codegen_version = recording.codegen_version;
  options.run.cache_mode = recording.cache_mode;
  options.run.flavour = recording.flavour;
  return options;
}

Result<Tuned> replay_tuning(const recorded::Recording& recording, const std::string& global_model,
                            const tune::Options& options, const TuneListener& listener,
                            const std::function<bool()>& stop) {
  const auto store = LATHE_TRY(store::open_in_memory());
  tune::Options own = replay_options(recording, options);
  // what else comes with Lathe may change, a replay may not
  own.model.transfer = own.model.transfer && !global_model.empty();
  Tuned tuned;
  tuned.replayed = true;
  tuned.options = own;
  tuned.peak_flops = recording.peak_flops;
  tuned.traffic = traffic_of(recording.space->program());
  tuned.origin = LATHE_TRY(begin_from_others(
      global_model, te::workload_key(recording.space->program()), recording.target, nullptr, own));
  const auto measurer = recorded::make_replay(recording);
  tuned.summary = LATHE_TRY(tune::tune(
      *recording.space, *measurer, *store, recording.target, own,
      [&](const tune::Progress& progress) { listener(progress, tuned.peak_flops); }, stop));
  if (const auto config = recording.space->from_json(tuned.summary.best.config))
    tuned.config = recording.space->describe(*config);
  return tuned;
}

}  // namespace lathe::api
