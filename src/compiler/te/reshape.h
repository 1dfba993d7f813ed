// Gives an input of an expression another shape that callers see as the same one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::te {

// `shape` merges to the shape at the border that the input has. Reads of it follow: where an
// iterator runs along a dimension that becomes several, it becomes several, too, and so does the
// dimension that it writes, whose shape at the border stays. Where an index is no such iterator, it
// is taken apart by its coefficients if that can be done, else by division. Iterators that are made
// up have none of the `used` names.
void reshape_input(Workload& workload, int tensor, const std::vector<std::int64_t>& shape,
                   const std::set<std::string>& used);

}  // namespace lathe::te
