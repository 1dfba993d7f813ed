#include "cli/progress_line.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lathe::cli {
namespace {

std::size_t columns_of(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 119U;
}

// A reason in a few whole words: the line has little room.
std::string in_short(const std::string& reason) {
  constexpr std::size_t kRoom = 40;
  if (reason.size() <= kRoom) return reason;
  const std::string most = cut(reason, kRoom - 3);
  const auto space = reason.compare(most.size(), 1, " ") == 0 ? most.size() : most.rfind(' ');
  return most.substr(0, space) + "...";
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 3.6e6) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string cut(const std::string& text, std::size_t columns) {
  std::size_t used = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    if (!continues && used++ == columns) break;
  }
  return text.substr(0, at);
}

std::string progress_text(const tune::Progress& p, double flops, double peak) {
  std::string text = fmt::format("{}/{} trials", p.trials, p.wanted);
  if (p.failed > 0) text += fmt::format(", {} failed ({})", p.failed, in_short(p.main_failure));
  if (p.best_seconds > 0) {
    text += fmt::format(" | best {:.1f} GFLOP/s", flops / p.best_seconds / 1e9);
    if (peak > 0) text += fmt::format(", {:.0f} % of peak", 100 * flops / p.best_seconds / peak);
  }
  if (p.trials_per_second > 0) text += fmt::format(" | {:.1f} trials/s", p.trials_per_second);
  if (p.left_seconds > 0) text += fmt::format(" | {} left", duration_text(p.left_seconds));
  return text + " | " + p.phase;
}

ProgressLine::ProgressLine(std::FILE* out, double flops)
    : out_(out), live_(isatty(fileno(out)) != 0), flops_(flops), thread_([this] { loop(); }) {
  progress_.phase = "starting";
}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::update(const tune::Progress& progress, double peak) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
  peak_ = peak;
}

void ProgressLine::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (live_) fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
}

void ProgressLine::loop() {
  const auto period = std::chrono::milliseconds(live_ ? 120 : 1800);
  std::unique_lock lock(mutex_);
  // The first line comes soon: it shows that the run has started.
  wake_.wait_for(lock, std::chrono::milliseconds(live_ ? 50 : 1000), [this] { return done_; });
  while (!done_) {
    print_locked();
    wake_.wait_for(lock, period, [this] { return done_; });
  }
}

void ProgressLine::print_locked() {
  const std::string text = progress_text(progress_, flops_, peak_);
  if (live_) fmt::print(out_, "\r{}\x1b[K", cut(text, columns_of(out_)));
  else fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

}  // namespace lathe::cli
