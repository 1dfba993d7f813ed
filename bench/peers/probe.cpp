// The memory traffic of a row as a contestant: reads every input once and writes every output once,
// with the widest vectors, and computes nothing. At setup it tries how many streams a buffer is
// walked in, and whether reads and writes take turns, and keeps the fastest.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "peers/serve.h"

namespace lathe::bench {
namespace {

#ifdef __AVX512F__
constexpr std::size_t kLane = 64;
#elif defined(__AVX__)
constexpr std::size_t kLane = 32;
#else
constexpr std::size_t kLane = 16;
#endif
using Vector = float __attribute__((vector_size(kLane)));

struct Buffer {
  std::shared_ptr<float[]> memory;
  std::size_t vectors = 0;
  Vector* data() const { return reinterpret_cast<Vector*>(memory.get()); }
};

struct Range {
  std::size_t begin, end;
};

// Part `index` of `count` of a range.
Range part(Range whole, std::size_t index, std::size_t count) {
  const std::size_t size = whole.end - whole.begin;
  return {whole.begin + size * index / count, whole.begin + size * (index + 1) / count};
}

// The loads stay, for the compiler must believe that their sum is used.
template <int kStreams>
void read(const Vector* data, Range range) {
  std::array<Vector, kStreams> sums{};
  const std::size_t length = (range.end - range.begin) / kStreams;
  const Vector* from = data + range.begin;
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t s = 0; s < kStreams; ++s) sums[s] += from[s * length + i];
  for (std::size_t i = kStreams * length; i < range.end - range.begin; ++i) sums[0] += from[i];
  for (Vector& sum : sums) asm volatile("" : : "m"(sum));
}

template <int kStreams>
void write(Vector* data, Range range) {
  Vector value{};
  asm volatile("" : "+m"(value));  // so that it becomes no call of memset
  const std::size_t length = (range.end - range.begin) / kStreams;
  Vector* to = data + range.begin;
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t s = 0; s < kStreams; ++s) to[s * length + i] = value;
  for (std::size_t i = kStreams * length; i < range.end - range.begin; ++i) to[i] = value;
  asm volatile("" : : "r"(data) : "memory");
}

struct Traffic {
  std::vector<Buffer> reads, writes;
  std::size_t threads = 1;
};

struct Pattern {
  int streams;
  std::size_t turns;  // reads and writes alternate so often
};
constexpr Pattern kPatterns[] = {{1, 1}, {4, 1}, {8, 1}, {1, 64}, {4, 64}, {8, 64}};

template <int kStreams>
void walk(const Traffic& traffic, std::size_t thread, std::size_t turns) {
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const auto mine = [&](const Buffer& buffer) {
      return part(part({0, buffer.vectors}, thread, traffic.threads), turn, turns);
    };
    for (const Buffer& buffer : traffic.reads) read<kStreams>(buffer.data(), mine(buffer));
    for (const Buffer& buffer : traffic.writes) write<kStreams>(buffer.data(), mine(buffer));
  }
}

void walk(const Traffic& traffic, std::size_t thread, const Pattern& pattern) {
  if (pattern.streams == 1) walk<1>(traffic, thread, pattern.turns);
  else if (pattern.streams == 4) walk<4>(traffic, thread, pattern.turns);
  else walk<8>(traffic, thread, pattern.turns);
}

// Waits without sleep; where another thread wants the core, that one goes first.
template <class Condition>
void spin_until(const Condition& holds) {
  for (int spins = 0; !holds(); ++spins)
    if (spins >= 4096) std::this_thread::yield();
}

// Threads that wait for the next call on a core of their own; the whole process is stopped in
// others' turns. Each walks its own part of the buffers, so that it stays in its caches; the caller
// takes parts that nobody has begun when its own is done.
class Crew {
 public:
  explicit Crew(Traffic traffic) : traffic_(std::move(traffic)), parts_(traffic_.threads) {
    for (std::size_t i = 1; i < traffic_.threads; ++i)
      threads_.emplace_back([this, i](const std::stop_token& stop) { work(stop, i); });
  }

  void run(const Pattern& pattern) {
    pattern_ = pattern;
    const std::uint64_t call = call_.load(std::memory_order_relaxed) + 1;
    call_.store(call, std::memory_order_release);
    for (std::size_t i = 0; i < parts_.size(); ++i) walk_if_free(i, call);
    for (const Part& part : parts_)
      spin_until([&] { return part.done.load(std::memory_order_acquire) == call; });
  }

 private:
  struct alignas(64) Part {
    std::atomic<std::uint64_t> begun{0}, done{0};  // the last call
  };

  void walk_if_free(std::size_t index, std::uint64_t call) {
    std::uint64_t before = call - 1;
    if (!parts_[index].begun.compare_exchange_strong(before, call)) return;
    walk(traffic_, index, pattern_);
    parts_[index].done.store(call, std::memory_order_release);
  }

  void work(const std::stop_token& stop, std::size_t index) {
    for (std::uint64_t seen = 0;;) {
      spin_until(
          [&] { return stop.stop_requested() || call_.load(std::memory_order_acquire) != seen; });
      if (stop.stop_requested()) return;
      seen = call_.load(std::memory_order_acquire);
      walk_if_free(index, seen);
    }
  }

  Traffic traffic_;
  Pattern pattern_{};
  std::atomic<std::uint64_t> call_{0};
  std::vector<Part> parts_;
  std::vector<std::jthread> threads_;  // the last member: they end before the others
};

double seconds_of(Crew& crew, const Pattern& pattern) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int call = 0; call < 5 || (sum < 0.02 && call < 1000); ++call) {
    const auto begin = Clock::now();
    crew.run(pattern);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    sum += seconds;
  }
  return best;
}

Pattern fastest(Crew& crew) {
  Pattern best = kPatterns[0];
  double seconds = std::numeric_limits<double>::infinity();
  for (const Pattern& pattern : kPatterns) {
    const double took = seconds_of(crew, pattern);
    if (took >= seconds) continue;
    seconds = took;
    best = pattern;
  }
  return best;
}

Result<std::vector<Buffer>> buffers(const Json& setup, const char* member) {
  std::vector<Buffer> made;
  for (const Json& bytes : LATHE_TRY(json_array(setup, member))) {
    const std::size_t vectors = (bytes.get<std::size_t>() + kLane - 1) / kLane;
    made.push_back({random_buffer(vectors * kLane / sizeof(float), made.size()), vectors});
  }
  return made;
}

Result<Contender> set_up(const Json& setup) {
  Traffic traffic{LATHE_TRY(buffers(setup, "reads")), LATHE_TRY(buffers(setup, "writes")),
                  static_cast<std::size_t>(LATHE_TRY(json_int(setup, "threads")))};
  const auto crew = std::make_shared<Crew>(std::move(traffic));
  const Pattern pattern = fastest(*crew);
  return Contender{
      [=] { crew->run(pattern); },
      fmt::format("vectors of {} bytes, {} streams, reads and writes {}", kLane, pattern.streams,
                  pattern.turns > 1 ? "in turns" : "one after the other")};
}

}  // namespace
}  // namespace lathe::bench

int main() { return lathe::bench::serve(lathe::bench::set_up); }
