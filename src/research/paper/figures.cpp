#include "research/paper/figures.h"

#include "base/known_names.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace lathe::paper {
namespace {

const std::vector<std::string> kSources = {"C1", "C2", "C3", "C4", "C5", "C6"};

const Series kGbt = {"xgb-rank-paper", "XGBoost, rank"};
const Series kTree = {"treegru-rank-paper", "TreeGRU, rank"};
const Series kGbtTransfer = {"xgb-rank-transfer-paper", "XGBoost, transfer"};

Figure cost_models() {
  const std::vector<Series> others = {{"genetic-paper", "genetic"},
                                      {"genetic-x2-paper", "genetic, two a trial"},
                                      {"random", "random"},
                                      {"random-x2", "random, two a trial"},
                                      {"xgb-rank", "Lathe's default, begun blind"}};
  const auto beside = [&](std::vector<Series> models) {
    models.insert(models.end(), others.begin(), others.end());
    return models;
  };
  const std::vector<Claim> of_xgboost = {{"xgb-rank-paper", "genetic-paper"},
                                         {"xgb-rank-paper", "genetic-x2-paper"},
                                         {"xgb-rank-paper", "random"},
                                         {"xgb-rank-paper", "random-x2"}};
  std::vector<Claim> of_both = of_xgboost;
  for (const Claim& claim : of_xgboost) of_both.push_back({"treegru-rank-paper", claim.against});
  // On the other target it goes without TreeGRU, whose runs take hours.
  return {"fig4",
          "Figures 4 and 13: cost models against genetic and random search",
          "both models converge faster than the black-box searches, also than those with two "
          "measurements a trial",
          {{.series = beside({kGbt, kTree}), .claims = of_both},
           {.title = "on another target",
            .on_other_target = true,
            .series = beside({kGbt}),
            .claims = of_xgboost}}};
}

Figure objectives() {
  return {"fig5",
          "Figures 5 and 14: rank against regression",
          "the rank objective is better than regression, or as good",
          {{.series = {kGbt,
                       {"xgb-reg-paper", "XGBoost, regression"},
                       kTree,
                       {"treegru-reg-paper", "TreeGRU, regression"}},
            .claims = {{"xgb-rank-paper", "xgb-reg-paper", Expected::kNotMore},
                       {"treegru-rank-paper", "treegru-reg-paper", Expected::kNotMore}}}}};
}

Figure diversity() {
  return {"fig6",
          "Figures 6 and 15: diversity-aware selection",
          "λ makes no difference on most workloads, and does no harm",
          {{.series = {{"xgb-rank-lambda1-paper", "λ = 1"},
                       {"xgb-rank-paper", "λ = 2"},
                       {"xgb-rank-lambda4-paper", "λ = 4"}},
            .claims = {{"xgb-rank-paper", "xgb-rank-lambda1-paper", Expected::kSame},
                       {"xgb-rank-lambda4-paper", "xgb-rank-lambda1-paper", Expected::kSame},
                       {"xgb-rank-paper", "xgb-rank-lambda1-paper", Expected::kNotMore},
                       {"xgb-rank-lambda4-paper", "xgb-rank-lambda1-paper", Expected::kNotMore}}}}};
}

Figure acquisition() {
  return {
      "fig7",
      "Figures 7 and 16: acquisition functions",
      "expected improvement and upper confidence bound are no better than the mean",
      {{.series = {{"xgb-ensemble-mean-paper", "mean"},
                   {"xgb-ensemble-ei-paper", "expected improvement"},
                   {"xgb-ensemble-ucb-paper", "upper confidence bound"}},
        .claims = {{"xgb-ensemble-mean-paper", "xgb-ensemble-ei-paper", Expected::kNotMore},
                   {"xgb-ensemble-mean-paper", "xgb-ensemble-ucb-paper", Expected::kNotMore}}}}};
}

Figure transfer() {
  return {
      "fig8",
      "Figure 8: transfer from C1 to C6",
      "with transfer both models find good programs in fewer trials",
      {{.targets = {"C7", "C8", "C9", "Matmul-1024"},
        .sources = kSources,
        .series = {kGbt, kGbtTransfer, kTree, {"treegru-rank-transfer-paper", "TreeGRU, transfer"}},
        .claims = {{"xgb-rank-transfer-paper", "xgb-rank-paper"},
                   {"treegru-rank-transfer-paper", "treegru-rank-paper"}}}}};
}

// The meaning of knobs differs from space to space, so that features of configurations cannot
// transfer: such a search begins from nothing everywhere.
Figure representations() {
  const Series configuration = {"xgb-rank-configuration-paper", "configuration, no transfer"};
  const Series context = {"xgb-rank-transfer-paper", "flattened loop context"};
  const Series relation = {"xgb-rank-relation-transfer-paper", "context relation"};
  const std::vector<Series> transferring = {
      configuration, context, relation, {"xgb-rank-paper", "no transfer"}};
  const Claim context_helps = {context.arm, "xgb-rank-paper"},
              relation_helps = {relation.arm, "xgb-rank-paper"};
  return {"fig9",
          "Figure 9: representations and the distance between domains",
          "configurations do within a domain; the flattened context transfers between "
          "convolutions; the context relation "
          "transfers between operators and devices too (here: targets)",
          {{.title = "in domain",
            .targets = {"C7"},
            .series = {configuration,
                       {"xgb-rank-paper", context.label},
                       {"xgb-rank-relation-paper", relation.label}},
            .claims = {{configuration.arm, "xgb-rank-paper", Expected::kNotMore},
                       {configuration.arm, "xgb-rank-relation-paper", Expected::kNotMore}}},
           {.title = "across convolutions",
            .targets = {"C7"},
            .sources = kSources,
            .series = transferring,
            .claims = {context_helps, relation_helps}},
           {.title = "across operators",
            .targets = {"Matmul-1024"},
            .sources = kSources,
            .series = transferring,
            .claims = {relation_helps, {relation.arm, context.arm}}},
           {.title = "across targets",
            .targets = {"C7"},
            .sources = kSources,
            .other_target = true,
            .series = transferring,
            .claims = {relation_helps}}}};
}

}  // namespace

std::vector<Figure> known_figures() {
  return {cost_models(), objectives(), diversity(), acquisition(), transfer(), representations()};
}

Result<std::vector<Figure>> figures_named(const std::string& name) {
  auto known = known_figures();
  if (name == "all") return known;
  if (name == kLiveFigure) return std::vector<Figure>{};
  std::vector<std::string> names;
  for (const Figure& figure : known) {
    if (figure.name == name) return std::vector{figure};
    names.push_back(figure.name);
  }
  names.insert(names.end(), {kLiveFigure, "all"});
  return fail(ErrorKind::kInvalidArgument, "unknown figure \"{}\"; known are {}", name,
              known_names(names, name));
}

}  // namespace lathe::paper
