// Runs a flat program as machine code, in this process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/target.h"
#include "compiler/codegen/llvm/codegen.h"
#include "oracle/flat_eval.h"
#include "oracle/te_eval.h"
#include "runtime/module/module.h"

namespace lathe::testing {

// The targets this machine can run, from SSE2 to its own.
std::vector<Target> runnable_targets();
Target resolved(const std::string& text);
std::string test_name(const Target& target);  // letters and digits of its text

// The first name in the LLVM IR of a masked access that is wider than a register; empty if none is.
std::string too_wide(std::string_view ir, const Target& target);

// An error if a masked access in it is wider than a register.
Result<std::unique_ptr<module::Module>> compile(const flat::Program& program, const Target& target);

// Where tensors lie between pages that nothing may touch: as a caller's do, which begin at a
// multiple of 64 bytes; or right behind the one page, or right before the other.
enum class Place { kAligned, kFirst, kLast };

// prepare, then run; storage as interp::eval_flat has it. Tensors and scratch lie between pages
// that nothing may touch; checks that nothing was written beside them either. An access to such a
// page is an error.
Result<std::vector<interp::Bytes>> run_module(const module::Module& module,
                                              const flat::Program& program,
                                              std::span<const interp::Bytes> inputs,
                                              Place place = Place::kAligned);

// What interp::eval_flat says and what the code says are equal: bit by bit, or for reals within
// `ulps` of the type. Returns an explanation of the first difference, or nothing.
std::string difference(const flat::Program& program, const std::vector<interp::Bytes>& want,
                       const std::vector<interp::Bytes>& got, double ulps);

// The same for what interp::evaluate says, within its bounds.
std::string difference(const flat::Program& program, const std::vector<interp::Tensor>& want,
                       const std::vector<interp::Bytes>& got);

}  // namespace lathe::testing
