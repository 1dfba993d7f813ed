// Where the programs and plug-ins are that belong to this one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

// The path of `lathe-builder`, `lathe-runner` or a plug-in: beside this program, then in
// $LATHE_LIBEXEC, then where it was installed (../libexec/lathe of this program, or of the library
// that this code is in). kNotFound names every place looked at.
Result<std::string> find_helper(std::string_view name);

}  // namespace lathe
