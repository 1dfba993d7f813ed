// The recording's JSON. Times have six digits, which is more than they were measured to.
#include <cmath>
#include <cstdlib>

#include "base/file.h"
#include "base/json.h"
#include "base/target_json.h"
#include "compiler/te/parse.h"
#include "research/recorded/compression.h"
#include "research/recorded/recording.h"
#include "tuner/space/frozen.h"

namespace lathe::recorded {
namespace {

constexpr const char* kMark = "lathe_recording";  // its value is the format's version
constexpr int kFormat = 1;
constexpr std::size_t kLargest = std::size_t{256} << 20;  // bytes of JSON

Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

// Writes columns, each with an entry for each configuration: they compress better than rows.
Json trials_json(const std::vector<Trial>& trials) {
  Json seconds = Json::array(), spread = Json::array(), raced = Json::array(),
       dropped = Json::array(), failure = Json::array();
  for (const Trial& trial : trials) {
    seconds.push_back(rounded(trial.seconds));
    spread.push_back(std::round(trial.spread * 1e4) / 1e4);
    raced.push_back(rounded(trial.raced_seconds));
    dropped.push_back(trial.dropped_early ? 1 : 0);
    failure.push_back(trial.failure);
  }
  return {{"seconds", std::move(seconds)},
          {"raced_seconds", std::move(raced)},
          {"spread", std::move(spread)},
          {"dropped_early", std::move(dropped)},
          {"failure", std::move(failure)}};
}

// Reads a column of times, in which null is infinity.
Result<std::vector<double>> column(const Json& json, const char* name) {
  std::vector<double> out;
  for (const Json& value : LATHE_TRY(json_array(json, name))) {
    if (!value.is_number() && !value.is_null())
      return fail(ErrorKind::kDataLoss, "\"{}\" has an entry that is no number", name);
    out.push_back(value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>());
  }
  return out;
}

Result<std::vector<Trial>> trials_from(const Json& json) {
  const auto seconds = LATHE_TRY(column(json, "seconds")),
             raced = LATHE_TRY(column(json, "raced_seconds")),
             spread = LATHE_TRY(column(json, "spread")),
             dropped = LATHE_TRY(column(json, "dropped_early")),
             failure = LATHE_TRY(column(json, "failure"));
  std::vector<Trial> trials(seconds.size());
  for (const auto* other : {&raced, &spread, &dropped, &failure})
    if (other->size() != trials.size())
      return fail(ErrorKind::kDataLoss, "its columns are not equally long");
  for (std::size_t i = 0; i < trials.size(); ++i)
    trials[i] = {seconds[i], raced[i], spread[i], dropped[i] != 0,
                 failure[i] >= 0 && failure[i] < 1e6 ? static_cast<int>(failure[i]) : -1};
  return trials;
}

Json to_json(const Recording& r) {
  Json failures = Json::array();
  for (const Failure& failure : r.failures)
    failures.push_back({{"kind", failure.kind}, {"message", failure.message}});
  return {{kMark, kFormat},
          {"name", r.name},
          {"workload", te::workload_key(r.space->workload())},
          {"target", to_json(r.target)},
          {"cache", r.cache_mode},
          {"machine", to_json(r.machine)},
          {"codegen_version", r.codegen_version},
          {"peak_flops", rounded(r.peak_flops)},
          {"flavour", space::name_of(r.flavour)},
          {"space", space::freeze(*r.space)},
          {"failures", std::move(failures)},
          {"trials", trials_json(r.trials())}};
}

Result<Recording> recording_from(const Json& json) {
  const auto format = json_int(json, kMark);
  if (!format)
    return fail(ErrorKind::kDataLoss, "this is no recording; lathe space record makes one");
  if (*format != kFormat)
    return fail(ErrorKind::kDataLoss, "the recording is of format {}, this Lathe reads format {}",
                *format, kFormat);
  Recording r;
  r.name = LATHE_TRY(json_string(json, "name"));
  r.target = LATHE_TRY(target_from_json(LATHE_TRY(json_member(json, "target"))));
  r.cache_mode = LATHE_TRY(json_cache_mode(json, "cache"));
  r.machine = LATHE_TRY(fingerprint_from_json(LATHE_TRY(json_member(json, "machine"))));
  r.codegen_version = static_cast<int>(LATHE_TRY(json_int(json, "codegen_version")));
  r.peak_flops = LATHE_TRY(json_number(json, "peak_flops"));
  r.flavour = LATHE_TRY(space::flavour_named(LATHE_TRY(json_string(json, "flavour"))));
  for (const Json& failure : LATHE_TRY(json_array(json, "failures")))
    r.failures.push_back(
        {LATHE_TRY(json_string(failure, "kind")), LATHE_TRY(json_string(failure, "message"))});
  const te::Workload workload =
      LATHE_TRY(te::parse_workload(LATHE_TRY(json_string(json, "workload"))));
  r.space = LATHE_TRY(space::thaw(workload, LATHE_TRY(json_member(json, "space"))));
  LATHE_TRY_STATUS(r.set_trials(LATHE_TRY(trials_from(LATHE_TRY(json_member(json, "trials"))))));
  return r;
}

Result<Recording> read(const std::string& path) {
  const std::string text = LATHE_TRY(decompress(LATHE_TRY(read_file(path)), kLargest));
  return recording_from(LATHE_TRY(parse_json(text)));
}

}  // namespace

Status save(const Recording& recording, const std::string& path) {
  return write_whole(path, compress(dump(to_json(recording))));
}

Result<Recording> load(const std::string& path) {
  auto recording = read(path);
  if (recording) return recording;
  Error& error = recording.error();
  error.place = path;
  // Nobody wrote it by hand.
  if (error.kind == ErrorKind::kInvalidArgument) error.kind = ErrorKind::kDataLoss;
  return recording;
}

}  // namespace lathe::recorded
