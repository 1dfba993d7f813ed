// The global models that come with Lathe. With them, a first run on an empty store begins from what
// other workloads taught.
#pragma once

#include <string_view>

namespace lathe::api {

// A file as `lathe model train` writes it (model/global_model.h), trained on the workloads of
// bench/pretraining.txt. Empty if none comes for this class of targets (learn::target_class).
std::string_view shipped_model(std::string_view target_class);

}  // namespace lathe::api
