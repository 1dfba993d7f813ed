#include "cli/results.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/told_times.h"
#include "compiler/te/algorithms.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/option_list.h"

namespace lathe::cli {

std::string rate_text(double flops, double seconds) {
  return fmt::format("{:.1f} GFLOP/s", flops / seconds / 1e9);
}

double peak_share(const api::Traffic& traffic, double flops, double seconds, double peak_flops) {
  return (traffic.done_flops > 0 ? traffic.done_flops : flops) / seconds / peak_flops;
}

std::string peak_text(const api::Traffic& traffic, double flops, double seconds,
                      double peak_flops) {
  constexpr double kPadded = 0.995;
  const double share = peak_share(traffic, flops, seconds, peak_flops);
  if (share > kMostShare)
    return fmt::format(
        "more than the {:.0f} GFLOP/s that multiply-adds in f32 alone reached here: its algorithm "
        "multiplies less, other types are faster, or the machine was disturbed then",
        peak_flops / 1e9);
  const bool padded = traffic.done_flops > 0 && traffic.done_flops < kPadded * flops;
  return fmt::format("{:.0f} % of the measured peak of {:.0f} GFLOP/s{}",
                     100 * std::min(share, 1.0), peak_flops / 1e9,
                     padded ? " by the operations done (padding is not multiplied)" : "");
}

namespace {

// The machine reaches at least what a program reaches: if the program's data stay in the caches,
// the kernel that only reads and writes may be slower.
double reached_bandwidth(const api::Traffic& traffic, double seconds) {
  return std::max(traffic.bandwidth, traffic.bytes / seconds);
}

}  // namespace

std::string traffic_text(const api::Traffic& traffic, double seconds) {
  const double rate = traffic.bytes / seconds;
  std::string text = fmt::format("{:.1f} GB/s of inputs and outputs", rate / 1e9);
  const double most = reached_bandwidth(traffic, seconds);
  if (traffic.bandwidth > 0)
    text += fmt::format(", {:.0f} % of the {:.1f} GB/s that reading and writing as much reaches",
                        100 * rate / most, most / 1e9);
  return text;
}

void add_traffic(Json& json, const api::Traffic& traffic, double seconds) {
  if (traffic.bytes <= 0) return;
  json["gigabytes_per_second"] = traffic.bytes / seconds / 1e9;
  if (traffic.bandwidth <= 0) return;
  const double most = reached_bandwidth(traffic, seconds);
  json["bandwidth_gigabytes_per_second"] = most / 1e9;
  json["bandwidth_share"] = traffic.bytes / seconds / most;
}

std::string algorithm_text(const std::string& written, const schedule::Trace& trace) {
  for (const schedule::Step& step : trace) {
    if (const auto* cook_toom = std::get_if<schedule::CookToom>(&step))
      return fmt::format("F({})", fmt::join(cook_toom->tiles, "x"));
    if (const auto* algorithm = te::algorithm_of_step(schedule::name_of(step)))
      return std::string(algorithm->word);
  }
  return written;
}

std::string machine_text(const std::string& target, const std::string& cpu) {
  const auto parsed = parse_target(target);
  return fmt::format("{} {}", parsed && !parsed->has_threads() ? "device" : "CPU", cpu);
}

std::string race_note(const store::Record& record) {
  if (!record.raced || !record.race.disturbed) return "";
  return "this time is of a race on a disturbed machine, so the program may be faster; lathe race "
         "repeats it";
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool line = byte == '\n' || byte == '\t';
    if ((byte < 0x20 && !line) || byte == 0x7f) text[i] = '?';
    // The commands of Unicode, U+0080 to U+009F.
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) text.replace(i, 2, "?");
  }
  return text;
}

std::string schedule_text(const Json& config) {
  std::string out;
  for (const auto& [knob, value] : config.items())
    out += (out.empty() ? "" : " ") + knob + "=" +
           (value.is_string() ? value.get<std::string>() : dump(value));
  return printable(std::move(out));
}

Json tensor_names(const te::Workload& workload) {
  Json names = Json::object();
  for (const auto& [name, recorded] : api::names_in_records(workload)) names[name] = recorded;
  return names;
}

double believed_seconds(const store::Record& record) {
  return record.raced ? record.race_seconds : record.seconds;
}

Json short_json(const store::Record& r, double flops) {
  Json json = {{"run", r.run}, {"batch", r.batch}, {"index", r.index}};
  if (r.ok()) {
    const bool failed = !std::isfinite(believed_seconds(r));
    const double seconds = failed ? r.seconds : believed_seconds(r);
    json["seconds"] = seconds;
    json["gflops"] = flops / seconds / 1e9;
    json["raced"] = r.raced;
    if (failed) json["failed_in_race"] = true;
    if (r.raced)
      json["race"] = {{"spread", r.race.spread},
                      {"peak_gflops", r.race.peak_flops / 1e9},
                      {"sentinel", r.race.sentinel_seconds},
                      {"disturbed", r.race.disturbed},
                      {"after_1ms", r.race.after_1ms},
                      {"after_20ms", r.race.after_20ms},
                      {"lost", r.race.lost},
                      {"time", r.race.time}};
    json["dropped_early"] = r.dropped_early;
    json["spills"] = r.spills;
    if (r.registers > 0)
      json["card"] = {{"registers", r.registers}, {"shared_bytes", r.shared_bytes}};
    json["numerical_error"] = r.numerical_error;
  } else {
    json["error"] = {
        {"kind", r.error_kind}, {"message", r.error_message}, {"place", r.error_place}};
  }
  json["config"] = r.config;
  json["cpu"] = r.cpu;
  json["time"] = r.time;
  return json;
}

