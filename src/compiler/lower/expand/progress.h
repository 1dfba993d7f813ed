// How far a reduction has got at a place of the code: blocks wait for its last iteration, and an
// accumulator starts or goes on in its first.
#pragma once

#include <optional>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/expand/place.h"

namespace lathe::lower {

struct Test {  // known, or a condition to test at run time
  std::optional<bool> known;
  flat::Expr condition;
};
// Whether this is the first iteration of these loops.
Test first_test(const Place& place, const BlockPlan::Progress& progress);
// Whether it is the last one that adds anything.
Test last_test(const Place& place, const BlockPlan::Progress& progress);

}  // namespace lathe::lower
