#include "runtime/runner/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace lathe::runner {
namespace {

typedef float Vector __attribute__((vector_size(16)));  // every target has it
constexpr std::size_t kFloats = 64 * 1024 / 4 * 2;      // 128 KiB: beyond L1, inside L2
constexpr int kPasses = 40;
constexpr std::size_t kChains = 8;
constexpr int kMostInterrupted = 3;  // most runs of the sentinel that are repeated

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double now_seconds() { return seconds_of(CLOCK_MONOTONIC); }

LostTime::LostTime(int threads) : threads_(threads) {
  if (threads < 2) return;
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    Fd file(::open(("/proc/self/task/" + std::string(task->d_name) + "/schedstat").c_str(),
                   O_RDONLY | O_CLOEXEC));
    if (file) files_.push_back(std::move(file));
  }
  ::closedir(tasks);
  waited_.resize(files_.size());
}

// The second of three numbers: nanoseconds spent in a queue of the scheduler.
double LostTime::waited(const Fd& file) const {
  char text[96];
  const ssize_t size = ::pread(file.get(), text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = 0;
  const char* second = std::strchr(text, ' ');
  return second == nullptr ? 0 : 1e-9 * std::strtod(second, nullptr);
}

void LostTime::start() {
  for (std::size_t i = 0; i < files_.size(); ++i) waited_[i] = waited(files_[i]);
  processor_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double LostTime::since(double wall) const {
  const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_;
  if (files_.empty()) return std::max(0.0, wall - processor);
  double most = 0;
  for (std::size_t i = 0; i < files_.size(); ++i)
    most = std::max(most, waited(files_[i]) - waited_[i]);
  return std::clamp(most, 0.0, std::max(0.0, wall - processor / threads_));
}

Sentinel::Sentinel() : data_(kFloats, 0.5F) { run(); }

double Sentinel::run() {
  // Other work has left its own data in the caches.
  pass();
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMostInterrupted; ++i) {
    const double processor = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const double wall = run_once();
    fastest = std::min(fastest, wall);
    if (!LostTime::matters(wall - (seconds_of(CLOCK_THREAD_CPUTIME_ID) - processor), wall)) break;
  }
  return fastest;
}

void Sentinel::pass() {
  Vector sums[kChains] = {};
  const Vector scale = {0.5F, 0.5F, 0.5F, 0.5F};
  for (std::size_t i = 0; i < data_.size(); i += 4 * kChains)
    for (std::size_t c = 0; c < kChains; ++c) {
      Vector x;
      std::memcpy(&x, data_.data() + i + 4 * c, sizeof x);
      sums[c] = sums[c] * scale + x;
    }
  for (const Vector& sum : sums) sink_ += sum[0];
  asm volatile("" : : "m"(sink_));  // so that the compiler keeps the work
}

double Sentinel::run_once() {
  const double start = now_seconds();
  for (int i = 0; i < kPasses; ++i) pass();
  return now_seconds() - start;
}

}  // namespace lathe::runner
