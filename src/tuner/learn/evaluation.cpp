#include "tuner/learn/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_set>

#include "base/rng.h"

namespace lathe::learn {
namespace {

using Shapes = std::vector<std::string>;

class Evaluation {
 public:
  Evaluation(const History& history, const ModelMaker& make, const EvaluationOptions& options)
      : history_(history), make_(make), options_(options), rows_of_(history.groups.size()) {
    for (const Conditions& group : history.groups) {
      shapes_.push_back(shape_of(group.workload));
      relatives_.emplace_back();
      for (const Relation relation : options.unrelated)
        relatives_.back().push_back(relatives_of(shapes_.back(), relation));
    }
    for (int i = 0; i < history.rows.count(); ++i) rows_of_[history.rows.workload[i]].push_back(i);
  }

  Result<std::vector<Judged>> run() {
    if (options_.in_turn) {
      Shapes each = shapes_;
      std::ranges::sort(each);
      each.erase(std::unique(each.begin(), each.end()), each.end());
      for (const std::string& shape : each) LATHE_TRY_STATUS(judge({shape}));
    } else {
      LATHE_TRY_STATUS(judge(options_.held_out));
    }
    if (judged_.empty())
      return fail(ErrorKind::kNotFound,
                  "there is nothing to judge by: no workload has two records whose times are more "
                  "than {:.0f} % apart beside those that are trained on",
                  100 * kJudgedApart);
    return std::move(judged_);
  }

 private:
  Status judge(const Shapes& held_out) {
    std::shared_ptr<const model::CostModel> global = options_.global;
    std::vector<int> others;
    if (!held_out.empty() && global == nullptr) {
      const std::vector<bool> teaches = teachers(held_out);
      for (int i = 0; i < history_.rows.count(); ++i)
        if (teaches[static_cast<std::size_t>(history_.rows.workload[i])]) others.push_back(i);
      std::shared_ptr<model::CostModel> trained =
          options_.make_global ? options_.make_global() : make_(nullptr);
      if (others.empty())
        return fail(ErrorKind::kNotFound,
                    "there are no records of other{} workloads to learn from; run lathe tune on "
                    "more of them",
                    options_.unrelated.empty() ? "" : ", unrelated");
      LATHE_TRY_STATUS(trained->train(model::select(history_.rows, others)));
      global = std::move(trained);
    }
    for (std::size_t g = 0; g < rows_of_.size(); ++g)
      if (held_out.empty() || std::ranges::count(held_out, shapes_[g]) > 0)
        LATHE_TRY_STATUS(judge_group(static_cast<int>(g), global, others.size()));
    return {};
  }

  // Whether each group is neither held out nor related to one that is.
  std::vector<bool> teachers(const Shapes& held_out) const {
    const auto is_held_out = [&](const std::string& shape) {
      return std::ranges::find(held_out, shape) != held_out.end();
    };
    std::vector<bool> out;
    for (std::size_t g = 0; g < shapes_.size(); ++g) {
      bool teaches = !is_held_out(shapes_[g]);
      for (std::size_t other = 0; other < shapes_.size() && teaches; ++other)
        if (is_held_out(shapes_[other]))
          for (std::size_t r = 0; r < relatives_[g].size(); ++r)
            teaches = teaches && relatives_[g][r] != relatives_[other][r];
      out.push_back(teaches);
    }
    return out;
  }

  Status judge_group(int group, const std::shared_ptr<const model::CostModel>& global,
                     std::size_t global_rows) {
    std::vector<int> rows = rows_of_[group];
    Rng rng(options_.seed);
    shuffle(rows, rng);
    const std::size_t local =
        std::min(static_cast<std::size_t>(std::max(options_.train_rows, 0)), rows.size() * 3 / 4);
    const auto model = make_(global);
    if (local > 0)
      LATHE_TRY_STATUS(model->train(model::select(history_.rows, std::span(rows).first(local))));
    if (!model->trained()) return {};  // of a single record
    const model::Rows fresh = model::select(history_.rows, unseen(rows, local));
    std::vector<float> scores(fresh.seconds.size());
    LATHE_TRY_STATUS(model->predict(fresh.features, fresh.width, scores));
    const model::Quality quality =
        model::evaluate(scores, fresh.seconds, fresh.workload, kJudgedApart);
    if (quality.workloads > 0)
      judged_.push_back({history_.groups[group], static_cast<int>(local), fresh.count(),
                         static_cast<std::int64_t>(global_rows), quality});
    return {};
  }

  // Rows after the first `local` whose program is not among those. A program that was measured
  // twice must not both teach and be judged.
  std::vector<int> unseen(std::span<const int> rows, std::size_t local) const {
    std::unordered_set<std::uint64_t> known;
    for (const int row : rows.first(local))
      known.insert(history_.programs[static_cast<std::size_t>(row)]);
    std::vector<int> out;
    for (const int row : rows.subspan(local))
      if (!known.contains(history_.programs[static_cast<std::size_t>(row)])) out.push_back(row);
    return out;
  }

  const History& history_;
  const ModelMaker& make_;
  const EvaluationOptions& options_;
  Shapes shapes_;                          // of the groups
  std::vector<Shapes> relatives_;          // of each group, for each way not to be related
  std::vector<std::vector<int>> rows_of_;  // of each group
  std::vector<Judged> judged_;
};

}  // namespace

Result<std::vector<Judged>> evaluate(const History& history, const ModelMaker& make,
                                     const EvaluationOptions& options) {
  return Evaluation(history, make, options).run();
}

model::Quality mean_of(const std::vector<Judged>& judged) {
  model::Quality mean;
  mean.workloads = static_cast<int>(judged.size());
  for (double model::Quality::* member :
       {&model::Quality::pairwise_accuracy, &model::Quality::fast_pairwise_accuracy,
        &model::Quality::spearman, &model::Quality::top_1_peak, &model::Quality::top_4_peak,
        &model::Quality::top_16_peak, &model::Quality::top_8_recall, &model::Quality::rmse}) {
    double sum = 0;
    int count = 0;
    for (const Judged& j : judged)
      if (!std::isnan(j.quality.*member)) {
        sum += j.quality.*member;
        ++count;
      }
    mean.*member = count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
  }
  return mean;
}

}  // namespace lathe::learn
