// The tuner, a batch at a time: several take turns.
#include <algorithm>

#include "tuner/tune/tuner.h"
#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

// A workload with everything that its tuner needs.
struct Turn {
  Turn(std::string workload, double scale) {
    subject.workload_ = std::move(workload);
    measurer.seconds = [scale](const Config& config) {
      return scale * search::structured_seconds(config) * (1 + 0.01 * config[0]);
    };
  }
  std::unique_ptr<Tuner> tuner(store::Store& store, const Options& options,
                               const std::function<bool()>& stop = {}) {
    auto made = Tuner::make(subject, measurer, store, *parse_target("cpu:x86-64"), options,
                            *searcher_named(options.search.name, options.search.exploration),
                            &model, {}, stop);
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }

  FakeSubject subject{std::vector<int>(6, 12), 50};
  FakeMeasurer measurer;
  NearestModel model;
};

class Steps : public TuneTest {
 protected:
  // What tells of a run, trial by trial.
  Json story_of(store::Store& store, const std::string& workload) {
    Json story = Json::array();
    EXPECT_TRUE(store.each({.workload = workload}, [&](const store::Record& r) {
      story.push_back(
          {r.batch, r.index, r.config, r.seconds, r.predicted_score, r.raced, r.race_seconds});
      return true;
    }));
    return story;
  }
  static Summary finish(Tuner& tuner) {
    while (tuner.more()) EXPECT_TRUE(tuner.step());
    EXPECT_TRUE(tuner.race());
    return *tuner.summary();
  }
};

TEST_F(Steps, MeasureNoMoreThanTheyMay) {
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_);
  std::size_t sum = 0;
  for (const int most : {3, 1, 7, 2}) {
    ASSERT_TRUE(tuner->step(most));
    EXPECT_LE(records().size(), sum + static_cast<std::size_t>(most));
    EXPECT_GT(records().size(), sum);
    sum = records().size();
  }
}

TEST_F(Steps, MeasureABatchEach) {
  options_.search.default_first = false;
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_);
  EXPECT_TRUE(turn.measurer.batches.empty());
  ASSERT_TRUE(tuner->more());
  ASSERT_TRUE(tuner->step());
  EXPECT_EQ(turn.measurer.batches, std::vector<std::size_t>{10});
  EXPECT_EQ(records().size(), 10U);
  EXPECT_EQ(turn.model.updates, 0);
  ASSERT_TRUE(tuner->step());
  EXPECT_EQ(turn.measurer.batches.size(), 2U);
  EXPECT_EQ(turn.model.updates, 1) << "trained before the second is proposed";
  EXPECT_EQ(turn.model.rows_.count(), 10);
  const auto between = tuner->summary();
  ASSERT_TRUE(between);
  EXPECT_EQ(between->trials, static_cast<int>(records().size()));
  EXPECT_FALSE(between->race);
  EXPECT_EQ(turn.measurer.races, 0);
  EXPECT_EQ(finish(*tuner).trials, 100);
  EXPECT_EQ(turn.measurer.races, 1);
  expect_complete(100);
}

// Its time is over before it begins: the first batch goes on until one ran, others are not begun.
TEST_F(Steps, EndWithTheirTime) {
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_);
  ASSERT_TRUE(tuner->step(10, -1));
  EXPECT_EQ(records().size(), 1U);
  ASSERT_TRUE(tuner->step(10, -1));
  EXPECT_EQ(records().size(), 1U);
  EXPECT_TRUE(tuner->more());
  ASSERT_TRUE(tuner->step());
  EXPECT_GT(records().size(), 1U);
  EXPECT_EQ(finish(*tuner).trials, 100);
  expect_complete(100);
}

TEST_F(Steps, RaceNoLongerThanTheyMay) {
  options_.race.seconds = 30;
  options_.race.share = 1e6;  // of what the run took, which is not nothing
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_);
  ASSERT_TRUE(tuner->step());
  ASSERT_TRUE(tuner->race(2.5));
  EXPECT_EQ(turn.measurer.races, 1);
  EXPECT_LE(turn.measurer.race_given.limit, 2.5);
  EXPECT_LE(turn.measurer.race_given.seconds, 2.5);
  EXPECT_LE(turn.measurer.race_given.patience, 2.5);
}

