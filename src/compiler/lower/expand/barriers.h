// Where the items of a group have to meet: between what one stores into memory of the group and
// what another loads or stores there. Found from the code alone, whatever schedule it comes from.
#pragma once

#include <vector>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/expand/code.h"

namespace lathe::lower {

// Puts barriers into the statements of a kernel on this grid, as few as one can tell to be needed.
// Throws Refused where items would have to meet in code that only some of them run.
void place_barriers(const Code& code, const flat::Grid& grid, std::vector<flat::Stmt>& stmts);

}  // namespace lathe::lower
