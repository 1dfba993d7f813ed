// The passes in order, and a function that runs them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::lower {

struct Pass {
  const char* name;
  flat::Program (*run)(flat::Program program, const Target& target);
  const char* why;  // why it is needed, and why at this place
};
// The passes after `expand`, which makes the flat program from the nest.
std::span<const Pass> passes();

#ifdef NDEBUG
inline constexpr bool kVerifyPasses = false;
#else
inline constexpr bool kVerifyPasses = true;
#endif

struct PassOptions {
  // Verify after each pass; a fault is an internal error that names the pass.
  bool verify = kVerifyPasses;
  std::vector<std::string> skip;  // names of passes to leave out
  // Called after each pass with what it made and how long it took; for printing, reproducers and
  // timing.
  std::function<void(const Pass& pass, const flat::Program& program, double seconds)> after;
};
Result<flat::Program> run_passes(flat::Program program, const Target& target,
                                 const PassOptions& options = {});

}  // namespace lathe::lower
