#include "tuner/model/tree_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "tuner/model/objective.h"
#include "tuner/model/rows.h"
#include "tuner/treegru/network.h"
#include "tuner/treegru/trainer.h"

namespace lathe::model {
namespace {

// Rows of one workload that a step sees together; pairs are formed among them.
constexpr int kPiece = 16;
constexpr int kParts = 4;         // of a step's rows, which threads share
constexpr int kLooks = 32;        // at the held-out rows, in all steps
constexpr int kLeastHeldOut = 8;  // fewer rows do not tell when to stop
constexpr double kHashes = 0x1p64;

// The rows that are trained on, and those held out to tell when to stop. Its features decide where
// a row belongs, so it stays there when more rows come.
struct Split {
  std::vector<int> taught, held_out;

  Split(const Rows& rows, double share, std::uint64_t seed) {
    const std::size_t bytes = static_cast<std::size_t>(rows.width) * sizeof(float);
    const char* row = reinterpret_cast<const char*>(rows.features.data());
    for (int i = 0; i < rows.count(); ++i, row += bytes) {
      const std::uint64_t drawn = Hasher().add(seed).add(std::string_view(row, bytes)).value();
      (static_cast<double>(drawn) < share * kHashes ? held_out : taught).push_back(i);
    }
    if (held_out.size() >= kLeastHeldOut && !taught.empty()) return;
    taught.resize(rows.seconds.size());
    std::iota(taught.begin(), taught.end(), 0);
    held_out.clear();
  }
};

// Deals out rows for the steps: all in random order, then all in another; those of a workload in
// pieces.
class Deck {
 public:
  Deck(const Rows& rows, std::span<const int> numbers) {
    std::vector<int> workloads;
    for (const int row : numbers) workloads.push_back(rows.workload[row]);
    groups_ = group_rows(workloads);
    for (std::vector<int>& group : groups_)
      for (int& i : group) i = numbers[static_cast<std::size_t>(i)];
  }

  // Draws about `count` rows; fewer where a pass ends.
  std::vector<int> draw(int count, Rng& rng) {
    if (pieces_.empty()) deal(rng);
    std::vector<int> drawn;
    while (!pieces_.empty() &&
           static_cast<int>(drawn.size() + pieces_.back().size()) <= std::max(count, kPiece)) {
      drawn.insert(drawn.end(), pieces_.back().begin(), pieces_.back().end());
      pieces_.pop_back();
    }
    return drawn;
  }

 private:
  void deal(Rng& rng) {
    for (std::vector<int>& group : groups_) {
      shuffle(group, rng);
      for (std::size_t begin = 0; begin < group.size(); begin += kPiece) {
        const auto end = std::min(begin + kPiece, group.size());
        pieces_.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(begin),
                             group.begin() + static_cast<std::ptrdiff_t>(end));
      }
    }
    shuffle(pieces_, rng);
  }

  std::vector<std::vector<int>> groups_, pieces_;
};

// The objective of some of the rows at a time. Scores are the sum of both models'.
class PartialObjective {
 public:
  PartialObjective(const Rows& rows, const TreeGruOptions& options)
      : rows_(rows), options_(options), targets_(throughput_targets(rows.seconds, rows.workload)) {}

  // Slopes of the mean loss.
  std::vector<float> slopes(std::span<const int> numbers, std::span<const float> scores,
                            Rng& rng) const {
    std::vector<float> out;
    if (options_.objective == Objective::kRank) {
      Gradients gradients;
      ranking(numbers).gradients(scores, rng, gradients);
      out = std::move(gradients.first);
    } else {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        out.push_back(static_cast<float>(2 * error(numbers[i], scores[i])));
    }
    for (float& slope : out) slope /= static_cast<float>(numbers.size());
    return out;
  }

  double loss(std::span<const int> numbers, std::span<const float> scores, Rng rng) const {
    if (options_.objective == Objective::kRank) return ranking(numbers).loss(scores, rng);
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      sum += error(numbers[i], scores[i]) * error(numbers[i], scores[i]);
    return sum / static_cast<double>(numbers.size());
  }

 private:
  double error(int row, float score) const {
    return score - targets_[static_cast<std::size_t>(row)];
  }
  RankObjective ranking(std::span<const int> numbers) const {
    std::vector<double> seconds, spread;
    std::vector<int> workload;
    for (const int row : numbers) {
      seconds.push_back(rows_.seconds[row]);
      workload.push_back(rows_.workload[row]);
      if (!rows_.spread.empty()) spread.push_back(rows_.spread[row]);
    }
    return RankObjective(seconds, workload, options_.pairs_per_row,
                         Resolution(options_.noise, spread));
  }

