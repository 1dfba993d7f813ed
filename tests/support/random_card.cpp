#include "support/random_card.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/rng.h"
#include "compiler/te/parse.h"
#include "support/random_workload.h"

namespace lathe::test {
namespace {

constexpr std::int64_t kMostIterations = 8'000;

class Writer {
 public:
  explicit Writer(Rng& rng) : rng_(rng) {}

  std::string text() {
    switch (rng_.below(5)) {
      case 0:
      case 1: return product();
      case 2: return convolution();
      case 3: return reduction();
      default: return permute();
    }
  }

 private:
  bool coin() { return rng_.below(2) == 0; }
  std::int64_t up_to(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most)));
  }
  // Every second one is a multiple of a vector's elements.
  std::int64_t size(std::int64_t most) {
    constexpr std::int64_t kVector = 4;
    return coin() ? kVector * up_to(std::max<std::int64_t>(1, most / kVector)) : up_to(most);
  }

  std::string product() {
    const std::int64_t i = size(33), j = size(33), b = coin() ? 1 : up_to(3);
    const std::int64_t k = std::min(size(40), std::max<std::int64_t>(1, kMostIterations / i / j));
    const bool turned_a = coin(), turned_b = coin();
    std::string out =
        fmt::format("A: f32[{},{},{}]; {}B: f32[{},{},{}]; ", b, turned_a ? k : i, turned_a ? i : k,
                    coin() ? "const " : "", b, turned_b ? j : k, turned_b ? k : j);
    out += fmt::format("C[b,i,j] = sum(k) A[b,{}] * B[b,{}]", turned_a ? "k,i" : "i,k",
                       turned_b ? "j,k" : "k,j");
    return out + (coin() ? "; D[b,i,j] = max(C[b,i,j], 0)" : "");
  }

  std::string convolution() {
    const std::int64_t r = up_to(3), s = up_to(3), stride = up_to(2), n = up_to(2);
    const std::int64_t h = 3 + up_to(6), w = 3 + up_to(9), c = size(8), o = size(16);
    const std::int64_t pad = coin() ? 0 : std::min(r, s) / 2;
    const std::int64_t y = (h + 2 * pad - r) / stride + 1, x = (w + 2 * pad - s) / stride + 1;
    const auto row = [&](const char* pixel, const char* tap) {
      return fmt::format("{}*{}+{}-{}", stride, pixel, tap, pad);
    };
    return fmt::format(
        "X: f32[{},{},{},{}]; const W: f32[{},{},{},{}]; Y[n:{},o:{},y:{},x:{}] = "
        "sum(c,r,s) X[n,c,{},{} else 0] * W[o,c,r,s]",
        n, c, h, w, o, c, r, s, n, o, y, x, row("y", "r"), row("x", "s"));
  }

  std::string reduction() {
    const std::int64_t a = size(9), b = size(60), c = size(12);
    const char* op = coin() ? "sum" : "max";
    const std::string input = fmt::format("X: f32[{},{},{}]; ", a, b, c);
    switch (rng_.below(4)) {
      case 0: return input + fmt::format("S[a,c] = {}(b) X[a,b,c]", op);
      case 1: return input + fmt::format("S[a,b] = {}(c) X[a,b,c]; Y[a,b] = S[a,b] * 2", op);
      case 2: return input + fmt::format("S[b] = {}(a,c) X[a,b,c]", op);
      default:
        return input +
               "E[a,b,c] = exp(X[a,b,c] - (max(k) X[a,b,k]));"
               " Y[a,b,c] = E[a,b,c] / (sum(k) E[a,b,k])";
    }
  }

  std::string permute() {
    std::vector<std::string> names = {"a", "b", "c", "d"};
    names.resize(static_cast<std::size_t>(1 + up_to(3)));
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < names.size(); ++i) sizes.push_back(size(names.size() > 2 ? 9 : 40));
    const std::string read = fmt::format("{}", fmt::join(names, ","));
    for (std::size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[rng_.below(i)]);
    return fmt::format("X: f32[{}]; Y[{}] = X[{}]{}", fmt::join(sizes, ","), fmt::join(names, ","),
                       read, coin() ? " + 1" : "");
  }

  Rng& rng_;
};

}  // namespace

Target card_of_architecture(int architecture) {
  CudaTarget card{.name = "sm_" + std::to_string(architecture)};
  card.architecture = architecture;
  card.multiprocessors = 108;
  card.registers = 64 << 10;
  card.shared_bytes = 164 << 10;
  card.threads = 2048, card.blocks = 32;
  card.block_bytes = 163 << 10;
  card.block_threads = 1024;
  card.thread_registers = 255;
  card.memory_bytes = std::int64_t{40} << 30;
  return Target{card};
}

RandomCard random_card(std::uint64_t seed) {
  constexpr int kArchitectures[] = {75, 80, 90};
  constexpr std::uint64_t kWideOf = 4;
  Rng rng(seed);
  RandomCard out{.target = card_of_architecture(kArchitectures[seed % std::size(kArchitectures)]),
                 .wide = seed % kWideOf == 0};
  if (seed % 2 == 0) {
    out.workload = random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000});
    return out;
  }
  const std::string text = Writer(rng).text();
  auto parsed = te::parse_workload(text);
  LATHE_CHECK(parsed.has_value(), "{}: {}", text, parsed.error().text());
  out.workload = std::move(*parsed);
  return out;
}

}  // namespace lathe::test
