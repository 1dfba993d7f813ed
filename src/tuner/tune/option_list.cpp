#include "tuner/tune/option_list.h"

#include <type_traits>

#include "lathe/lathe.h"
#include "tuner/tune/tune.h"

namespace lathe::tune {
namespace {

template <auto... kPath>
using At = std::remove_reference_t<decltype((std::declval<Options&>().*....*kPath))>;

// The member that a path of members leads to.
template <auto... kPath>
constexpr Member<At<kPath...>> at(At<kPath...> TuneOptions::* outside = nullptr) {
  return {[](Options& options) -> At<kPath...>& { return (options.*....*kPath); }, outside};
}
template <auto kMember>
constexpr auto run(auto outside) {
  return at<&Options::run, kMember>(outside);
}
template <auto kMember>
constexpr auto learning(auto... outside) {
  return at<&Options::model, kMember>(outside...);
}
template <auto kMember>
constexpr auto searching(auto... outside) {
  return at<&Options::search, kMember>(outside...);
}
template <auto kMember>
constexpr auto exploring(auto... outside) {
  return at<&Options::search, &SearchOptions::exploration, kMember>(outside...);
}

Values whole(double least, double most) { return {.least = least, .most = most, .form = "N"}; }
Values number(double least, double most) { return {.least = least, .most = most}; }
Values text(std::vector<std::string> known) { return {.known = std::move(known)}; }

constexpr double kMany = 1'000'000;

using enum Heading;
using enum Identity;
using R = RunOptions;
using S = SearchOptions;
using M = ModelOptions;
using E = search::Options;
using Out = TuneOptions;

std::vector<Option> usual_options() {
  return {
      {"--trials", "trials", run<&R::trials>(&Out::trials), kSame, kNone,
       "trials of the run in all; the same command goes on; 0: what the models choose, unmeasured",
       whole(0, 10'000'000)},
      {"--time", "seconds", run<&R::seconds>(&Out::seconds), kSame, kNone,
       "time this command may take", Values{.form = "SECONDS"}},
      {"--jobs", "jobs", run<&R::jobs>(&Out::jobs), kSame, kNone, "processes that may work at once",
       whole(1, 1024)},
      {"--seed", "seed", run<&R::seed>(&Out::seed), kColumn, kNone,
       "seed of all random numbers; another seed makes another run"},
      {"--search", "search", searching<&S::name>(&Out::search), kColumn, kNone,
       "how candidates are chosen", text(known_searchers())},
      {"--model", "model", learning<&M::name>(&Out::model), kColumn, kNone,
       "what learns from the trials", text(known_models())},
      {"--features", "features", learning<&M::features>(&Out::features), kValue, kNone,
       "what the model sees of a program; treegru models see its tree of loops",
       text(known_features())},
      {"--acquisition", "acquisition", learning<&M::acquisition>(&Out::acquisition), kValue, kNone,
       "how xgb-ensemble uses its uncertainty: mean ignores it, ei takes the expected improvement, "
       "ucb the upper confidence bound",
       text(known_acquisitions())},
      {"--fresh", "fresh", run<&R::fresh>(&Out::fresh), kSame, kNone,
       "learn nothing from other runs' records"},
      {"--no-transfer", "transfer", learning<&M::transfer>(&Out::transfer), kSame, kBegin,
       "learn nothing from other workloads"},
      {"", "prior", learning<&M::prior>(&Out::prior), kNamed},
      {"", "default_first", searching<&S::default_first>(), kNamed},
      {"", "first_batch", searching<&S::first_batch>(), kNamed},
      {"", "patience", exploring<&E::patience>(), kNamed},
  };
}

// Algorithm 1 and equation 3 of the paper.
std::vector<Option> exploration_options() {
  return {
      {"--batch-size", "batch", searching<&S::batch>(&Out::batch), kNamed, kExploration,
       "candidates measured between updates of the model", whole(1, kMany)},
      {"--chains", "chains", exploring<&E::chains>(&Out::chains), kNamed, kExploration,
       "Markov chains of the annealing", whole(1, kMany)},
      {"--steps", "steps", exploring<&E::steps>(&Out::steps), kNamed, kExploration,
       "steps of a chain between two batches, at most", whole(1, kMany)},
      {"--epsilon", "epsilon", exploring<&E::epsilon>(&Out::epsilon), kNamed, kExploration,
       "share of a batch that is chosen at random", number(0, 1)},
      {"--lambda", "lambda", exploring<&E::lambda>(&Out::lambda), kNamed, kExploration,
       "candidates from which a batch is chosen, in multiples of its size", number(1, 1000)},
      {"--alpha", "alpha", exploring<&E::alpha>(&Out::alpha), kNamed, kExploration,
       "weight of diversity when a batch is chosen, in units of the scores' standard deviation",
       number(0, 1000)},
      {"--temperature", "temperature", exploring<&E::temperature>(&Out::temperature), kNamed,
       kExploration,
       "temperature at which annealing starts, in units of the scores' standard deviation",
       number(0, 1000)},
      {"--global-trials", "global_trials", learning<&M::global_trials>(&Out::global_trials), kNamed,
       kExploration,
       "how many trials a global model counts for; its weight falls as trials come in (1e9: it "
       "never falls, as in the paper)",
       number(0.001, 1e9)},
      {"--elite", "elite", exploring<&E::elite>(&Out::elite), kNamed, kExploration,
       "share of the chains that restart from the best measured; the paper's is 0", number(0, 1)},
      {"--thrift", "thrift", searching<&S::thrift>(&Out::thrift), kNamed, kExploration,
       "how much better a candidate must score if its trial takes twice the usual time, in units "
       "of the scores' standard deviation (0: as in the paper)",
       number(0, 1000)},
  };
}

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}

}  // namespace

std::vector<Option> option_list() {
  auto all = usual_options();
  for (Option& option : exploration_options()) all.push_back(std::move(option));
  return all;
}

void take(const TuneOptions& from, Options& options) {
  for (const Option& option : option_list())
    std::visit(
        [&](const auto& member) {
          if (member.outside != nullptr) member.inside(options) = from.*member.outside;
        },
        option.member);
}

Json to_json(const Options& options) {
  Options copy = options;
  Json json = Json::object();
  for (const Option& option : option_list())
    std::visit([&](const auto& member) { json[option.name] = member.inside(copy); }, option.member);
  return json;
}

std::string identity_of(const Options& options) {
  Options own = options, usual;
  std::string identity = options.model.name;
  for (const Option& option : option_list())
    std::visit(
        [&](const auto& member) {
          const auto& value = member.inside(own);
          if (value == member.inside(usual)) return;
          if (option.identity == kValue) identity += "/" + text_of(value);
          if (option.identity == kNamed) identity += fmt::format("/{}={}", option.name, value);
        },
        option.member);
  return identity;
}

}  // namespace lathe::tune
