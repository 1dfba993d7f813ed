// Where this code itself is.
#pragma once

#include <filesystem>

namespace lathe {

std::filesystem::path program_path();  // of the executable; empty where the system does not tell
// Of the shared library that contains this code; empty where the executable does.
std::filesystem::path own_library_path();

}  // namespace lathe
