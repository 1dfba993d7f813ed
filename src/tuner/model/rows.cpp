#include "tuner/model/rows.h"

#include <algorithm>
#include <cmath>

namespace lathe::model {

Status check(const XgboostOptions& options) {
  const auto bad = [](std::string_view name, auto value, std::string_view wanted) {
    return fail(ErrorKind::kInvalidArgument, "cost model option {} is {}, it must be {}", name,
                value, wanted);
  };
  if (options.rounds < 1) return bad("rounds", options.rounds, "1 or more");
  if (options.max_depth < 1 || options.max_depth > Forest::kMaxDepth)
    return bad("max_depth", options.max_depth, fmt::format("from 1 to {}", Forest::kMaxDepth));
  if (options.max_bin < 2) return bad("max_bin", options.max_bin, "2 or more");
  if (!(options.learning_rate > 0)) return bad("learning_rate", options.learning_rate, "above 0");
  if (options.threads < 1) return bad("threads", options.threads, "1 or more");
  if (options.pairs_per_row < 2) return bad("pairs_per_row", options.pairs_per_row, "2 or more");
  if (!(options.noise >= 0)) return bad("noise", options.noise, "0 or more");
  if (options.over_cycles && options.objective != Objective::kRank)
    return bad("over_cycles", true, "false where the objective is regression");
  return {};
}

Rows select(const Rows& rows, std::span<const int> numbers) {
  Rows out;
  out.width = rows.width;
  for (const int i : numbers) {
    const auto begin = rows.features.begin() + static_cast<std::ptrdiff_t>(i) * rows.width;
    out.features.insert(out.features.end(), begin, begin + rows.width);
    out.seconds.push_back(rows.seconds[i]);
    out.workload.push_back(rows.workload[i]);
    if (!rows.spread.empty()) out.spread.push_back(rows.spread[i]);
  }
  return out;
}

Status check(const Rows& rows) {
  const auto count = rows.seconds.size();
  if (count == 0 || rows.width <= 0)
    return fail(ErrorKind::kInvalidArgument, "the cost model was given no rows to train on");
  if (rows.workload.size() != count ||
      rows.features.size() != count * static_cast<std::size_t>(rows.width))
    return fail(ErrorKind::kInvalidArgument,
                "training data disagrees: {} times, {} workloads, {} features for rows of {}",
                count, rows.workload.size(), rows.features.size(), rows.width);
  for (std::size_t i = 0; i < rows.features.size(); ++i)
    if (!std::isfinite(rows.features[i]))
      return fail(ErrorKind::kInvalidArgument, "feature {} of training row {} is not finite",
                  i % static_cast<std::size_t>(rows.width),
                  i / static_cast<std::size_t>(rows.width));
  for (std::size_t i = 0; i < count; ++i)
    if (!(rows.seconds[i] > 0))
      return fail(ErrorKind::kInvalidArgument,
                  "the time of training row {} is {}: it must be above 0", i, rows.seconds[i]);
  if (!rows.spread.empty() && rows.spread.size() != count)
    return fail(ErrorKind::kInvalidArgument, "training data disagrees: {} times, {} spreads", count,
                rows.spread.size());
  for (std::size_t i = 0; i < rows.spread.size(); ++i)
    if (!(rows.spread[i] >= 0))
      return fail(ErrorKind::kInvalidArgument,
                  "the spread of training row {} is {}: it must be 0 or more", i, rows.spread[i]);
  return {};
}

Status check_prediction(bool trained, int model_width, std::size_t features, int width,
                        std::size_t scores) {
  if (!trained)
    return fail(ErrorKind::kInvalidArgument,
                "the cost model cannot predict before it is trained or loaded");
  if (width != model_width)
    return fail(ErrorKind::kInvalidArgument,
                "the cost model was trained on rows of {} features, not {}", model_width, width);
  if (features != scores * static_cast<std::size_t>(width))
    return fail(ErrorKind::kInvalidArgument, "{} features are not {} rows of {}", features, scores,
                width);
  return {};
}

Status add_global_scores(const CostModel* global, std::span<const float> features, int width,
                         std::span<float> scores) {
  if (global == nullptr) return {};
  std::vector<float> base(scores.size());
  LATHE_TRY_STATUS(global->predict(features, width, base));
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += base[i];
  return {};
}

Status check_saving(bool trained, const CostModel* global) {
  if (global != nullptr)
    return fail(ErrorKind::kUnsupported,
                "a cost model that adds to a global one is not saved: train it again");
  if (!trained)
    return fail(ErrorKind::kInvalidArgument, "the cost model has nothing to save before training");
  return {};
}

}  // namespace lathe::model
