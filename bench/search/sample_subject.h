// A sample of a space as the subject of a search: its configurations alone are there.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "search/card_samples.h"
#include "tuner/tune/tune.h"

namespace lathe::bench {

class SampleSubject final : public tune::Subject {
 public:
  // `own` is of the sample's space; `blended`: it does not say that features tell cycles, so that
  // the analytic model stands beside what is learned.
  SampleSubject(const Sample& sample, const tune::Subject& own, bool blended);

  const space::Domain& domain() const override { return domain_; }
  std::string workload() const override { return own_.workload(); }
  double flops() const override { return own_.flops(); }
  std::string space_hash() const override { return own_.space_hash(); }
  std::vector<space::Config> starts() const override { return {}; }
  schedule::Trace trace(const space::Config& config) const override { return own_.trace(config); }
  Json trace_json(const space::Config& config) const override { return own_.trace_json(config); }
  Json to_json(const space::Config& config) const override { return own_.to_json(config); }
  Result<space::Config> from_json(const Json& json) const override { return own_.from_json(json); }
  int feature_width() const override { return own_.feature_width(); }
  void features(std::span<const space::Config> configs, std::span<float> out,
                int jobs) const override {
    own_.features(configs, out, jobs);
  }
  search::Scorer* prior() const override { return own_.prior(); }
  bool tells_cycles() const override { return !blended_ && own_.tells_cycles(); }

  double seconds(const space::Config& config) const { return domain_.seconds(config); }

 private:
  class Members final : public space::Domain {
   public:
    explicit Members(const Sample& sample);
    int knobs() const override { return sample_.space->knobs(); }
    int values(int knob) const override { return sample_.space->values(knob); }
    bool valid(const space::Config& config) const override { return places_.contains(config); }
    space::Config random(Rng& rng) const override;
    space::Config neighbour(const space::Config& config, Rng& rng) const override;
    double seconds(const space::Config& config) const;

   private:
    const Sample& sample_;
    std::unordered_map<space::Config, std::size_t, space::ConfigHash> places_;
    std::vector<std::vector<std::size_t>> nearest_;  // those that differ in the fewest knobs
  };

  const tune::Subject& own_;
  const bool blended_;
  Members domain_;
};

}  // namespace lathe::bench
