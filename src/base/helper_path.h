// Finds the executables and plug-ins that belong to this one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

// The path of `lathe-builder`, `lathe-runner` or a plug-in. It looks beside this executable, then
// in $LATHE_LIBEXEC, then where Lathe was installed: ../libexec/lathe seen from this executable,
// from the library that contains this code, or from the `lathe` on the PATH. kNotFound names every
// place that it looked at.
Result<std::string> find_helper(std::string_view name);

}  // namespace lathe
