#include "cli/progress_line.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/split.h"
#include "cli/application.h"
#include "cli/interrupt.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

// How many words are used; what matters least is left out first.
enum Detail { kShort, kNoPhase, kPhase, kBriefReason, kAll };

// Joins the lines of an expression, as they would be written in one line.
std::string in_one_line(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    const auto first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r;");
    if (first != std::string::npos && last != std::string::npos && first <= last)
      out += (out.empty() ? "" : "; ") + line.substr(first, last - first + 1);
  }
  std::ranges::replace_if(out, [](unsigned char c) { return c < ' '; }, ' ');
  return out;
}

// Tells a failure in a few whole words, or by its kind alone: the line has little room.
std::string in_short(const std::string& failure, bool by_kind) {
  constexpr std::size_t kRoom = 40;
  if (by_kind) return failure.substr(0, failure.find(':'));
  if (failure.size() <= kRoom) return failure;
  const std::string most = cut(failure, kRoom - 3);
  const auto space = failure.compare(most.size(), 1, " ") == 0 ? most.size() : most.rfind(' ');
  return most.substr(0, space) + "...";
}

std::string line_text(const tune::Progress& p, const Subject& subject, double peak, Detail detail) {
  const bool words = detail >= kBriefReason;
  // A run may already have more trials than this command asked for.
  std::string text = p.trials > p.wanted ? fmt::format("{} trials", p.trials)
                                         : fmt::format("{}/{}{}", p.trials, p.wanted,
                                                       detail > kShort ? " trials" : "");
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  if (p.failed > 0 && detail > kShort)
    text += fmt::format(" ({})", in_short(p.main_failure, detail < kAll));
  if (p.best_seconds > 0) {
    text += fmt::format(" | {}{:.1f} GFLOP/s", words ? "best " : "",
                        subject.flops / p.best_seconds / 1e9);
    const double share = peak > 0 ? subject.done_flops / p.best_seconds / peak : 0;
    if (share > 0 && share <= kMostShare) text += fmt::format(", {:.0f} % of peak", 100 * share);
  }
  if (p.trials_per_second > 0)
    text += fmt::format(" | {:.1f}{}", p.trials_per_second, words ? " trials/s" : "/s");
  if (p.left_seconds > 0) text += fmt::format(" | {} left", duration_text(p.left_seconds));
  return detail == kShort || detail == kNoPhase ? text : text + " | " + p.shown();
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = std::llround(std::clamp(seconds, 0.0, 3.6e6));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string label_of(const std::string& workload, const Target& target) {
  constexpr std::size_t kRoom = 30;
  const std::string line = in_one_line(workload);
  std::string name = cut(line, kRoom) == line ? line : cut(line, kRoom - 3) + "...";
  if (!target.has_threads()) return name;
  return fmt::format("{}, {} thread{}", name, target.threads(), target.threads() == 1 ? "" : "s");
}

std::string progress_text(const tune::Progress& p, const Subject& subject, double peak,
                          std::size_t columns) {
  const std::string label = subject.label.empty() ? "" : subject.label + ": ";
  if (p.wanted == 0) return cut(label + p.shown(), columns);
  // Uses the label and as many words as fit. If the label leaves room for the fewest words only, it
  // is left out.
  for (const std::string& begin : {label, std::string()})
    for (const Detail detail : {kAll, kBriefReason, kPhase, kNoPhase, kShort}) {
      const std::string text = begin + line_text(p, subject, peak, detail);
      if (cut(text, columns) == text) return text;
    }
  std::string text = line_text(p, subject, peak, kShort);
  for (auto bar = text.rfind(" | "); bar != std::string::npos && cut(text, columns) != text;
       bar = text.rfind(" | "))
    text.resize(bar);
  return cut(text, columns);
}

tune::Progress heeding_interrupts(tune::Progress progress) {
  if (!interrupted()) return progress;
  progress.doing = "stopping";
  progress.left_seconds = 0;
  return progress;
}

ProgressLine::ProgressLine(std::FILE* out, Subject subject)
    : subject_(std::move(subject)),
      line_(out, [this](std::size_t columns) { return text(columns); }) {}

void ProgressLine::update(const tune::Progress& progress, double peak) {
  const bool begun = progress.phase != tune::Phase::kStarting || !progress.doing.empty();
  if (begun && !subject_.first.empty())
    std::call_once(said_, [this] { line_.above(complaint(subject_.first)); });
  const std::lock_guard lock(mutex_);
  progress_ = progress;
  peak_ = peak;
}

std::string ProgressLine::text(std::size_t columns) {
  const std::lock_guard lock(mutex_);
  return progress_text(progress_, subject_, peak_, columns);
}

}  // namespace lathe::cli
