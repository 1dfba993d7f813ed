// Finds executables and plug-ins. What another user could change (trust.h) is passed over; where
// nothing else is found, the error says so.
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

// The path of another executable, as `ld`, in a folder of PATH. An entry that is empty or relative
// means the current folder, and is passed over. kNotFound: there is none.
Result<std::string> find_on_path(std::string_view name);

}  // namespace lathe
