// Tells what this Lathe is made of.
#pragma once

#include <string>

namespace lathe::api {

// Its version and commit, and the libraries on which its results depend, in one line.
std::string version_text();

}  // namespace lathe::api
