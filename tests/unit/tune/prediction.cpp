// What is chosen without measuring.
#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

TEST_F(TuneTest, PredictsTheDefaultWhereNothingScores) {
  EXPECT_EQ(*predict(subject_, options_), subject_.default_config());
  search::Oracle oracle;
  subject_.prior_ = &oracle;
  options_.model.name = "none";
  EXPECT_EQ(*predict(subject_, options_), subject_.default_config());
}

TEST_F(TuneTest, PredictsWhatTheModelScoresBest) {
  static search::Oracle oracle;
  subject_.prior_ = &oracle;
  Rng rng(3);
  double best_by_chance = search::structured_seconds(subject_.default_config());
  for (int i = 0; i < 100; ++i)
    best_by_chance =
        std::min(best_by_chance, search::structured_seconds(subject_.domain().random(rng)));
  const auto config = predict(subject_, options_);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_LT(search::structured_seconds(*config), best_by_chance);
  EXPECT_EQ(*predict(subject_, options_), *config) << "not the same for the same seed";
}

TEST_F(TuneTest, PredictsByWhatFeaturesTellOfCycles) {
  subject_.cycles_ = [](const Config& config) { return 1e9 * search::structured_seconds(config); };
  const auto config = predict(subject_, options_);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_LT(search::structured_seconds(*config),
            search::structured_seconds(subject_.default_config()));
}

TEST_F(TuneTest, PredictsTheDefaultWhereTheModelFindsNothingBetter) {
  class Conservative final : public search::Scorer {
   public:
    explicit Conservative(Config best) : best_(std::move(best)) {}
    bool ready() const override { return true; }
    void score(std::span<const Config> configs, std::span<double> scores) override {
      for (std::size_t i = 0; i < configs.size(); ++i) scores[i] = configs[i] == best_ ? 1 : 0;
    }

   private:
    Config best_;
  } conservative(subject_.default_config());
  subject_.prior_ = &conservative;
  EXPECT_EQ(*predict(subject_, options_), subject_.default_config());
}

TEST_F(TuneTest, PredictionRefusesUnknownNames) {
  options_.search.name = "magic";
  EXPECT_EQ(predict(subject_, options_).error().kind, ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace lathe::tune
