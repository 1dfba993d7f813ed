// Statements that need each other: their tensors have shapes and types before the first of them is
// built.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/te/resolve.h"
#include "compiler/te/syntax.h"
#include "compiler/te/workload.h"

namespace lathe::te {

// Groups of statements that need each other, in order; also those that sum up what they write.
// `scopes`: of the statements.
std::vector<std::vector<int>> statement_cycles(const WorkloadSyntax& syntax,
                                               const std::vector<StageScope>& scopes);

// The tensors of such a group that `workload` does not have: those that statements of the group
// read before they are written. Types are those of `dtypes`, else they follow from what is read
// besides, else they are f32. `shapes`: what is known outside of the group.
Result<std::vector<Tensor>> foresee(const Workload& workload, const WorkloadSyntax& syntax,
                                    const std::vector<StageScope>& scopes,
                                    const std::vector<int>& cycle, const ShapeOf& shapes,
                                    const std::map<std::string, Dtype, std::less<>>& dtypes);

}  // namespace lathe::te
