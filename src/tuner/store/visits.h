// Visits as JSON, in a column and in a line. Internal to this room.
#pragma once

#include <vector>

#include "tuner/store/record.h"

namespace lathe::store {

Json visits_to_json(const std::vector<Visit>& visits);
Result<std::vector<Visit>> visits_from_json(const Json& json);

}  // namespace lathe::store
