// Trains TreeGRU: decides which rows a step sees, what they should score, and when to stop.
// Internal to this room.
#pragma once

#include "tuner/model/model.h"
#include "tuner/treegru/weights.h"

namespace lathe::model {

struct LearntTree {
  treegru::Weights weights;
  bool held_out = false;  // some rows were held out, to tell when to stop
};
// Fits what the scores of `options.global` leave over; rows and options must be checked. It trains
// from scratch or, in less time, from `before`, which was learnt from some of these rows: the
// held-out ones among them are still held out. If there were too few rows before to hold any out,
// and now there are enough, the old ones were learnt by heart, so it begins from scratch.
Result<LearntTree> train_tree(const Rows& rows, const TreeGruOptions& options,
                              const LearntTree* before = nullptr);

}  // namespace lathe::model
