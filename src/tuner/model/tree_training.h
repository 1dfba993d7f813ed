// Training of TreeGRU: which rows a step sees, what they should score, and when to stop. Internal
// to this room.
#pragma once

#include "tuner/model/model.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

struct LearntTree {
  treegru::Weights weights;
  bool held_out = false;  // some rows only told when to stop
};
// Rows and options are checked. Fits what `options.global` leaves over. From scratch, or shorter
// from what `before` knows, which was learnt from some of these rows: those that only tell when to
// stop are still the same. Where there were too few for that before and now there are enough, they
// were learnt by heart, and it begins from scratch.
Result<LearntTree> train_tree(const Rows& rows, const TreeGruOptions& options,
                              const LearntTree* before = nullptr);

}  // namespace lathe::model
