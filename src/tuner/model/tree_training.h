// Training of TreeGRU: which rows a step sees, what they should score, and when to stop. Internal to this room.
#pragma once

#include "tuner/model/model.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

// Rows and options are checked. Fits what `options.global` leaves over. From scratch, or shorter from what `learnt` knows: the
// rows that only tell when to stop are then still the same.
Result<treegru::Weights> train_tree(const Rows& rows, const TreeGruOptions& options, const treegru::Weights* learnt = nullptr);

}  // namespace lathe::model
