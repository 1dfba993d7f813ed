// Runs a lowered program in the checked interpreter and compares with the expression's own
// evaluation.
#pragma once

#include <string>

#include "compiler/ir/flat/flat.h"
#include "compiler/te/program.h"

namespace lathe {

// Empty if `flat` computes `program` on random inputs of this seed; else what is wrong, in words.
std::string check_flat(const te::Program& program, const flat::Program& flat, std::uint64_t seed);

}  // namespace lathe
