// A program that computes one expression of its input elements, for tests of expansions over many
// arguments at once.
#pragma once

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/lower/passes/passes.h"
#include "oracle/flat_eval.h"

namespace lathe::testing {

// Target of each sort: with and without the instructions that passes ask for.
inline Target old_x86() {
  Target target;
  target.as_cpu().vector_bits = 128;
  return target;
}
inline Target new_x86() {
  Target target;
  target.as_cpu().vector_bits = 512;
  target.as_cpu().has_fma = target.as_cpu().has_f16c = true;
  return target;
}

// C[i] = f(A[i], B[i]), `lanes` at a time; the arguments are repeated to fill whole vectors.
struct Elementwise {
  flat::Program program;
  std::vector<interp::Bytes> inputs;
  std::size_t count;

  using Function = std::function<flat::Expr(flat::Expr, flat::Expr)>;
  Elementwise(std::vector<double> a, std::vector<double> b, Dtype from, Dtype to, const Function& f,
              int lanes = 8)
      : count(a.size()) {
    if (b.empty()) b.assign(a.size(), 0);
    while (a.size() % static_cast<std::size_t>(lanes) != 0) a.push_back(a[0]), b.push_back(b[0]);
    const auto n = static_cast<std::int64_t>(a.size());
    const auto border = [&](const char* name, Dtype dtype) {
      return flat::Border{
          .name = name, .dtype = dtype, .shape = {n}, .layout = {{0, 1, n, 1}}, .size = n};
    };
    program.inputs = {border("A", from), border("B", from)};
    program.outputs = {border("C", to)};
    program.buffers = {
        {.name = "A", .dtype = from, .size = n, .scope = flat::Scope::kInput, .slot = 0},
        {.name = "B", .dtype = from, .size = n, .scope = flat::Scope::kInput, .slot = 1},
        {.name = "C", .dtype = to, .size = n, .scope = flat::Scope::kOutput}};
    program.vars = {"i"};
    const flat::Expr at = flat::binary(flat::BinaryOp::kMul, flat::var(0), flat::int_imm(lanes));
    const flat::Type type{from, lanes};
    set_run(program, flat::for_loop(
                         0, flat::int_imm(0), flat::int_imm(n / lanes),
                         flat::store(2, at, f(flat::load(0, at, type), flat::load(1, at, type)))));
    inputs = {interp::to_storage(program.inputs[0], a), interp::to_storage(program.inputs[1], b)};
  }

  std::vector<double> values(const flat::Program& p) const {
    const auto out = interp::eval_flat(p, inputs);
    EXPECT_TRUE(out) << out.error().text();
    if (!out) return {};
    std::vector<double> values = interp::from_storage(p.outputs[0], (*out)[0]);
    values.resize(count);
    return values;
  }
};

}  // namespace lathe::testing
