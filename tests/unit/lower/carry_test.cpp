// What a loop stores and loads again in its next iteration stays in a register.
#include <gtest/gtest.h>

#include "compiler/lower/expand/expand.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/passes/passes.h"
#include "compiler/lower/pipeline.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/flat_eval.h"

namespace lathe::lower {
namespace {

using namespace flat;

Expr num(std::int64_t value) { return int_imm(value); }
Expr v() { return var(0); }
Expr plus(Expr a, Expr b) { return binary(flat::BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr times(Expr a, std::int64_t b) { return binary(flat::BinaryOp::kMul, std::move(a), num(b)); }
Expr at(int buffer, Expr index) { return load(buffer, std::move(index), {Dtype::kF32, 1}); }

Program with(Stmt body) {
  Program p;
  p.inputs = {{.name = "A", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.outputs = {{.name = "B", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.buffers = {{.name = "A", .size = 64, .scope = flat::Scope::kInput},
               {.name = "B", .size = 64, .scope = flat::Scope::kOutput}};
  p.vars = {"i"};
  set_run(p, seq({store(1, num(0), load(0, num(0), {Dtype::kF32, 64})), std::move(body)}));
  return p;
}

// The program with what is carried, as text; it computes the same.
std::string carried(Stmt body) {
  const Program before = with(std::move(body)), after = carry(before, {});
  EXPECT_TRUE(verify(after)) << print(after);
  std::vector<double> a(64);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 7) - 2;
  const std::vector<interp::Bytes> inputs = {interp::to_storage(before.inputs[0], a)};
  const auto want = interp::eval_flat(before, inputs), got = interp::eval_flat(after, inputs);
  EXPECT_TRUE(want && got);
  if (want && got) {
    EXPECT_EQ((*want)[0], (*got)[0]) << print(after);
  }
  return print(after, after.kernels[0].body);
}
std::string printed(const Program& program) { return print(program, program.kernels[0].body); }

// Every element has a value at first.
constexpr std::string_view kFilled = "B[0 : 64] = A[0 : 64]\n";

TEST(Carry, KeepsWhatTheNextIterationLoads) {
  EXPECT_EQ(
      carried(
          for_loop(0, num(1), num(9), store(1, v(), plus(at(1, plus(v(), num(-1))), at(0, v()))))),
      std::string(kFilled) + "r0 = B[0]\nfor i in 1..9 {\n  r0 = r0 + A[i]\n  B[i] = r0\n}\n");
  // Backwards, in longer steps.
  const Expr down = plus(times(v(), -2), num(40));
  EXPECT_EQ(carried(for_loop(0, num(0), num(8),
                             store(1, down, plus(at(1, plus(down, num(2))), at(0, v()))))),
            std::string(kFilled) +
                "r0 = B[42]\nfor i in 0..8 {\n  r0 = r0 + A[i]\n  B[i * -2 + 40] = r0\n}\n");
}

TEST(Carry, KeepsLanesThatAreMaskedAlike) {
  const Type four{Dtype::kF32, 4};
  const Expr mask = binary(flat::BinaryOp::kLt, ramp(num(0), 1, 4), broadcast(num(3), 4));
  const Expr here = times(v(), 4);
  const auto body = [&](const Expr& masked) {
    return for_loop(0, num(1), num(9),
                    store(1, here,
                          binary(flat::BinaryOp::kAdd, load(1, plus(here, num(-4)), four, masked),
                                 load(0, here, four)),
                          mask));
  };
  EXPECT_EQ(carried(body(mask)),
            std::string(kFilled) +
                "r0 = B[0 : 4 | ramp(0, 1, 4) < x4(3)]\nfor i in 1..9 {\n  r0 = r0 + A[i * 4 : 4]\n"
                "  B[i * 4 : 4 | ramp(0, 1, 4) < x4(3)] = r0\n}\n");
  // A load of lanes that nobody keeps.
  EXPECT_EQ(carried(body(nullptr)), std::string(kFilled) +
                                        "r0 = B[0 : 4]\nfor i in 1..9 {\n  r0 = r0 + A[i * 4 : 4]\n"
                                        "  B[i * 4 : 4 | ramp(0, 1, 4) < x4(3)] = r0\n}\n");
  const Stmt differ = body(binary(flat::BinaryOp::kLt, ramp(num(0), 1, 4), broadcast(num(2), 4)));
  EXPECT_EQ(carried(differ), printed(with(differ)));
  // Rows of seven: a vector and three lanes.
  const auto row = [&](std::int64_t first, const Expr& masked) {
    const Expr there = plus(times(v(), 7), num(first));
    return store(
        1, there,
        binary(flat::BinaryOp::kAdd, load(1, plus(there, num(-7)), four), load(0, there, four)),
        masked);
  };
  EXPECT_EQ(carried(for_loop(0, num(1), num(7), seq({row(0, nullptr), row(4, mask)}))),
            std::string(kFilled) +
                "r0 = B[0 : 4]\nr1 = B[4 : 4]\nfor i in 1..7 {\n  r0 = r0 + A[i * 7 : 4]\n"
                "  B[i * 7 : 4] = r0\n  r1 = r1 + A[i * 7 + 4 : 4]\n"
                "  B[i * 7 + 4 : 4 | ramp(0, 1, 4) < x4(3)] = r1\n}\n");
}

TEST(Carry, KeepsRowsApart) {
  const auto row = [](std::int64_t offset) {
    const Expr here = plus(v(), num(offset));
    return store(1, here, plus(at(1, plus(here, num(-1))), at(0, here)));
  };
  EXPECT_EQ(carried(for_loop(0, num(1), num(9), seq({row(0), row(20)}))),
            std::string(kFilled) +
                "r0 = B[0]\nr1 = B[20]\nfor i in 1..9 {\n  r0 = r0 + A[i]\n  B[i] = r0\n"
                "  r1 = r1 + A[i + 20]\n  B[i + 20] = r1\n}\n");
  // The second goes on with what the first has stored in the same iteration.
  EXPECT_EQ(carried(for_loop(0, num(1), num(9), seq({row(0), row(1)}))),
            std::string(kFilled) +
                "r0 = B[0]\nfor i in 1..9 {\n  r0 = r0 + A[i]\n  B[i] = r0\n"
                "  B[i + 1] = B[i] + A[i + 1]\n}\n");
  // The first would go on with what the second has stored.
  const Stmt close =
      for_loop(0, num(1), num(9), seq({row(0), store(1, plus(v(), num(-1)), at(0, v()))}));
  EXPECT_EQ(carried(close), printed(with(close)));
}

TEST(Carry, LeavesOthersAlone) {
  const auto same = [](const Stmt& body) { EXPECT_EQ(carried(body), printed(with(body))); };
  // The same element, one of two iterations before, one under a mask, and what another place may
  // be.
  same(for_loop(0, num(0), num(9), store(1, num(3), plus(at(1, num(3)), at(0, v())))));
  same(for_loop(0, num(2), num(9), store(1, v(), plus(at(1, plus(v(), num(-2))), at(0, v())))));
  same(for_loop(0, num(1), num(2), store(1, v(), plus(at(1, plus(v(), num(-1))), at(0, v())))));
  same(for_loop(0, num(1), num(9),
                seq({store(1, v(), plus(at(1, plus(v(), num(-1))), at(0, v()))),
                     store(1, times(v(), 3), at(0, v()))})));
}

}  // namespace
}  // namespace lathe::lower
