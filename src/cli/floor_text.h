// How fast a node could be, as tables show it.
#pragma once

#include <string>

#include "api/model_floors.h"

namespace lathe::cli {

// Titles and cells have one width.
std::string floor_title();
std::string floor_text(const api::NodeFloor& floor);  // "   1.23 ms  arithmetic"

}  // namespace lathe::cli
