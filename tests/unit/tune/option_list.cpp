// The list of options: what it tells apart, and that include/lathe has all of it.
#include "tuner/tune/option_list.h"

#include <algorithm>
#include <type_traits>

#include "lathe/lathe.h"
#include "unit/tune/fakes.h"

namespace lathe::tune {
namespace {

// Another value than the usual one.
void change(const Option& option, Options& options) {
  std::visit(
      [&](const auto& member) {
        auto& value = member.inside(options);
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) value = !value;
        else if constexpr (std::is_same_v<T, std::string>)
          value = std::string("another of ") + option.name;
        else value = value / 2 + 3;
      },
      option.member);
}

TEST(OptionList, HaveNamesOfTheirOwnAndValuesInJson) {
  std::set<std::string> names, flags;
  const Json json = to_json(Options{});
  for (const Option& option : option_list()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(json.contains(option.name)) << option.name;
    if (*option.flag != '\0') {
      EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
      EXPECT_STRNE(option.help, "");
    }
  }
  EXPECT_EQ(json.size(), names.size());
  EXPECT_EQ(json["epsilon"], 0.05);
  EXPECT_EQ(json["search"], "annealing");
  EXPECT_EQ(json["transfer"], true);
}

TEST(OptionList, AreAllInTheLibrarysHeader) {
  for (const Option& option : option_list())
    if (*option.flag != '\0')
      std::visit([&](const auto& member) { EXPECT_NE(member.outside, nullptr) << option.name; },
                 option.member);
  Options taken;
  take(TuneOptions{}, taken);
  taken.run.jobs = Options{}.run.jobs;  // there 0: one a core
  EXPECT_EQ(to_json(taken), to_json(Options{})) << "the usual values differ";
  TuneOptions other;
  other.epsilon = 0.5;
  other.thrift = 1;
  other.search = "genetic";
  take(other, taken);
  EXPECT_EQ(taken.search.exploration.epsilon, 0.5);
  EXPECT_EQ(taken.search.thrift, 1);
  EXPECT_EQ(taken.search.name, "genetic");
}

// Databases hold runs under these texts.
TEST(OptionList, TellRunsApartAsTheyAlwaysDid) {
  Options options;
  EXPECT_EQ(identity_of(options), "xgb-rank");
  options.model.name = "xgb-ensemble";
  options.model.acquisition = "ei";
  EXPECT_EQ(identity_of(options), "xgb-ensemble/ei");
  options.model.features = "relation";
  EXPECT_EQ(identity_of(options), "xgb-ensemble/relation/ei");
  options.search.exploration.epsilon = 0.1;
  options.search.batch = 8;
  EXPECT_EQ(identity_of(options), "xgb-ensemble/relation/ei/batch=8/epsilon=0.1");
}

TEST_F(TuneTest, EachOptionOfTheListMakesAnotherRunOrSaysThatItDoesNot) {
  options_ = Options{};
  options_.search.name = "random";
  options_.model.name = "none";
  options_.run.trials = 1;
  options_.race.seconds = 0;
  // Names of searches and models are only looked at before.
  const auto run_of = [&](const Options& options) {
    const auto summary = tune(subject_, measurer_, *store_, target_, options,
                              *searcher_named("random", {}), nullptr, {}, {});
    EXPECT_TRUE(summary) << summary.error().text();
    return summary ? summary->run : 0;
  };
  std::set<std::int64_t> runs = {run_of(options_)};
  for (const Option& option : option_list()) {
    SCOPED_TRACE(option.name);
    Options other = options_;
    change(option, other);
    if (std::string_view(option.name) == "elite") other.search.exploration.elite = 1;
    if (std::string_view(option.name) == "epsilon") other.search.exploration.epsilon = 1;
    const std::int64_t run = run_of(other);
    const bool same = option.identity == Identity::kSame;
    EXPECT_EQ(same, run == *runs.begin());
    EXPECT_EQ(same, !runs.insert(run).second) << "it goes on with another's trials";
  }
}

// Stored before epsilon and its like told runs apart.
TEST_F(TuneTest, ARunOfAnOlderLatheGoesOnWhereNothingIsUnusual) {
  const auto old = *store_->open_run({0, subject_.workload(), target_.text(), CacheMode::kWarm,
                                      "default", "00aa", "random", "none", 0});
  Options options;
  options.search.name = "random";
  options.model.name = "none";
  options.run.trials = 40;
  const auto go_on = [&] {
    return *tune(subject_, measurer_, *store_, target_, options, *searcher_named("random", {}),
                 nullptr, {}, {});
  };
  EXPECT_EQ(go_on().run, old.id);
  options.run.trials = 50;
  const Summary longer = go_on();
  EXPECT_EQ(longer.run, old.id);
  EXPECT_EQ(longer.resumed, 40);
  options.search.exploration.epsilon = 0.1;
  const Summary other = go_on();
  EXPECT_NE(other.run, old.id);
  EXPECT_EQ(other.resumed, 0);
  EXPECT_EQ(store_->runs()->size(), 2U);
}

TEST_F(TuneTest, ExplorationOutOfRangeIsRefused) {
  options_.search.exploration.elite = 1.5;
  EXPECT_EQ(run().error().message,
            "the temperature must be at least 0 and elite from 0 to 1, not 1 and 1.5");
}

}  // namespace
}  // namespace lathe::tune
