// An ensemble trained on resampled rows: its spread is the model's uncertainty (paper, section 3.3,
// figures 7, 16).
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numbers>
#include <numeric>
#include <shared_mutex>

#include "base/rng.h"
#include "tuner/model/container.h"
#include "tuner/model/model.h"
#include "tuner/model/objective.h"
#include "tuner/model/rows.h"
#include "tuner/model/summed.h"

namespace lathe::model {
namespace {

constexpr std::string_view kBootstrapKind = "xgb-bootstrap";
constexpr int kMaxMembers = 64;

// Draws as many rows as there are, with replacement within each workload. The fastest row of each
// workload always stays, so that normalised throughput means the same to every member.
Rows resample(const Rows& rows, Rng& rng) {
  std::vector<int> drawn;
  for (const std::vector<int>& group : group_rows(rows.workload)) {
    int best = group[0];
    for (const int row : group)
      if (rows.seconds[row] < rows.seconds[best]) best = row;
    drawn.push_back(best);
    for (std::size_t i = 1; i < group.size(); ++i) drawn.push_back(group[rng.below(group.size())]);
  }
  return select(rows, drawn);
}

// Expected improvement over the best throughput seen, which normalisation makes 1.
double expected_improvement(double mean, double deviation) {
  if (deviation <= 0) return std::max(mean - 1, 0.0);
  const double z = (mean - 1) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return (mean - 1) * below + deviation * density;
}

class Bootstrap final : public CostModel {
 public:
  explicit Bootstrap(const BootstrapOptions& options) : options_(options) {}

  Status train(const Rows& rows) override {
    if (options_.members < 2 || options_.members > kMaxMembers)
      return fail(ErrorKind::kInvalidArgument, "an ensemble has 2 to {} members, not {}",
                  kMaxMembers, options_.members);
    LATHE_TRY_STATUS(check(options_.member));
    LATHE_TRY_STATUS(check(rows));
    Rng rng(options_.member.seed);
    std::vector<Forest> forests;
    for (int i = 0; i < options_.members; ++i)
      forests.push_back(LATHE_TRY(train_forest(resample(rows, rng), options_.member)));
    const std::unique_lock lock(mutex_);
    forests_ = std::move(forests);
    return {};
  }

  bool trained() const override {
    const std::shared_lock lock(mutex_);
    return !forests_.empty() || options_.member.global;
  }

  Status predict(std::span<const float> features, int width,
                 std::span<float> scores) const override {
    const std::shared_lock lock(mutex_);
    const CostModel* global = options_.member.global.get();
    if (forests_.empty() && global != nullptr) return global->predict(features, width, scores);
    const feature::BlockRow& made_of = options_.member.block_row;
    const int own_width = forests_.empty() ? 0 : expected_width(forests_[0], made_of, width);
    LATHE_TRY_STATUS(
        check_prediction(!forests_.empty(), own_width, features.size(), width, scores.size()));
    std::ranges::fill(scores, 0.0F);
    LATHE_TRY_STATUS(add_global_scores(global, features, width, scores));
    constexpr std::size_t kBlock = 64;
    std::array<std::array<float, kBlock>, kMaxMembers> member;
    for (std::size_t row = 0; row < scores.size(); row += kBlock) {
      const std::size_t count = std::min(kBlock, scores.size() - row);
      for (std::size_t m = 0; m < forests_.size(); ++m)
        predict_programs(forests_[m], made_of, features.subspan(row * width, count * width), width,
                         {member[m].data(), count});
      for (std::size_t r = 0; r < count; ++r) {
        double sum = 0, squares = 0;
        for (std::size_t m = 0; m < forests_.size(); ++m) {
          sum += member[m][r];
          squares += static_cast<double>(member[m][r]) * member[m][r];
        }
        scores[row + r] = acquire(scores[row + r], sum, squares);
      }
    }
    return {};
  }

  Result<std::string> save() const override {
    const std::shared_lock lock(mutex_);
    LATHE_TRY_STATUS(check_saving(!forests_.empty(), options_.member.global.get()));
    std::string payload;
    append_value(payload, static_cast<std::uint32_t>(forests_.size()));
    for (const Forest& forest : forests_) forest.append_to(payload);
    return pack(kBootstrapKind, payload);
  }

  Status load(const std::string& bytes) override {
    const std::string payload = LATHE_TRY(unpack(bytes, kBootstrapKind));
    const auto damaged = [] {
      return fail(ErrorKind::kDataLoss, "the cost model's trees are damaged: train it again");
    };
    std::string_view rest = payload;
    std::uint32_t count = 0;
    if (!take_value(rest, count) || count < 2 || count > kMaxMembers) return damaged();
    std::vector<Forest> forests;
    for (std::uint32_t i = 0; i < count; ++i) forests.push_back(LATHE_TRY(Forest::read_from(rest)));
    for (const Forest& forest : forests)
      if (forest.width() != forests[0].width()) return damaged();
    if (!rest.empty()) return damaged();
    const std::unique_lock lock(mutex_);
    forests_ = std::move(forests);
    return {};
  }

 private:
  // `base` is the global model's score; every member adds to it.
  float acquire(double base, double sum, double squares) const {
    const double n = static_cast<double>(forests_.size());
    const double own = sum / n, mean = base + own;
    const double deviation = std::sqrt(std::max(squares / n - own * own, 0.0) * n / (n - 1));
    switch (options_.acquisition) {
      case Acquisition::kMean: return static_cast<float>(mean);
      case Acquisition::kExpectedImprovement:
        return static_cast<float>(expected_improvement(mean, deviation));
      case Acquisition::kUpperConfidence:
        return static_cast<float>(mean + options_.confidence * deviation);
    }
    return 0;
  }

  BootstrapOptions options_;
  mutable std::shared_mutex mutex_;
  std::vector<Forest> forests_;
};

}  // namespace

std::unique_ptr<CostModel> make_bootstrap(const BootstrapOptions& options) {
  return std::make_unique<Bootstrap>(options);
}

}  // namespace lathe::model
