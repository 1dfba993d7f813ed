// The global models that come with Lathe. With them, a first run on an empty store begins from what
// other workloads taught.
#pragma once

#include <string_view>

#include "tuner/model/target_class.h"

namespace lathe::api {

// A file as `lathe model train` writes it (model/global_model.h), trained on the workloads of
// bench/pretraining.txt. Empty if none comes for this class of targets.
std::string_view shipped_model(const model::TargetClass& target_class);

}  // namespace lathe::api
