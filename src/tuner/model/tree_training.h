// Training of TreeGRU: which rows a step sees, what they should score, and when to stop. Internal to this room.
#pragma once

#include "tuner/model/model.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

// Rows and options are checked. Fits what `options.global` leaves over.
Result<treegru::Weights> train_tree(const Rows& rows, const TreeGruOptions& options);

}  // namespace lathe::model
