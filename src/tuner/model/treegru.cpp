// TreeGRU (paper, sections 3.1 and 4) behind the interface of cost models.
#include <mutex>
#include <shared_mutex>

#include "tuner/feature/tree.h"
#include "tuner/model/container.h"
#include "tuner/model/model.h"
#include "tuner/model/rows.h"
#include "tuner/model/tree_training.h"
#include "tuner/treegru/network.h"

namespace lathe::model {
namespace {

std::string kind_name(const TreeGruOptions& options) {
  return fmt::format("treegru{}-{}",
                     options.shape.variant == treegru::Variant::kVanilla ? "-vanilla" : "",
                     options.objective == Objective::kRank ? "rank" : "reg");
}

Status check(const TreeGruOptions& options) {
  const auto bad = [](std::string_view name, auto value, std::string_view wanted) {
    return fail(ErrorKind::kInvalidArgument, "cost model option {} is {}, it must be {}", name,
                value, wanted);
  };
  LATHE_TRY_STATUS(treegru::check(options.shape));
  if (options.batch < 2) return bad("batch", options.batch, "2 or more");
  if (options.passes < 1) return bad("passes", options.passes, "1 or more");
  if (options.steps < 1) return bad("steps", options.steps, "1 or more");
  if (!(options.learning_rate > 0)) return bad("learning_rate", options.learning_rate, "above 0");
  if (options.update_steps < 1) return bad("update_steps", options.update_steps, "1 or more");
  if (!(options.update_rate > 0)) return bad("update_rate", options.update_rate, "above 0");
  if (!(options.held_out >= 0 && options.held_out <= 0.5))
    return bad("held_out", options.held_out, "from 0 to 0.5");
  if (options.patience < 1) return bad("patience", options.patience, "1 or more");
  if (options.threads < 1) return bad("threads", options.threads, "1 or more");
  if (options.pairs_per_row < 2) return bad("pairs_per_row", options.pairs_per_row, "2 or more");
  if (!(options.noise >= 0)) return bad("noise", options.noise, "0 or more");
  return {};
}

Status check_width(int width) {
  if (width == feature::tree_width()) return {};
  return fail(ErrorKind::kInvalidArgument,
              "TreeGRU learns from rows of tree features, which are {} wide, not {}",
              feature::tree_width(), width);
}

class TreeGru final : public CostModel {
 public:
  explicit TreeGru(const TreeGruOptions& options) : options_(options) {}

  Status train(const Rows& rows) override { return learn(rows, nullptr); }
  Status update(const Rows& rows) override {
    const auto network = this->network();
    if (network == nullptr) return learn(rows, nullptr);
    const LearntTree before{network->weights(), held_out_};
    return learn(rows, &before);
  }

  bool trained() const override { return network() != nullptr || options_.global; }

  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    const auto network = this->network();
    if (network == nullptr && options_.global)
      return options_.global->predict(features, width, scores);
    LATHE_TRY_STATUS(check_prediction(network != nullptr, feature::tree_width(), features.size(),
                                      width, scores.size()));
    network->score(features, scores);
    return add_global_scores(options_.global.get(), features, width, scores);
  }

  Result<std::string> save() const override {
    const auto network = this->network();
    LATHE_TRY_STATUS(check_saving(network != nullptr, options_.global.get()));
    std::string payload;
    treegru::append_to(payload, network->weights());
    return pack(kind_name(options_), payload);
  }

  Status load(const std::string& bytes) override {
    treegru::Weights weights =
        LATHE_TRY(treegru::read_weights(LATHE_TRY(unpack(bytes, kind_name(options_)))));
    if (weights.shape.variant != options_.shape.variant)
      return fail(ErrorKind::kDataLoss, "the cost model's weights are damaged: train it again");
    held_out_ = false;  // nobody knows which rows were held out
    set(std::move(weights));
    return {};
  }

 private:
  Status learn(const Rows& rows, const LearntTree* before) {
    LATHE_TRY_STATUS(check(options_));
    LATHE_TRY_STATUS(check(rows));
    LATHE_TRY_STATUS(check_width(rows.width));
    LearntTree learnt = LATHE_TRY(train_tree(rows, options_, before));
    held_out_ = learnt.held_out;
    set(std::move(learnt.weights));
    return {};
  }
  std::shared_ptr<const treegru::Network> network() const {
    const std::shared_lock lock(mutex_);
    return network_;
  }
  void set(treegru::Weights weights) {
    auto network = std::make_shared<const treegru::Network>(std::move(weights));
    const std::unique_lock lock(mutex_);
    network_ = std::move(network);
  }

  TreeGruOptions options_;
  bool held_out_ = false;  // in the last training
  mutable std::shared_mutex mutex_;
  std::shared_ptr<const treegru::Network> network_;
};

}  // namespace

std::unique_ptr<CostModel> make_treegru(const TreeGruOptions& options) {
  return std::make_unique<TreeGru>(options);
}

}  // namespace lathe::model
