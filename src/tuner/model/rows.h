// What the models of this room share: checks of what callers pass, and training of one forest.
#pragma once

#include "base/result.h"
#include "tuner/model/forest.h"
#include "tuner/model/model.h"

namespace lathe::model {

Status check(const XgboostOptions& options);
// Sizes agree, features are finite, times positive (infinity: failed), and there is something to
// learn from.
Status check(const Rows& rows);
Status check_prediction(bool trained, int model_width, std::size_t features, int width,
                        std::size_t scores);

// Adds the global model's scores of these rows; nothing without one.
Status add_global_scores(const CostModel* global, std::span<const float> features, int width,
                         std::span<float> scores);
Status check_saving(bool trained, const CostModel* global);

// Fits what `options.global` leaves over.
Result<Forest> train_forest(const Rows& rows, const XgboostOptions& options);

}  // namespace lathe::model
