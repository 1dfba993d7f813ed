#include "cli/tune_model.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "cli/application.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/live_line.h"
#include "cli/open_model.h"
#include "cli/progress_line.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

std::string line_text(const api::ModelTuneProgress& p, std::size_t columns) {
  std::string text = fmt::format("{}/{} tasks, {}", p.begun, p.tasks, counted(p.trials, "trial"));
  if (p.begun > 0)
    text += fmt::format(" | model {}{}", p.begun < p.tasks ? "about " : "", time_text(p.best));
  if (p.left > 0) text += fmt::format(" | {} left", duration_text(p.left));
  const std::string at = p.doing.empty() ? p.task : fmt::format("{}: {}", p.task, p.doing);
  return cut(interrupted() ? text + " | stopping" : text + " | " + at, columns);
}

// "1.24": how many times as fast.
std::string speedup_text(double first, double best) {
  return first > 0 && best > 0 ? fmt::format("{:.2f}", first / best) : "";
}

std::string text_of(const api::LastWord& last, const std::vector<api::TunedTask>& tasks) {
  if (last.before == 0) return "";
  std::string out = fmt::format("the whole, called node by node, took {}", time_text(last.before));
  if (last.exchanges.empty())
    return out + (last.tried == 0 ? "; no other programs were tried in it\n"
                                  : fmt::format("; none of {} made it faster\n",
                                                counted(last.tried, "other program")));
  out += fmt::format(", {} with other programs for\n", time_text(last.after));
  for (const api::Exchange& exchange : last.exchanges)
    for (const api::TunedTask& task : tasks)
      if (task.workload == exchange.workload)
        out += fmt::format("  {}: {:.1f} % less\n", task.label, 100 * exchange.gain);
  return out;
}

std::string text_of(const api::TunedModel& tuned) {
  int trials = 0;
  std::string out = fmt::format("{:>5}  {:>9}  {:>9}  {:>6}  {:>6}  task\n", "count", "default",
                                "best", "times", "trials");
  for (const api::TunedTask& task : tuned.tasks) {
    trials += task.trials;
    out += fmt::format("{:>5}  {:>9}  {:>9}  {:>6}  {:>6}  {}\n", task.weight,
                       task.first > 0 ? time_text(task.first) : "-",
                       task.best > 0 ? time_text(task.best) : "-",
                       speedup_text(task.first, task.best), task.trials, task.label);
    if (!task.problem.empty()) out += fmt::format("{:>5}  {}\n", "", printable(task.problem));
  }
  out += fmt::format("{}, {:.1f} s{}\n", counted(trials, "trial"), tuned.seconds,
                     tuned.interrupted ? "; interrupted, the same command goes on" : "");
  const auto measured = std::ranges::count_if(
      tuned.tasks, [](const api::TunedTask& t) { return t.first > 0 && t.best > 0; });
  if (tuned.best() > 0)
    out += fmt::format(
        "in its {} a run takes {} now, {} by default programs\n",
        std::cmp_less(measured, tuned.tasks.size())
            ? fmt::format("{} of {} tasks that were measured", measured, tuned.tasks.size())
            : std::string("tasks"),
        time_text(tuned.best()), time_text(tuned.first()));
  return out + text_of(tuned.last_word, tuned.tasks);
}

Json json_of(const api::TunedModel& tuned) {
  Json json;
  json["seconds"] = tuned.seconds;
  json["interrupted"] = tuned.interrupted;
  json["default_seconds"] = tuned.first();
  json["best_seconds"] = tuned.best();
  json["whole_seconds_before"] = tuned.last_word.before;
  json["whole_seconds"] = tuned.last_word.after;
  json["exchanges"] = Json::array();
  for (const api::Exchange& exchange : tuned.last_word.exchanges)
    json["exchanges"].push_back({{"workload", exchange.workload}, {"gain", exchange.gain}});
  json["tasks"] = Json::array();
  for (const api::TunedTask& task : tuned.tasks) {
    Json one = {{"task", task.label},     {"workload", task.workload}, {"count", task.weight},
                {"trials", task.trials},  {"failed", task.failed},     {"default_seconds", nullptr},
                {"best_seconds", nullptr}};
    if (task.first > 0) one["default_seconds"] = task.first;
    if (task.best > 0) one["best_seconds"] = task.best;
    if (!task.problem.empty()) one["problem"] = task.problem;
    json["tasks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

Result<int> tune_model(const ModelTuneFlags& flags) {
  const OpenModel model =
      LATHE_TRY(open_model(flags.path, flags.shapes, flags.weights, flags.request.target, {}));
  catch_interrupts();
  std::mutex lock;
  api::ModelTuneProgress now;
  LiveLine line(stderr, [&](std::size_t columns) {
    const std::scoped_lock guard(lock);
    return line_text(now, columns);
  });
  line.above(complaint(flags.first));
  const auto tuned = api::tune_model(
      model.graph(), flags.request,
      [&](const api::ModelTuneProgress& progress) {
        const std::scoped_lock guard(lock);
        now = progress;
      },
      interrupted);
  line.finish();
  if (!tuned) return std::unexpected(tuned.error());
  if (flags.json) fmt::print("{}\n", dump(json_of(*tuned)));
  else fmt::print("{}", text_of(*tuned));
  const int code = tuned->best() > 0 ? kDone : kFailed;
  return tuned->interrupted ? interrupted_code(code) : code;
}

}  // namespace lathe::cli
