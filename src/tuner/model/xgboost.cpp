// Gradient-boosted trees (paper, section 3.1) behind the interface of cost models.
#include <cmath>
#include <mutex>
#include <shared_mutex>

#include "tuner/model/booster.h"
#include "tuner/model/container.h"
#include "tuner/model/cycle_scores.h"
#include "tuner/model/model.h"
#include "tuner/model/objective.h"
#include "tuner/model/rows.h"
#include "tuner/model/summed.h"

namespace lathe::model {
namespace {

constexpr std::string_view kind_name(const XgboostOptions& options) {
  const bool rank = options.objective == Objective::kRank;
  if (options.block_row.block > 0) return rank ? "xgb-rank-blocks" : "xgb-reg-blocks";
  if (options.over_cycles) return "xgb-rank-cycles";
  return rank ? "xgb-rank" : "xgb-reg";
}

BoosterOptions booster_options(const XgboostOptions& options) {
  return {.rounds = options.rounds,
          .max_depth = options.max_depth,
          .max_bin = options.max_bin,
          .learning_rate = options.learning_rate,
          .threads = options.threads,
          .seed = options.seed};
}

class Xgboost final : public CostModel {
 public:
  explicit Xgboost(const XgboostOptions& options)
      : options_(options), over_others_(options.global != nullptr) {
    if (options_.over_cycles && !over_others_) options_.global = cycle_scores();
  }

  Status train(const Rows& rows) override {
    LATHE_TRY_STATUS(check(options_));
    LATHE_TRY_STATUS(check(rows));
    Forest forest = LATHE_TRY(train_forest(rows, options_));
    const std::unique_lock lock(mutex_);
    forest_ = std::move(forest);
    return {};
  }

  bool trained() const override {
    const std::shared_lock lock(mutex_);
    return forest_.trees() > 0 || options_.global;
  }

  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    const std::shared_lock lock(mutex_);
    if (forest_.trees() == 0 && options_.global)
      return options_.global->predict(features, width, scores);
    LATHE_TRY_STATUS(check_prediction(forest_.trees() > 0,
                                      expected_width(forest_, options_.block_row, width),
                                      features.size(), width, scores.size()));
    predict_programs(forest_, options_.block_row, features, width, scores);
    return add_global_scores(options_.global.get(), features, width, scores);
  }

  Result<std::string> save() const override {
    const std::shared_lock lock(mutex_);
    LATHE_TRY_STATUS(
        check_saving(forest_.trees() > 0, over_others_ ? options_.global.get() : nullptr));
    std::string payload;
    forest_.append_to(payload);
    return pack(kind_name(options_), payload);
  }

  Status load(const std::string& bytes) override {
    const std::string payload = LATHE_TRY(unpack(bytes, kind_name(options_)));
    std::string_view rest = payload;
    Forest forest = LATHE_TRY(Forest::read_from(rest));
    if (!rest.empty() || forest.trees() == 0)
      return fail(ErrorKind::kDataLoss, "the cost model's trees are damaged: train it again");
    const std::unique_lock lock(mutex_);
    forest_ = std::move(forest);
    return {};
  }

 private:
  XgboostOptions options_;
  bool over_others_;  // it begins from a model that is not a part of it
  mutable std::shared_mutex mutex_;
  Forest forest_;
};

Result<Forest> train_on_blocks(const Rows& rows, const XgboostOptions& options,
                               const GradientSource& of_programs) {
  const BlockRows blocks = block_rows(rows.features, rows.width, options.block_row);
  if (blocks.program.empty())
    return fail(ErrorKind::kInvalidArgument, "the cost model was given no blocks to train on");
  Gradients programs;
  const auto source = [&](std::span<const float> scores, Gradients& out) {
    of_programs(sum_blocks(scores, blocks, rows.seconds.size()), programs);
    share_with_blocks(programs, blocks, out);
  };
  Boosted boosted = LATHE_TRY(boost(blocks.features, static_cast<int>(blocks.program.size()),
                                    options.block_row.whole + options.block_row.block,
                                    booster_options(options), source));
  return std::move(boosted.forest);
}

}  // namespace

Result<Forest> train_forest(const Rows& rows, const XgboostOptions& options) {
  Rng rng(options.seed);
  std::vector<float> base(rows.seconds.size());
  LATHE_TRY_STATUS(add_global_scores(options.global.get(), rows.features, rows.width, base));
  std::vector<float> sums(base.size());
  // Both models make the score; the trees get the gradient that is left.
  const auto with_base = [&](std::span<const float> scores) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = base[i] + scores[i];
    return std::span<const float>(sums);
  };
  GradientSource source;
  if (options.objective == Objective::kRank) {
    auto objective = std::make_shared<RankObjective>(
        rows.seconds, rows.workload, options.pairs_per_row, Resolution(options.noise, rows.spread));
    source = [objective, with_base, &rng](std::span<const float> scores, Gradients& out) {
      objective->gradients(with_base(scores), rng, out);
    };
  } else {
    source = [objective = RegressionObjective(rows.seconds, rows.workload), with_base](
                 std::span<const float> scores, Gradients& out) {
      objective.gradients(with_base(scores), out);
    };
  }
  if (options.block_row.block > 0) return train_on_blocks(rows, options, source);
  Boosted boosted =
      LATHE_TRY(boost(rows.features, rows.count(), rows.width, booster_options(options), source));
  return std::move(boosted.forest);
}

std::unique_ptr<CostModel> make_xgboost(const XgboostOptions& options) {
  return std::make_unique<Xgboost>(options);
}

}  // namespace lathe::model
