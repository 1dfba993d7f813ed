// Small flat programs, and the check that machine code computes what the oracle does.
#pragma once

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/codegen/harness.h"

namespace lathe::testing {

inline flat::Buffer buffer(const char* name, std::int64_t size, flat::Scope scope,
                           std::int64_t slot, Dtype dtype = Dtype::kF32) {
  return {.name = name, .dtype = dtype, .size = size, .scope = scope, .slot = slot};
}
inline flat::Border border(const flat::Buffer& b) {
  return {.name = b.name,
          .dtype = b.dtype,
          .shape = {b.size},
          .layout = {{0, 1, b.size, 1}},
          .size = b.size};
}
inline flat::Program program(std::vector<flat::Buffer> buffers, std::vector<std::string> vars,
                             flat::Stmt run, std::vector<flat::Type> regs = {}) {
  flat::Program p;
  p.buffers = std::move(buffers);
  for (const flat::Buffer& b : p.buffers) {
    if (b.scope == flat::Scope::kInput) p.inputs.push_back(border(b));
    if (b.scope == flat::Scope::kOutput) p.outputs.push_back(border(b));
  }
  p.vars = std::move(vars);
  p.regs = std::move(regs);
  flat::set_run(p, std::move(run));
  return p;
}
inline std::vector<interp::Bytes> random_inputs(const flat::Program& p, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<interp::Bytes> inputs;
  for (const flat::Border& b : p.inputs) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < b.size; ++i)
      values.push_back(is_float(b.dtype) ? rng.normal() : static_cast<double>(rng.between(0, 100)));
    inputs.push_back(interp::to_storage(b, values));
  }
  return inputs;
}

// The code computes what the interpreter does, on every target of this machine.
inline void check(const flat::Program& p, double ulps = 0) {
  const auto valid = flat::verify(p);
  ASSERT_TRUE(valid) << valid.error().text();
  const auto inputs = random_inputs(p, 7);
  const auto want = interp::eval_flat(p, inputs);
  ASSERT_TRUE(want) << want.error().text();
  for (const Target& target : runnable_targets()) {
    const auto module = compile(p, target);
    ASSERT_TRUE(module) << target.text() << ": " << module.error().text();
    const auto got = run_module(**module, p, inputs);
    ASSERT_TRUE(got) << target.text() << ": " << got.error().text();
    const std::string wrong = difference(p, *want, *got, ulps);
    EXPECT_EQ(wrong, "") << target.text() << "\n" << print(p) << *codegen::llvm_ir(p, target);
  }
}

}  // namespace lathe::testing
