// Runs a lowered program in the checked interpreter and compares it with the evaluation of its
// expression.
#pragma once

#include <string>

#include "compiler/ir/flat/flat.h"
#include "compiler/te/workload.h"

namespace lathe {

// Empty if `flat` computes `program` on random inputs of this seed; else tells what is wrong.
// An error of `max_error` times the largest element of an output is never too much.
std::string check_flat(const te::Workload& workload, const flat::Program& flat, std::uint64_t seed,
                       double max_error = 0);

}  // namespace lathe
