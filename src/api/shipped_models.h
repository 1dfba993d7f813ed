// The global models that come with Lathe. With them, a first run on an empty store begins from what
// other workloads taught.
#pragma once

#include <string_view>

#include "tuner/model/target_class.h"

namespace lathe::api {

// A file as `lathe model train` writes it (model/global_model.h). Those for processors were trained
// on the workloads of bench/pretraining.txt, that for cards of sm_90 on times of generated CUDA C
// (bench/results/card_order.md). Empty if none comes for this class of targets.
std::string_view shipped_model(const model::TargetClass& target_class);

}  // namespace lathe::api
