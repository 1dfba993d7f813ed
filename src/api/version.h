// What this Lathe is made of.
#pragma once

#include <string>

namespace lathe::api {

// Its version and commit, and the libraries that decide what it finds: one line.
std::string version_text();

}  // namespace lathe::api
