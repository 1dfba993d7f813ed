// Times for people to read.
#pragma once

#include <string>

namespace lathe {

std::string time_text(double seconds);  // "12.3 us", "4.56 ms"

}  // namespace lathe
