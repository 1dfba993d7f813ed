#include "tuner/model/booster.h"

#include <future>
#include <limits>
#include <string>
#include <string_view>

#include <xgboost/c_api.h>
#include <xgboost/version_config.h>

#include "base/json.h"
#include "tuner/model/columns.h"

namespace lathe::model {
namespace {

Status checked(int status) {
  if (status == 0) return {};
  std::string_view reason = XGBGetLastError();
  return fail(ErrorKind::kInternal, "XGBoost failed: {}", reason.substr(0, reason.find('\n')));
}

class Matrix {
 public:
  Matrix() = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() {
    if (handle != nullptr) XGDMatrixFree(handle);
  }
  DMatrixHandle handle = nullptr;
};

class Booster {
 public:
  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  ~Booster() {
    if (handle != nullptr) XGBoosterFree(handle);
  }
  Status set(const char* name, const std::string& value) {
    return checked(XGBoosterSetParam(handle, name, value.c_str()));
  }
  BoosterHandle handle = nullptr;
};

Status configure(Booster& booster, const BoosterOptions& options) {
  LATHE_TRY_STATUS(booster.set("booster", "gbtree"));
  LATHE_TRY_STATUS(booster.set("tree_method", "hist"));
  // Not used: the gradients are ours
  LATHE_TRY_STATUS(booster.set("objective", "reg:squarederror"));
  LATHE_TRY_STATUS(booster.set("base_score", "0"));
  LATHE_TRY_STATUS(booster.set("disable_default_eval_metric", "1"));
  LATHE_TRY_STATUS(booster.set("verbosity", "0"));
  LATHE_TRY_STATUS(booster.set("max_depth", std::to_string(options.max_depth)));
  LATHE_TRY_STATUS(booster.set("max_bin", std::to_string(options.max_bin)));
  LATHE_TRY_STATUS(booster.set("eta", fmt::format("{}", options.learning_rate)));
  LATHE_TRY_STATUS(booster.set("nthread", std::to_string(options.threads)));
  return booster.set("seed", std::to_string(options.seed & 0x7fffffff));
}

#if XGBOOST_VER_MAJOR >= 3
std::string array_interface(const std::vector<float>& values) {
  return fmt::format(R"({{"data":[{},true],"shape":[{}],"typestr":"<f4","version":3}})",
                     reinterpret_cast<std::uintptr_t>(values.data()), values.size());
}
#endif

Status add_tree(Booster& booster, Matrix& data, Gradients& gradients, [[maybe_unused]] int round) {
#if XGBOOST_VER_MAJOR >= 3
  return checked(XGBoosterTrainOneIter(booster.handle, data.handle, round,
                                       array_interface(gradients.first).c_str(),
                                       array_interface(gradients.second).c_str()));
#else
  return checked(XGBoosterBoostOneIter(booster.handle, data.handle, gradients.first.data(),
                                       gradients.second.data(), gradients.first.size()));
#endif
}

// Gets the scores of the training rows from the library's cache.
Status training_scores(Booster& booster, Matrix& data, std::vector<float>& scores) {
  const char* config =
      R"({"type":1,"training":true,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  LATHE_TRY_STATUS(checked(XGBoosterPredictFromDMatrix(booster.handle, data.handle, config, &shape,
                                                       &dimensions, &values)));
  scores.assign(values, values + scores.size());
  return {};
}

Result<Tree> tree_from(const Json& json) {
  const Json left = LATHE_TRY(json_array(json, "left_children"));
  const Json right = LATHE_TRY(json_array(json, "right_children"));
  const Json feature = LATHE_TRY(json_array(json, "split_indices"));
  const Json condition = LATHE_TRY(json_array(json, "split_conditions"));
  Tree tree;
  if (left.size() != right.size() || left.size() != feature.size() ||
      left.size() != condition.size())
    return fail(ErrorKind::kInternal, "XGBoost's model has trees with arrays of different lengths");
  for (std::size_t i = 0; i < left.size(); ++i) {
    const float value = condition[i].get<float>();  // a threshold, or the value of a leaf
    tree.nodes.push_back(
        {left[i].get<int>(), right[i].get<int>(), feature[i].get<int>(), value, value});
  }
  return tree;
}

Result<std::vector<Tree>> trees_of(Booster& booster) {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  LATHE_TRY_STATUS(
      checked(XGBoosterSaveModelToBuffer(booster.handle, R"({"format":"json"})", &size, &bytes)));
  const Json document = LATHE_TRY(parse_json({bytes, size}));
  const Json::json_pointer where("/learner/gradient_booster/model/trees");
  if (!document.contains(where) || !document[where].is_array())
    return fail(ErrorKind::kInternal, "XGBoost {} saves models in a form this Lathe does not know",
                XGBOOST_VER_MAJOR);
  std::vector<Tree> trees;
  for (const Json& tree : document[where]) trees.push_back(LATHE_TRY(tree_from(tree)));
  return trees;
}

Result<Boosted> boost_here(std::span<const float> features, int rows, int width,
                           const BoosterOptions& options, const GradientSource& gradients) {
  LATHE_CHECK(features.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
  const std::vector<int> columns = informative_columns(features, rows, width);
  const std::vector<float> selected = select_columns(features, rows, width, columns);
  Matrix data;
  LATHE_TRY_STATUS(checked(XGDMatrixCreateFromMat(
      selected.data(), static_cast<bst_ulong>(rows), static_cast<bst_ulong>(columns.size()),
      std::numeric_limits<float>::quiet_NaN(), &data.handle)));
  Booster booster;
  LATHE_TRY_STATUS(checked(XGBoosterCreate(&data.handle, 1, &booster.handle)));
  LATHE_TRY_STATUS(configure(booster, options));

  Boosted result;
  result.scores.assign(static_cast<std::size_t>(rows), 0);
  Gradients current;
  for (int round = 0; round < options.rounds; ++round) {
    gradients(result.scores, current);
    round_for_exact_sums(current);
    LATHE_TRY_STATUS(add_tree(booster, data, current, round));
    LATHE_TRY_STATUS(training_scores(booster, data, result.scores));
  }
  std::vector<Tree> trees = LATHE_TRY(trees_of(booster));
  for (Tree& tree : trees)
    for (Tree::Node& node : tree.nodes)
      if (node.left != -1) node.feature = columns[static_cast<std::size_t>(node.feature)];
  result.forest = LATHE_TRY(Forest::build(trees, width));
  return result;
}

}  // namespace

// On a thread of its own: OpenMP's threads belong to the one that first asks for them, and in a
// forked child those of the forking thread are not there any more, but would be waited for.
Result<Boosted> boost(std::span<const float> features, int rows, int width,
                      const BoosterOptions& options, const GradientSource& gradients) {
  return std::async(std::launch::async,
                    [&] { return boost_here(features, rows, width, options, gradients); })
      .get();
}

}  // namespace lathe::model
