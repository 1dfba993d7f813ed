// What the models of this room share: checks of what callers pass, and the training of one forest.
#pragma once

#include "base/result.h"
#include "tuner/model/forest.h"
#include "tuner/model/model.h"

namespace lathe::model {

Status check(const XgboostOptions& options);
// Checks that sizes agree, features are finite, times are positive (infinity: failed), and that
// there is something to learn from.
Status check(const Rows& rows);
Status check_prediction(bool trained, int model_width, std::size_t features, int width,
                        std::size_t scores);

// Adds the global model's scores of these rows, if there is a global model.
Status add_global_scores(const CostModel* global, std::span<const float> features, int width,
                         std::span<float> scores);
Status check_saving(bool trained, const CostModel* global);

// Fits what the scores of `options.global` leave over.
Result<Forest> train_forest(const Rows& rows, const XgboostOptions& options);

}  // namespace lathe::model