TEST_F(Steps, DoNothingAfterTheLast) {
  options_.run.trials = 30;
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_);
  finish(*tuner);
  EXPECT_FALSE(tuner->more());
  EXPECT_TRUE(tuner->step());
  EXPECT_EQ(turn.measurer.measured.size(), 30U);
}

TEST_F(Steps, EndWithTheSpace) {
  options_.race.seconds = 0;
  Turn turn("C[i] = A[i]", 1);
  FakeSubject small({3, 3});
  const auto tuner = Tuner::make(small, turn.measurer, *store_, target_, options_,
                                 *searcher_named("random", {}), nullptr, {}, {});
  ASSERT_TRUE(tuner);
  EXPECT_TRUE(finish(**tuner).exhausted);
  EXPECT_FALSE((*tuner)->more());
  EXPECT_TRUE((*tuner)->step());
  EXPECT_EQ(records().size(), 9U);
}

TEST_F(Steps, OfTwoTunersInTurnsGiveEachWhatItGetsAlone) {
  Options other = options_;
  other.run.trials = 70;
  other.run.seed = 5;
  other.search.name = "genetic";
  const std::string first = "C[i] = A[i]", second = "C[i] = A[i] + B[i]";
  Json alone;
  {
    const auto store = std::move(*store::open_in_memory());
    Turn turn(first, 1);
    finish(*turn.tuner(*store, options_));
    alone.push_back(story_of(*store, first));
  }
  {
    const auto store = std::move(*store::open_in_memory());
    Turn turn(second, 3);
    finish(*turn.tuner(*store, other));
    alone.push_back(story_of(*store, second));
  }
  Turn one(first, 1), two(second, 3);
  const auto a = one.tuner(*store_, options_), b = two.tuner(*store_, other);
  while (a->more() || b->more()) {
    for (Tuner* tuner : {a.get(), b.get()})
      if (tuner->more()) {
        ASSERT_TRUE(tuner->step());
      }
  }
  ASSERT_TRUE(b->race());
  ASSERT_TRUE(a->race());
  EXPECT_EQ(a->summary()->trials, 100);
  EXPECT_EQ(b->summary()->trials, 70);
  EXPECT_EQ(story_of(*store_, first), alone[0]);
  EXPECT_EQ(story_of(*store_, second), alone[1]);
  EXPECT_NE(alone[0][20][2], alone[1][20][2]) << "the two are different runs";
}

TEST_F(Steps, StopTheRaceToo) {
  bool stop = false;
  Turn turn("C[i] = A[i]", 1);
  const auto tuner = turn.tuner(*store_, options_, [&] { return stop; });
  ASSERT_TRUE(tuner->step());
  stop = true;
  EXPECT_FALSE(tuner->more());
  ASSERT_TRUE(tuner->race());
  EXPECT_EQ(turn.measurer.races, 0);
  EXPECT_TRUE(tuner->summary()->interrupted);
}

// A callback that says once that it is enough, at whichever of its questions.
TEST_F(Steps, StopForGoodWhenTheyAreToldOnce) {
  for (int when = 1; when <= 30; ++when) {
    SCOPED_TRACE(when);
    int asked = 0;
    Turn turn(fmt::format("C[i] = {} * A[i]", when), 1);
    const auto tuner = turn.tuner(*store_, options_, [&] { return ++asked == when; });
    while (tuner->more()) ASSERT_TRUE(tuner->step());
    ASSERT_TRUE(tuner->race());
    EXPECT_EQ(turn.measurer.races, asked < when ? 1 : 0);
    EXPECT_EQ(tuner->summary()->interrupted, asked >= when);
  }
}

}  // namespace
}  // namespace lathe::tune