  const Rows& rows_;
  const TreeGruOptions& options_;
  std::vector<double> targets_;
};

class Course {
 public:
  Course(const Rows& rows, const TreeGruOptions& options, const LearntTree* before)
      : rows_(rows),
        options_(options),
        split_(rows, options.held_out, options.seed),
        continued_(before != nullptr && before->held_out == !split_.held_out.empty()),
        rng_(continued_
                 ? Hasher().add(options.seed).add(static_cast<std::uint64_t>(rows.count())).value()
                 : options.seed),
        deck_(rows, split_.taught),
        objective_(rows, options),
        base_(rows.seconds.size()),
        weights_(continued_ ? treegru::adapted(before->weights, rows.features, rng_)
                            : treegru::random_weights(options.shape, rows.features, rng_)) {}

  Result<LearntTree> run() {
    LATHE_TRY_STATUS(add_global_scores(options_.global.get(), rows_.features, rows_.width, base_));
    trainer_ = LATHE_TRY(treegru::make_trainer(weights_, options_.threads));
    const std::int64_t a_pass =
        (static_cast<std::int64_t>(split_.taught.size()) + options_.batch - 1) / options_.batch;
    const int most = continued_ ? options_.update_steps : options_.steps;
    const double rate = continued_ ? options_.update_rate : options_.learning_rate;
    const int steps = static_cast<int>(std::min<std::int64_t>(most, options_.passes * a_pass));
    const int between = std::max(1, steps / kLooks);
    if (continued_) LATHE_TRY_STATUS(look());
    for (int step = 0; step < steps && since_best_ < options_.patience; ++step) {
      LATHE_TRY_STATUS(take_step(rate * (1 - static_cast<double>(step) / steps)));
      if ((step + 1) % between == 0) LATHE_TRY_STATUS(look());
    }
    const bool judged = std::isfinite(best_loss_);  // else nothing told when to stop
    if (!judged) LATHE_TRY_STATUS(trainer_->read(weights_));
    return LearntTree{std::move(weights_), !split_.held_out.empty()};
  }

 private:
  std::vector<float> features_of(std::span<const int> numbers) const {
    std::vector<float> out;
    for (const int row : numbers) {
      const auto begin = rows_.features.begin() + static_cast<std::ptrdiff_t>(row) * rows_.width;
      out.insert(out.end(), begin, begin + rows_.width);
    }
    return out;
  }
  void add_base(std::span<const int> numbers, std::span<float> scores) const {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      scores[i] += base_[static_cast<std::size_t>(numbers[i])];
  }

  Status take_step(double learning_rate) {
    const std::vector<int> drawn = deck_.draw(options_.batch, rng_);
    std::vector<treegru::PackedTrees> parts;
    const std::size_t size = (drawn.size() + kParts - 1) / kParts;
    for (std::size_t begin = 0; begin < drawn.size(); begin += size)
      parts.push_back(treegru::pack_trees(
          weights_,
          features_of(std::span(drawn).subspan(begin, std::min(size, drawn.size() - begin)))));
    std::vector<float> scores(drawn.size());
    LATHE_TRY_STATUS(trainer_->forward(parts, scores));
    add_base(drawn, scores);
    return trainer_->step(objective_.slopes(drawn, scores, rng_), learning_rate);
  }

  // Keeps the weights that do best on the held-out rows.
  Status look() {
    if (split_.held_out.empty()) return {};
    treegru::Weights now = weights_;
    LATHE_TRY_STATUS(trainer_->read(now));
    const treegru::Network network(now);
    std::vector<float> scores(split_.held_out.size());
    network.score(features_of(split_.held_out), scores);
    add_base(split_.held_out, scores);
    const double loss = objective_.loss(split_.held_out, scores, Rng(options_.seed));
    if (std::isnan(loss)) return {};  // no two of them are apart
    ++since_best_;
    if (!(loss < best_loss_)) return {};
    best_loss_ = loss;
    since_best_ = 0;
    weights_ = std::move(now);
    return {};
  }

  const Rows& rows_;
  const TreeGruOptions& options_;
  const Split split_;
  const bool continued_;  // begins from what was learnt before
  Rng rng_;
  Deck deck_;
  const PartialObjective objective_;
  std::vector<float> base_;   // the global model's scores
  treegru::Weights weights_;  // the best so far
  std::unique_ptr<treegru::Trainer> trainer_;
  double best_loss_ = std::numeric_limits<double>::infinity();
  int since_best_ = 0;
};

}  // namespace

Result<LearntTree> train_tree(const Rows& rows, const TreeGruOptions& options,
                              const LearntTree* before) {
  return Course(rows, options, before).run();
}

}  // namespace lathe::model
