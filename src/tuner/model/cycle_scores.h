// What a model of a device without data says, as the scores that a model which learns begins from.
#pragma once

#include <memory>

#include "tuner/model/model.h"

namespace lathe::model {

// Reads rows whose last column tells log2 of the cycles that such a model predicts, as context
// features of cards do (feature::tells_cycles). Scores are in units of the rank objective: of two
// programs that it tells apart by d in log2 of the cycles, the first is faster with the odds
// exp(4.2 d), fitted to the times of bench/results/card_order.md. It is trained from the start, and
// is not changed.
std::shared_ptr<const CostModel> cycle_scores();

}  // namespace lathe::model
