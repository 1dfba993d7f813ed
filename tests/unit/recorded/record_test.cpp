#include "research/recorded/record.h"

#include <cmath>

#include <gtest/gtest.h>

#include "research/recorded/replay.h"
#include "unit/recorded/made_up.h"

namespace lathe::recorded {
namespace {

constexpr double kRaceSeconds = 3e-5;

// A machine whose times are another recording's, and in races the same for everyone.
class Machine final : public measure::Measurer {
 public:
  explicit Machine(const Recording& times) : replay_(make_replay(times)) {}

  Fingerprint machine() const override { return replay_->machine(); }
  Status measure(std::vector<measure::Candidate> batch, double best,
                 const std::function<void(measure::Outcome)>& done,
                 const std::function<bool()>& stop) override {
    return replay_->measure(
        std::move(batch), best,
        [&](measure::Outcome outcome) {
          ++measured;
          done(std::move(outcome));
        },
        stop);
  }
  Result<measure::RaceOutcome> race(const std::vector<measure::Candidate>& candidates,
                                    const measure::RaceOptions&) override {
    ++races;
    const measure::Racer racer{.ran = true, .seconds = kRaceSeconds};
    return measure::RaceOutcome{.racers = std::vector(candidates.size(), racer)};
  }
  Result<double> peak_flops() override { return replay_->peak_flops(); }

  int measured = 0, races = 0;

 private:
  const std::unique_ptr<measure::Measurer> replay_;
};

class RecordTest : public RecordedTest {
 protected:
  // All that a recording has before anything is measured.
  static Recording blank() {
    const Recording known = made_up();
    Recording recording;
    recording.name = known.name;
    recording.space = known.space;
    recording.target = known.target;
    recording.machine = known.machine;
    recording.cache_mode = known.cache_mode;
    recording.flavour = known.flavour;
    recording.codegen_version = known.codegen_version;
    return recording;
  }
  tune::Summary go_on(const std::function<bool()>& stop = [] { return false; }) {
    const RecordingMeans means{.measurer = machine_, .store = *store_};
    const auto summary = record(recording_, means, [](const tune::Progress&) {}, stop);
    EXPECT_TRUE(summary) << summary.error().text();
    return summary.value_or(tune::Summary{});
  }

  const Recording known_ = made_up();
  const std::unique_ptr<store::Store> store_ = std::move(*store::open_in_memory());
  Machine machine_{known_};
  Recording recording_ = blank();
};

TEST_F(RecordTest, MeasuresEverythingAndRacesTheFastest) {
  EXPECT_FALSE(go_on().interrupted);
  ASSERT_EQ(recording_.trials().size(), known_.trials().size());
  int raced = 0, worked = 0;
  for (std::size_t i = 0; i < known_.trials().size(); ++i) {
    const Trial& got = recording_.trials()[i];
    EXPECT_EQ(got.seconds, known_.trials()[i].seconds);
    EXPECT_EQ(got.failure < 0, known_.trials()[i].failure < 0);
    EXPECT_TRUE(got.raced_seconds == 0 || got.raced_seconds == kRaceSeconds);
    worked += std::isfinite(got.seconds);
    raced += got.raced_seconds > 0;
  }
  EXPECT_EQ(raced, std::min(worked, 200));
  EXPECT_GT(raced, 0);
  ASSERT_EQ(recording_.failures.size(), 1U);
  EXPECT_EQ(recording_.failures[0].message, known_.failures[0].message);
}

TEST_F(RecordTest, GoesOnWhereItWasInterrupted) {
  EXPECT_TRUE(go_on([&] { return machine_.measured >= 30; }).interrupted);
  EXPECT_TRUE(recording_.trials().empty());
  // Now all is measured, and the races are what is stopped.
  EXPECT_TRUE(go_on([&] { return machine_.races >= 1; }).interrupted);
  EXPECT_TRUE(recording_.trials().empty());
  EXPECT_EQ(machine_.measured, static_cast<int>(known_.trials().size()));
  EXPECT_FALSE(go_on().interrupted);
  EXPECT_EQ(machine_.measured, static_cast<int>(known_.trials().size()));
  EXPECT_EQ(recording_.trials().size(), known_.trials().size());
  const int races = machine_.races;
  EXPECT_FALSE(go_on().interrupted);
  EXPECT_EQ(machine_.races, races) << "raced again";
}

}  // namespace
}  // namespace lathe::recorded