namespace {

std::string origin_text(const api::Origin& origin) {
  return fmt::format("{} of {}{}", counted(origin.records, "trial"),
                     counted(origin.workloads, origin.shipped ? "workload" : "other workload"),
                     origin.shipped ? ", which came with Lathe" : "");
}

Json origin_json(const api::Origin& origin) {
  return {
      {"records", origin.records}, {"workloads", origin.workloads}, {"shipped", origin.shipped}};
}

}  // namespace

Json to_json(const api::Predicted& predicted) {
  return {{"trials", 0},
          {"failed", 0},
          {"transfer", origin_json(predicted.origin)},
          {"best",
           {{"predicted", true},
            {"config", predicted.config},
            {"trace", schedule::to_json(predicted.trace)}}}};
}

std::string text_of(const api::Predicted& predicted) {
  return fmt::format(
      "chosen by the analytic model{}; nothing was measured\nschedule: {}\n",
      predicted.origin.records == 0 ? "" : " and a model of " + origin_text(predicted.origin),
      predicted.text);
}

Json to_json(const api::Tuned& tuned) {
  const auto& s = tuned.summary;
  Json json = {{"workload", s.workload},
               {"target", s.target},
               {"run", s.run},
               {"trials", s.trials},
               {"failed", s.failed},
               {"wrong", s.wrong},
               {"resumed", s.resumed},
               {"seconds", s.seconds},
               {"flops", s.flops},
               {"peak_gflops", tuned.peak_flops / 1e9},
               {"interrupted", s.interrupted},
               {"exhausted", s.exhausted},
               {"unverified", s.unverified}};
  if (tuned.replayed) json.erase("seconds");
  json["options"] = tune::to_json(tuned.options);
  if (tuned.replayed) json["options"].erase("jobs");  // how fast, not what it finds
  json["main_failure"] = s.main_failure;
  json["race"] = nullptr;
  if (s.race && !tuned.replayed)
    json["race"] = {{"disturbed", s.race->disturbed}, {"speed", s.race->speed}};
  json["transfer"] = origin_json(tuned.origin);
  if (!tuned.replayed) {
    json["spent"] = {{"build", s.spent.build},
                     {"run", s.spent.run},
                     {"model", s.spent.model},
                     {"search", s.spent.search}};
    json["phases"] = Json::object();
    for (const auto& [phase, seconds] : s.phases)
      json["phases"][std::string(name_of(phase))] = seconds;
  }
  if (!s.best.ok()) {
    json["best"] = nullptr;
    return json;
  }
  json["best"] = short_json(s.best, s.flops);
  if (tuned.peak_flops > 0)
    json["best"]["peak_share"] =
        peak_share(tuned.traffic, s.flops, s.best_seconds(), tuned.peak_flops);
  add_traffic(json["best"], tuned.traffic, s.best_seconds());
  if (tuned.replayed) json["best"].erase("time");
  if (tuned.replayed) json["best"].erase("race");
  json["best"]["trace"] = s.best.trace;
  return json;
}

namespace {

// What the reader should know about the race, if there is anything.
std::string race_text(const tune::Summary& s) {
  if (const std::string note = race_note(s.best); !note.empty())
    return s.race && s.race->speed < measure::kSameSpeed
               ? fmt::format("{} ({:.0f} % of the speed it has shown)", note, 100 * s.race->speed)
               : note;
  if (!s.race || !s.race->disturbed) return "";
  return fmt::format(
      "the race of this run was disturbed (the machine ran at {:.0f} % of the speed it has shown), "
      "so the best is that of "
      "an earlier one; lathe race repeats it",
      100 * s.race->speed);
}

}  // namespace

std::string text_of(const api::Tuned& tuned) {
  const auto& s = tuned.summary;
  std::string out = counted(s.trials, "trial");
  if (s.resumed > 0) out += fmt::format(" ({} from before)", s.resumed);
  out += fmt::format(", {} failed, {}", s.failed == 0 ? "none" : fmt::format("{}", s.failed),
                     tuned.replayed ? "replayed" : fmt::format("{:.1f} s", s.seconds));
  if (s.interrupted) out += "; interrupted, the same command goes on";
  else if (s.exhausted) out += "; the space has no more";
  out += "\n";
  if (tuned.origin.records > 0)
    out += fmt::format("the model began from {}\n", origin_text(tuned.origin));
  if (s.failed > 0) out += fmt::format("main failure: {}\n", s.main_failure);
  if (s.wrong > 0)
    out += fmt::format(
        "{} programs computed a WRONG ANSWER: a bug of Lathe; `lathe trials` names the "
        "reproducers\n",
        s.wrong);
  if (!s.best.ok())
    return out + (s.unverified    ? "no trial was verified in time: the reference that trials are "
                                    "compared with was not there yet; give more --time\n"
                  : s.trials == 0 ? "nothing was measured\n"
                                  : "no candidate worked\n");
  out += fmt::format("best: {}, {}", time_text(s.best_seconds()),
                     rate_text(s.flops, s.best_seconds()));
  if (tuned.peak_flops > 0)
    out += ", " + peak_text(tuned.traffic, s.flops, s.best_seconds(), tuned.peak_flops);
  if (tuned.traffic.bytes > 0) out += "\nmemory: " + traffic_text(tuned.traffic, s.best_seconds());
  if (const std::string called = api::called_text(s.best); !called.empty() && !tuned.replayed)
    out += "\n" + called;
  if (const std::string note = race_text(s); !note.empty()) out += "\n" + note;
  return out + fmt::format("\nschedule: {}\n",
                           tuned.config.empty() ? schedule_text(s.best.config) : tuned.config);
}

}  // namespace lathe::cli
