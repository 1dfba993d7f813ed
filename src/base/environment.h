// What the environment's variables say.
#pragma once

#include <string>

namespace lathe {

std::string environment(const char* name);  // empty where it is not set
// $HOME, else what the system knows of the user; empty where that is nothing.
std::string home_folder();
// $XDG_CACHE_HOME/lathe, else ~/.cache/lathe; empty where neither is known. It need not exist.
std::string cache_folder();

}  // namespace lathe
