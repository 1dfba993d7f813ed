// How fast the thread pool is: bench_pool [threads]. A region's work is multiply-adds in registers,
// 64 iterations a phase, so that nothing but the pool makes a difference. Each line is a median of
// turns, in which what is compared alternates.
#include "runtime/pool/pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

using lathe::pool::Pool;

constexpr std::int64_t kIterations = 64;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Work {
  std::int64_t steps;  // of an iteration
};

void work(void* context, std::int64_t begin, std::int64_t end, std::int64_t) {
  const std::int64_t steps = static_cast<Work*>(context)->steps * (end - begin);
  double a = 1, b = 2, c = 3, d = 4;
  for (std::int64_t i = 0; i < steps; ++i) {
    a = a * 0.5 + 1;
    b = b * 0.5 + 1;
    c = c * 0.5 + 1;
    d = d * 0.5 + 1;
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
  }
}

void nothing(void*, std::int64_t, std::int64_t, std::int64_t) {}

double steps_a_second() {
  Work one{1'000'000};
  double fastest = 1;
  for (int i = 0; i < 10; ++i) {
    const double start = now();
    work(&one, 0, 1, 0);
    fastest = std::min(fastest, now() - start);
  }
  return 1e6 / fastest;
}

// A region of so many phases that takes one thread so many seconds.
struct Region {
  std::vector<lathe_phase> phases;
  Work context;
  Region(std::size_t count, double seconds, double speed)
      : phases(count, {work, kIterations}),
        context{
            static_cast<std::int64_t>(seconds * speed / static_cast<double>(kIterations * count))} {
  }
  void run(Pool& pool) {
    pool.run_region(phases.data(), static_cast<std::int64_t>(phases.size()), &context);
  }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double mean(std::vector<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Seconds of a call of each, by turns; `pause` seconds of sleep before each call.
std::vector<double> in_turns(const std::vector<std::function<void()>>& calls, double pause,
                             double seconds, double (*of_all)(std::vector<double>) = median) {
  std::vector<std::vector<double>> times(calls.size());
  const double end = now() + seconds;
  do {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const int repeats = pause > 0 ? 1 : 20;
      if (pause > 0) usleep(static_cast<useconds_t>(1e6 * pause));
      else calls[i]();
      const double start = now();
      for (int k = 0; k < repeats; ++k) calls[i]();
      times[i].push_back((now() - start) / repeats);
    }
  } while (now() < end);
  std::vector<double> results;
  for (auto& each : times) results.push_back(of_all(each));
  return results;
}

void empty_regions(int threads) {
  Pool pool({.threads = threads});
  for (const std::size_t count : {1, 2, 4}) {
    const std::vector<lathe_phase> phases(count, {nothing, kIterations});
    const auto times = in_turns(
        {[&] { pool.run_region(phases.data(), static_cast<std::int64_t>(count), nullptr); }}, 0, 1);
    std::printf("empty, %zu phases: %.2f us\n", count, 1e6 * times[0]);
  }
}

void against_one(int threads, double speed) {
  Pool one({.threads = 1}), many({.threads = threads});
  for (const double pause : {0.0, 0.001, 0.02})
    for (const double seconds : {5e-6, 20e-6, 100e-6, 1000e-6})
      for (const std::size_t phases : {1, 4}) {
        Region region(phases, seconds, speed);
        const auto times =
            in_turns({[&] { region.run(one); }, [&] { region.run(many); }}, pause, 1.5);
        std::printf(
            "%4.0f us of work, %zu phases, pauses of %2.0f ms: 1 thread %.2f us, "
            "%d threads over 1: %.3f\n",
            1e6 * seconds, phases, 1e3 * pause, 1e6 * times[0], threads, times[1] / times[0]);
      }
}

void crowded(int threads, double speed) {
  Pool fitting({.threads = threads}), crowd({.threads = 8 * threads});
  for (const double seconds : {20e-6, 100e-6, 1000e-6}) {
    Region region(3, seconds, speed);
    const auto times = in_turns({[&] { region.run(fitting); }, [&] { region.run(crowd); }}, 0, 3);
    std::printf("%4.0f us of work: %d threads over %d: %.3f\n", 1e6 * seconds, 8 * threads, threads,
                times[1] / times[0]);
  }
}

void many_pools(int threads, double speed) {
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 20; ++i)
    pools.push_back(std::make_unique<Pool>(lathe::pool::Options{.threads = threads}));
  Region region(2, 200e-6, speed);
  const auto times = in_turns({[&] { region.run(*pools[0]); },
                               [&] {
                                 for (auto& pool : pools) region.run(*pool);
                               }},
                              0, 3);
  std::size_t tasks = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(task);
    ++tasks;
  }
  std::printf("20 pools of %d threads in turn over one alone: %.3f; threads of the process: %zu\n",
              threads, times[1] / 20 / times[0], tasks);
}

// Runs `work` in so many processes at once; their medians.
void two_processes(int threads, double speed) {
  Region region(3, 300e-6, speed);
  Pool one({.threads = 1});
  const double alone = in_turns({[&] { region.run(one); }}, 0, 2)[0];
  for (int i = 0; i < 2; ++i)
    if (fork() == 0) {
      Pool pool({.threads = threads});
      const double time = in_turns({[&] { region.run(pool); }}, 0, 4)[0];
      std::printf("one of two processes with %d threads over half of the machine: %.3f\n", threads,
                  time * threads / 2 / alone);
      std::fflush(stdout);
      _exit(0);
    }
  while (wait(nullptr) > 0) {
  }
}

// Beside so many processes that never rest.
void beside_others(int threads, double speed, int others) {
  std::vector<pid_t> busy;
  for (int i = 0; i < others; ++i) {
    busy.push_back(fork());
    if (busy.back() == 0) {
      alarm(60);
      for (Work endless{1'000'000};;) work(&endless, 0, 1, 0);
    }
  }
  Pool one({.threads = 1}), many({.threads = threads});
  for (const double seconds : {100e-6, 1000e-6}) {
    Region region(3, seconds, speed);
    const auto times = in_turns({[&] { region.run(one); }, [&] { region.run(many); }}, 0, 8, mean);
    std::printf("%4.0f us of work beside %d busy processes: %d threads over 1, means: %.3f\n",
                1e6 * seconds, others, threads, times[1] / times[0]);
  }
  for (const pid_t process : busy) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

void taken_away(int threads, double speed) {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  Pool alone({.threads = 1}), many({.threads = threads});
  Region region(3, 300e-6, speed);
  in_turns({[&] { region.run(many); }}, 0, 0.2);
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    sched_setaffinity(std::stoi(task.path().filename()), sizeof one, &one);
  const auto times = in_turns({[&] { region.run(alone); }, [&] { region.run(many); }}, 0, 3);
  std::printf("on one processor since the start: %d threads over 1: %.3f\n", threads,
              times[1] / times[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  if (threads < 2) {
    std::fprintf(stderr, "give 2 threads or more\n");
    return 2;
  }
  const double speed = steps_a_second();
  two_processes(threads, speed);
  empty_regions(threads);
  against_one(threads, speed);
  crowded(threads, speed);
  many_pools(threads, speed);
  beside_others(threads, speed, 1);
  beside_others(threads, speed, threads);
  taken_away(threads, speed);
}
