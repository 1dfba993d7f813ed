#include "cli/live_line.h"

#include <chrono>

#include <sys/ioctl.h>
#include <unistd.h>

namespace lathe::cli {
namespace {

// One column less than there are: a character in the last column makes some terminals begin a new
// line.
std::size_t columns_of(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
}

}  // namespace

std::string cut(const std::string& text, std::size_t columns) {
  std::size_t used = 0, at = 0;
  for (; at < text.size(); ++at) {
    const bool continues = (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    if (!continues && used++ == columns) break;
  }
  return text.substr(0, at);
}

LiveLine::LiveLine(std::FILE* out, Text text)
    : out_(out),
      text_(std::move(text)),
      terminal_(isatty(fileno(out)) != 0),
      thread_([this] { loop(); }) {}

void LiveLine::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
  // The cursor may stand behind what the terminal echoed.
  if (terminal_) std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
}

void LiveLine::above(const std::string& line) {
  const std::lock_guard lock(printing_);
  std::fputs(((terminal_ ? "\r\x1b[K" : "") + line + "\n").c_str(), out_);
  std::fflush(out_);
}

void LiveLine::loop() {
  const auto period = std::chrono::milliseconds(terminal_ ? 120 : 1800);
  std::unique_lock lock(mutex_);
  // The first line comes soon, to show that something has started.
  wake_.wait_for(lock, std::chrono::milliseconds(terminal_ ? 50 : 1000), [this] { return done_; });
  while (!done_) {
    lock.unlock();
    show();
    lock.lock();
    wake_.wait_for(lock, period, [this] { return done_; });
  }
}

// The cursor waits at the beginning of the line, so that the next line covers what a terminal
// echoes (^C). Errors of printing are ignored: the work goes on without its line.
void LiveLine::show() {
  const std::size_t columns = terminal_ ? columns_of(out_) : std::string::npos;
  const std::string text = cut(text_(columns), columns);
  const std::lock_guard lock(printing_);
  std::fputs(terminal_ ? ("\r" + text + "\x1b[K\r").c_str() : (text + "\n").c_str(), out_);
  std::fflush(out_);
}

}  // namespace lathe::cli
