#include "research/experiment/arms.h"

#include "base/known_names.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/ranges.h>

namespace lathe::experiment {
namespace {

constexpr int kVersion = 2, kTreeGruVersion = 3;

using Change = std::function<void(tune::Options&)>;

Arm arm(
    const std::string& name, const Change& change = [](tune::Options&) {}, int measurements = 1) {
  Arm arm{name, {}, measurements};
  arm.options.race.seconds = 0;
  arm.options.search.default_first = false;  // every search begins blind
  arm.options.run.jobs = 1;                  // several runs go on at a time instead
  change(arm.options);
  return arm;
}

Change search(const std::string& name) {
  return [name](tune::Options& options) {
    options.search.name = name;
    options.model.name = "none";
  };
}
Change model(const std::string& name,
             const std::string& acquisition = tune::ModelOptions{}.acquisition) {
  return [=](tune::Options& options) {
    options.model.name = name;
    options.model.acquisition = acquisition;
  };
}
Change features(const std::string& name) {
  return [name](tune::Options& options) { options.model.features = name; };
}
Change lambda(double value) {
  return [value](tune::Options& options) { options.search.exploration.lambda = value; };
}

Arm transferring(const std::string& name, const Change& change = [](tune::Options&) {}) {
  Arm made = arm(name, change);
  made.transfers = true;
  return made;
}

constexpr std::string_view kAsInThePaper = "-paper";

Arm as_in_the_paper(Arm arm) {
  arm.name += kAsInThePaper;
  arm.options.model.prior = false;
  arm.options.search.first_batch = arm.options.search.batch;
  arm.options.search.exploration.elite = 0;
  arm.options.model.global_trials = std::numeric_limits<double>::infinity();
  return arm;
}

}  // namespace

int version_of(const Arm& arm) {
  return tune::learns_from_trees(arm.options) ? kTreeGruVersion : kVersion;
}

std::vector<Arm> known_arms() {
  return {arm("xgb-rank"),
          arm("xgb-reg", model("xgb-reg")),
          arm("xgb-ensemble-mean", model("xgb-ensemble", "mean")),
          arm("xgb-ensemble-ei", model("xgb-ensemble", "ei")),
          arm("xgb-ensemble-ucb", model("xgb-ensemble", "ucb")),
          arm("treegru-rank", model("treegru-rank")),
          arm("treegru-reg", model("treegru-reg")),
          arm("treegru-vanilla-rank", model("treegru-vanilla-rank")),
          arm("random", search("random")),
          arm("random-x2", search("random"), 2),
          arm("genetic", search("genetic")),
          arm("genetic-x2", search("genetic"), 2),
          arm("xgb-rank-lambda1", lambda(1)),
          arm("xgb-rank-lambda4", lambda(4)),
          arm("xgb-rank-relation", features("relation")),
          arm("xgb-rank-configuration", features("configuration")),
          arm("xgb-rank-no-prior", [](tune::Options& options) { options.model.prior = false; }),
          arm("xgb-rank-no-elite",
              [](tune::Options& options) { options.search.exploration.elite = 0; }),
          as_in_the_paper(arm("xgb-rank")),
          arm("analytic", model("analytic")),
          transferring("xgb-rank-transfer"),
          transferring("xgb-rank-relation-transfer", features("relation")),
          transferring("xgb-reg-transfer", model("xgb-reg")),
          transferring("treegru-rank-transfer", model("treegru-rank"))};
}

Result<Arm> arm_named(const std::string& name) {
  const auto known = known_arms();
  if (const auto found = std::ranges::find(known, name, &Arm::name); found != known.end())
    return *found;
  if (name.ends_with(kAsInThePaper)) {
    const auto found =
        std::ranges::find(known, name.substr(0, name.size() - kAsInThePaper.size()), &Arm::name);
    if (found != known.end()) return as_in_the_paper(*found);
  }
  std::vector<std::string> all;
  for (const Arm& arm : known) all.push_back(arm.name);
  return fail(ErrorKind::kInvalidArgument, "unknown arm \"{}\"; known are {}, and each as NAME{}{}",
              name, fmt::join(all, ", "), kAsInThePaper, did_you_mean(all, name));
}

Result<std::vector<Arm>> arms_named(const std::vector<std::string>& names) {
  std::vector<Arm> out;
  for (const std::string& name : names) out.push_back(LATHE_TRY(arm_named(name)));
  return out;
}

}  // namespace lathe::experiment
