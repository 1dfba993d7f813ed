#include "api/recorded_spaces.h"

#include "api/targets.h"
#include "api/workload.h"
#include "base/file.h"
#include "research/recorded/record.h"
#include "research/recorded/replay.h"
#include "tuner/space/restriction.h"

namespace lathe::api {
namespace {

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
  list.cache_mode = LATHE_TRY(json_cache_mode(json, "cache"));
  const std::int64_t threads = LATHE_TRY(json_int(json, "threads"));
  if (threads < 1 || threads > kMostThreads)
    return fail_at("member \"threads\"", ErrorKind::kInvalidArgument,
                   "it must be a number from 1 to {}, not {}", kMostThreads, threads);
  list.target = LATHE_TRY(make_target(target, static_cast<int>(threads)));
  const auto workload = LATHE_TRY(make_workload(LATHE_TRY(workload_request(json))));
  auto whole =
      LATHE_TRY(space::derive_space(te::canonical(workload.definition), list.target, list.flavour));
  list.space =
      LATHE_TRY(space::restrict_space(std::move(whole), LATHE_TRY(json_member(json, "knobs"))));
  return list;
}

recorded::Recording blank(const SpaceList& list, int version) {
  recorded::Recording recording;
  recording.name = list.name;
  recording.space = list.space;
  recording.target = list.target;
  recording.cache_mode = list.cache_mode;
  recording.flavour = list.flavour;
  recording.codegen_version = version;
  return recording;
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

Result<RecordedSpace> record_space(const RecordingRequest& request, const TuneListener& listener,
                                   const std::function<bool()>& stop) {
  LATHE_TRY_STATUS(check_runs_here(request.list.target));
  recorded::Recording recording =
      blank(request.list, LATHE_TRY(codegen_version(request.list.target)));
  const auto store = LATHE_TRY(store::open_sqlite(request.database));
  measure::Options measuring;
  measuring.jobs = request.jobs;
  measuring.cache = request.list.cache_mode;
  const auto measurer =
      LATHE_TRY(measure::make_measurer(recording.space->workload(), recording.target, measuring));
  recording.machine = measurer->machine();
  recording.peak_flops = LATHE_TRY(peak_of(*store, *measurer, recording.target));
  RecordedSpace out;
  out.summary = LATHE_TRY(recorded::record(
      recording, {*measurer, measuring.cache, *store, request.jobs},
      [&](const tune::Progress& progress) { listener(progress, recording.peak_flops); }, stop));
  if (out.summary.interrupted) return out;
  out.difficulty = recorded::difficulty_of(recording);
  LATHE_TRY_STATUS(recorded::save(recording, request.output));
  return out;
}

Result<Origin> begin_replay(const std::string& global_model, const recorded::Recording& recording,
                            tune::Options& options) {
  options.model.transfer = options.model.transfer && !global_model.empty();
  return begin_from_others(global_model, te::workload_key(recording.space->workload()),
                           recording.target, nullptr, options);
}

Result<Tuned> replay_tuning(const recorded::Recording& recording, const std::string& global_model,
                            const tune::Options& options, const TuneListener& listener,
                            const std::function<bool()>& stop) {
  const auto store = LATHE_TRY(store::open_in_memory());
  tune::Options own = recorded::replay_options(recording, options);
  Tuned tuned;
  tuned.task.workload = recording.space->workload();
  tuned.replayed = true;
  tuned.peak_flops = recording.peak_flops;
  tuned.traffic = traffic_of(recording.space->workload());
  tuned.origin = LATHE_TRY(begin_replay(global_model, recording, own));
  tuned.options = own;
  const auto measurer = recorded::make_replay(recording);
  tuned.summary = LATHE_TRY(tune::tune(
      *recording.space, *measurer, *store, recording.target, own,
      [&](const tune::Progress& progress) { listener(progress, tuned.peak_flops); }, stop));
  if (const auto config = recording.space->from_json(tuned.summary.best.config))
    tuned.config = recording.space->describe(*config);
  return tuned;
}

}  // namespace lathe::api
