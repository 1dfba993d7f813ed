// How fast configurations are proposed: to a valid configuration, to features, to scores, and what
// training costs. Prints one JSON object. Rates are of the whole process on `jobs` threads, the
// median of several rounds.
//   bench_search [--configs N] [--jobs N] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "compiler/te/parse.h"
#include "tuner/feature/feature.h"
#include "tuner/model/model.h"
#include "tuner/space/space.h"

namespace {

using namespace lathe;

struct Settings {
  int configs = 20'000, jobs = 2, rounds = 7;
};

struct Workload {
  const char* name;
  const char* text;
};
// The figures are about a convolution; a matmul beside it.
constexpr Workload kWorkloads[] = {
    {"C6",
     "X: f32[1,128,28,28]; const W: f32[128,128,3,3];"
     "Y[n,o,y:28,x:28] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]"},
    {"Matmul-1024", "A: f32[1024,1024]; B: f32[1024,1024]; C[i,j] = sum(k) A[k,i] * B[k,j]"},
};

// The vectors and registers of AVX-512; the space is the same on every machine.
Target bench_target() {
  Target target;
  target.mcpu = "x86-64-v4";
  target.vector_bits = 512;
  target.vector_registers = 32;
  target.has_fma = true;
  return target;
}

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "bench_search: %s\n", result.error().text().c_str());
  std::exit(1);
}
void check_or_exit(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "bench_search: %s\n", status.error().text().c_str());
  std::exit(1);
}

template <class Work>
double median_seconds(int rounds, const Work& work) {
  std::vector<double> seconds;
  for (int r = 0; r < rounds; ++r) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
  return seconds[static_cast<std::size_t>(rounds / 2)];
}

// Calls work(begin, count) for a share of `total` on each of `jobs` threads.
template <class Work>
void on_threads(int jobs, std::size_t total, const Work& work) {
  const std::size_t share =
      (total + static_cast<std::size_t>(jobs) - 1) / static_cast<std::size_t>(jobs);
  std::vector<std::jthread> threads;
  for (std::size_t begin = 0; begin < total; begin += share)
    threads.emplace_back(work, begin, std::min(share, total - begin));
}

// Made-up times that follow from the features, so that trees get their usual depth.
model::Rows training_rows(std::span<const float> features, int width, int count) {
  model::Rows rows;
  rows.width = width;
  rows.features.assign(features.begin(),
                       features.begin() + static_cast<std::ptrdiff_t>(count) * width);
  Rng rng(1);
  for (int i = 0; i < count; ++i) {
    double time = 20;
    for (int f = 0; f < width; f += 7)
      time += 0.1 * rows.features[static_cast<std::size_t>(i * width + f)];
    rows.seconds.push_back(std::max(1.0, time) * (1 + 0.05 * rng.uniform()));
    rows.workload.push_back(0);
  }
  return rows;
}

Json bench(const Workload& workload, const Settings& s) {
  const te::Program program = value_or_exit(te::parse_program(workload.text));
  const auto space =
      value_or_exit(space::derive_space(program, bench_target(), space::Flavour::kDefault));
  const auto total = static_cast<std::size_t>(s.configs);
  std::vector<search::Config> configs(total);
  Json out = {{"workload", workload.name}, {"configs", s.configs}, {"jobs", s.jobs}};
  const auto rate = [&](const char* name, double seconds) {
    out[name] = std::round(s.configs / seconds);
  };

  const auto fill_random = [&](std::size_t begin, std::size_t count) {
    Rng rng(begin + 1);
    for (std::size_t i = begin; i < begin + count; ++i) configs[i] = space->random(rng);
  };
  on_threads(s.jobs, total, fill_random);  // sketches are derived once: not part of the rate
  rate("random_per_s", median_seconds(s.rounds, [&] { on_threads(s.jobs, total, fill_random); }));
  rate("neighbours_per_s", median_seconds(s.rounds, [&] {
         on_threads(s.jobs, total, [&](std::size_t begin, std::size_t count) {
           Rng rng(begin + 1);
           for (std::size_t i = begin; i < begin + count; ++i)
             (void)space->neighbour(configs[i], rng);
         });
       }));

  std::vector<float> rows;
  for (const auto& [name, kind] : {std::pair{"configuration", feature::Kind::kConfiguration},
                                   {"relation", feature::Kind::kRelation},
                                   {"context", feature::Kind::kContext}}) {
    const feature::Extractor extractor(kind, *space);
    rows.resize(total * static_cast<std::size_t>(extractor.width()));
    out[std::string(name) + "_width"] = extractor.width();
    rate((std::string(name) + "_features_per_s").c_str(),
         median_seconds(s.rounds, [&] { extractor.rows(configs, rows, s.jobs); }));
  }

  // Scores of context features, as a search asks for them: features and prediction, block by block.
  const feature::Extractor extractor(feature::Kind::kContext, *space);
  const auto width = static_cast<std::size_t>(extractor.width());
  const auto model = model::make_xgboost({});
  const int train = std::min(s.configs, 4096);
  const model::Rows training = training_rows(rows, extractor.width(), train);
  out["train_rows"] = train;
  out["train_s"] = median_seconds(3, [&] { check_or_exit(model->train(training)); });
  std::vector<float> scores(total);
  rate("predictions_per_s", median_seconds(s.rounds, [&] {
         on_threads(s.jobs, total, [&](std::size_t begin, std::size_t count) {
           check_or_exit(model->predict({rows.data() + begin * width, count * width},
                                        extractor.width(), {scores.data() + begin, count}));
         });
       }));
  rate("scores_per_s", median_seconds(s.rounds, [&] {
         on_threads(s.jobs, total, [&](std::size_t begin, std::size_t count) {
           constexpr std::size_t kBlock = 64;
           std::vector<float> block(kBlock * width);
           for (std::size_t at = begin; at < begin + count; at += kBlock) {
             const std::size_t n = std::min(kBlock, begin + count - at);
             extractor.rows({configs.data() + at, n}, {block.data(), n * width}, 1);
             check_or_exit(model->predict({block.data(), n * width}, extractor.width(),
                                          {scores.data() + at, n}));
           }
         });
       }));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (flag == "--configs")
      s.configs = value;
    else if (flag == "--jobs")
      s.jobs = value;
    else if (flag == "--rounds")
      s.rounds = value;
  }
  if (argc % 2 == 0 || s.configs < 1 || s.jobs < 1 || s.rounds < 1) {
    std::fprintf(stderr, "usage: bench_search [--configs N] [--jobs N] [--rounds N]\n");
    return 2;
  }
  Json out = {{"rows", Json::array()}};
  for (const Workload& workload : kWorkloads) out["rows"].push_back(bench(workload, s));
  std::printf("%s\n", out.dump(2).c_str());
}
