// A recording that nobody measured: times follow from the knobs, some configurations fail.
#pragma once

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "research/recorded/recording.h"
#include "support/targets.h"
#include "support/temporary_folder.h"
#include "tuner/space/restriction.h"

namespace lathe::recorded {

inline std::shared_ptr<const space::Space> small_space() {
  const auto workload =
      te::parse_workload("A: f32[23,19]; B: f32[23,37]; C[i,j] = sum(k) A[k,i] * B[k,j]");
  const std::shared_ptr<const space::Space> whole =
      std::move(*derive_space(te::canonical(*workload), test::avx512(), space::Flavour::kWide));
  Json kept = Json::object();
  for (const space::Knob& knob : whole->knob_list())
    kept[knob.name] = knob.labels.empty() ? Json(knob.values.front()) : Json(knob.labels.front());
  for (const char* name : {"order", "pack.weights"}) {
    const auto knob = std::ranges::find(whole->knob_list(), name, &space::Knob::name);
    kept[name] = knob->labels;
  }
  kept["tile.p0"] = {1, 2, 3, 5, 7, 11, 13};
  kept["tile.v"] = {1, 2, 3};
  return std::move(*restrict_space(whole, kept));
}

inline double made_up_seconds(const Json& config) {
  const double tile = config["tile.p0"].get<double>() * config["tile.v"].get<double>();
  const double spill = std::max(0.0, tile - 20) * 0.2;
  const std::string order = config["order"].get<std::string>();
  return 1e-5 *
         (1 + std::abs(std::log2(tile / 14)) + spill + 0.1 * static_cast<double>(order[0] % 3) +
          0.05 * (order.back() == 'p')) *
         (config["pack.weights"] == "none" ? 1.4 : 1);
}

inline Recording made_up() {
  Recording recording;
  recording.name = "small";
  recording.space = small_space();
  recording.target = test::avx512();
  recording.machine = Fingerprint{CpuFingerprint{.cpu_name = "Nobody's",
                                                 .family = 6,
                                                 .model = 1,
                                                 .stepping = 2,
                                                 .l1d_bytes = 49152,
                                                 .l2_bytes = 2097152,
                                                 .l3_bytes = 33554432,
                                                 .cores = 4}};
  recording.cache_mode = CacheMode::kWarm;
  recording.flavour = space::Flavour::kWide;
  recording.codegen_version = 7;
  recording.peak_flops = 1.5e11;
  recording.failures = {{"timeout", "took longer than 5 s"}};
  std::vector<Trial> trials;
  for (const auto& config : space::all_configs(*recording.space)) {
    const Json json = recording.space->to_json(config);
    Trial trial;
    trial.seconds = made_up_seconds(json);
    trial.spread = 0.0125;
    trial.dropped_early = trial.seconds > 3e-5;
    if (json["tile.p0"] == 11 && json["tile.v"] == 3) trial = {.failure = 0};
    trials.push_back(trial);
  }
  EXPECT_TRUE(recording.set_trials(std::move(trials)));
  return recording;
}

class RecordedTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.at(name); }

  const test::TemporaryFolder folder_;
};

}  // namespace lathe::recorded
