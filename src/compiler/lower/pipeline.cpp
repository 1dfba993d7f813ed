#include "compiler/lower/pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

constexpr Pass kPasses[] = {
    {"simplify", simplify,
     "first, so that the others see no dead code and no masks that are always full"},
    {"join_regions", join_regions, "after simplify, which makes plain code of single iterations"},
    {"carry", carry, "after simplify, which leaves bounds and addresses in one form"},
    {"promote_halves", promote_halves, "before math, whose formulas are for f32 and f64"},
    {"expand_math", expand_math,
     "code generators know no elementary functions and must not call libraries"},
    {"expand_conversions", expand_conversions,
     "after halves are promoted only casts to and from f32 are left"},
    {"renumber", renumber,
     "last, so that equal programs have equal hashes however they came about"},
};

Status check(const flat::Program& program, const Pass& pass) {
  const Status status = flat::verify(program);
  if (status) return {};
  return fail_at(pass.name, ErrorKind::kInternal, "the pass broke the program: {}",
                 status.error().text());
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Result<flat::Program> run_passes(flat::Program program, const Target& target,
                                 const PassOptions& options) {
  using Clock = std::chrono::steady_clock;
  for (const Pass& pass : kPasses) {
    if (std::ranges::find(options.skip, pass.name) != options.skip.end()) continue;
    const auto begin = Clock::now();
    program = pass.run(std::move(program), target);
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    if (options.verify) LATHE_TRY_STATUS(check(program, pass));
    if (options.after) options.after(pass, program, seconds.count());
  }
  return program;
}

}  // namespace lathe::lower
