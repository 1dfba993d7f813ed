#include "peers/serve.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>

#include "base/rng.h"

namespace lathe::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Pushes everything else out of the caches. It is larger than any share of a last-level cache on
// these machines.
class Flusher {
 public:
  void flush() {
    if (memory_.empty()) memory_.resize(96U << 20, 1);
    for (std::size_t i = 0; i < memory_.size(); i += 64)
      memory_[i] = static_cast<char>(memory_[i] + 1);
  }

 private:
  std::vector<char> memory_;
};

double warm_seconds_per_call(const Contender& contender, double min_seconds) {
  contender.run();  // brings it back into the caches after the others' turns
  const auto begin = Clock::now();
  long calls = 0;
  double elapsed = 0;
  do {
    contender.run();
    ++calls;
    elapsed = seconds_since(begin);
  } while (elapsed < min_seconds);
  return elapsed / static_cast<double>(calls);
}

double cold_seconds_per_call(const Contender& contender, double min_seconds, Flusher& flusher) {
  std::vector<double> times;
  double sum = 0;
  do {
    flusher.flush();
    const auto begin = Clock::now();
    contender.run();
    times.push_back(seconds_since(begin));
    sum += times.back();
  } while (sum < min_seconds);
  std::ranges::nth_element(times, times.begin() + static_cast<long>(times.size() / 2));
  return times[times.size() / 2];
}

Result<Contender> set_up(const Setup& setup, const std::string& text, bool& cold) {
  const Json workload = LATHE_TRY(parse_json(text));
  cold = json_string(workload, "cache").value_or("warm") == "cold";
  return setup(workload);
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

std::shared_ptr<float[]> random_buffer(std::size_t count, std::uint64_t seed) {
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<float*>(::operator new(count * sizeof(float), kAlignment));
  std::shared_ptr<float[]> buffer(memory, [](float* p) { ::operator delete(p, kAlignment); });
  std::ranges::copy(random_floats(count, seed), memory);
  return buffer;
}

int serve(const Setup& setup) {
  Contender contender;
  Flusher flusher;
  bool cold = false;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = word.size() < line.size() ? line.substr(word.size() + 1) : "";
    if (word == "quit") return 0;
    if (word == "setup") {
      const auto made = set_up(setup, rest, cold);
      if (made) contender = *made;
      std::cout << (made ? "ready " + contender.detail : "error " + one_line(made.error().text()));
    } else if (word == "run" && contender.run) {
      const double seconds = std::atof(rest.c_str());
      std::cout << (cold ? cold_seconds_per_call(contender, seconds, flusher)
                         : warm_seconds_per_call(contender, seconds));
    } else {
      std::cout << "error expected setup JSON, then run SECONDS, or quit; got \"" << line << '"';
    }
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace lathe::bench
