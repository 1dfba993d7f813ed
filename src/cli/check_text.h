// What the check of a model says.
#pragma once

#include <string>

#include "api/model_check.h"
#include "api/workload.h"

namespace lathe::cli {

// Takes --max-error from the flags of a workload: of a model, it is the bound of the whole.
double model_error(api::WorkloadRequest& named);
std::string check_text(const api::ModelCheck& checked, double max_error);

}  // namespace lathe::cli
