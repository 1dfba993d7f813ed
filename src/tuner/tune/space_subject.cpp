// A derived space as the subject of a run.
#include "base/hash.h"
#include "compiler/te/workload.h"
#include "tuner/feature/feature.h"
#include "tuner/model/prior.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

class SpaceSubject final : public Subject {
 public:
  SpaceSubject(const space::Space& space, const feature::Features& features,
               std::unique_ptr<search::Scorer> prior)
      : space_(space),
        extractor_(features, space),
        prior_(std::move(prior)),
        tells_cycles_(feature::tells_cycles(features)) {}

  const space::Domain& domain() const override { return space_; }
  std::string workload() const override { return te::workload_key(space_.workload()); }
  double flops() const override { return te::flops(space_.workload()); }
  std::string space_hash() const override { return hex(space_.hash()); }
  std::vector<space::Config> starts() const override { return space_.starts(); }
  schedule::Trace trace(const space::Config& config) const override { return space_.trace(config); }
  Json trace_json(const space::Config& config) const override {
    return schedule::to_json(space_.trace(config));
  }
  Json to_json(const space::Config& config) const override { return space_.to_json(config); }
  Result<space::Config> from_json(const Json& json) const override {
    auto config = LATHE_TRY(space_.from_json(json));
    return space_.valid(config) ? space_.canonical(config) : config;
  }
  int feature_width() const override { return extractor_.width(); }
  void features(std::span<const space::Config> configs, std::span<float> out,
                int jobs) const override {
    extractor_.rows(configs, out, jobs);
  }
  search::Scorer* prior() const override { return prior_.get(); }
  bool tells_cycles() const override { return tells_cycles_; }

 private:
  const space::Space& space_;
  feature::Extractor extractor_;           // keeps what it worked out about each sketch
  std::unique_ptr<search::Scorer> prior_;  // likewise
  bool tells_cycles_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_subject(const space::Space& space, const Options& options,
                                              const Target& target, const Fingerprint& machine) {
  const auto features = LATHE_TRY(feature::features_for(features_of(options), target));
  return std::make_unique<SpaceSubject>(space, features, model::make_prior(space, target, machine));
}

Result<Summary> tune(const space::Space& space, measure::Measurer& measurer, store::Store& store,
                     const Target& target, const Options& options, const Listener& listener,
                     const std::function<bool()>& stop) {
  const auto subject = LATHE_TRY(make_subject(space, options, target, measurer.machine()));
  const auto make_searcher = LATHE_TRY(searcher_of(options));
  const auto model = LATHE_TRY(model_of(options, subject->tells_cycles()));
  return tune(*subject, measurer, store, target, options, make_searcher, model.get(), listener,
              stop);
}

}  // namespace lathe::tune
