// The back ends of this build, in a list: the one place that names them.
#pragma once

#include "compiler/driver/driver.h"

namespace lathe {

// The first that accepts a target generates its code.
driver::Backends backends();

}  // namespace lathe
