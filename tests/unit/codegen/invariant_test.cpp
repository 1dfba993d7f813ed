// Slow scalars before loops, quotients as products, powers of two, formulas in turns.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "unit/codegen/small_programs.h"

namespace lathe {
namespace {

using namespace flat;
using enum flat::BinaryOp;
using enum flat::UnaryOp;
using testing::buffer, testing::check, testing::program, testing::runnable_targets;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kLanes = 8;

Expr rows(const Expr& i, std::int64_t stride) { return binary(kMul, i, int_imm(stride)); }

// Within two roundings of numbers of 24 or 53 bits, or of the smallest number there is.
std::string far_from(const Program& p, const interp::Bytes& want, const interp::Bytes& got) {
  const bool narrow = p.outputs[0].dtype == Dtype::kF32;
  const auto a = interp::from_storage(p.outputs[0], want),
             b = interp::from_storage(p.outputs[0], got);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double least = narrow ? 0x1p-148 : 0x1p-1073;
    const double bound = std::max(least, std::abs(a[i]) * (narrow ? 0x1p-23 : 0x1p-52));
    if (!(std::abs(a[i] - b[i]) <= bound)) return fmt::format("{} is {}, not {}", i, b[i], a[i]);
  }
  return "";
}

void expect_same(const Program& p, const std::vector<std::vector<double>>& inputs, bool exactly) {
  const auto valid = flat::verify(p);
  ASSERT_TRUE(valid) << valid.error().text();
  std::vector<interp::Bytes> bytes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    bytes.push_back(interp::to_storage(p.inputs[i], inputs[i]));
  const auto want = interp::eval_flat(p, bytes);
  ASSERT_TRUE(want) << want.error().text();
  for (const Target& target : runnable_targets()) {
    const auto module = testing::compile(p, target);
    ASSERT_TRUE(module) << target.text() << ": " << module.error().text();
    const auto got = testing::run_module(**module, p, bytes);
    ASSERT_TRUE(got) << target.text() << ": " << got.error().text();
    EXPECT_EQ(exactly ? testing::difference(p, *want, *got, 0) : far_from(p, (*want)[0], (*got)[0]),
              "")
        << target.text() << "\n"
        << print(p);
  }
}

// Y[d,x] = f(X[x] / D[d]), a row for a divisor; of computed ones D[d] is the negative.
Program quotients(Dtype dtype, int divisors, int blocks, bool computed, auto&& f) {
  const Type type{dtype, kLanes};
  const Expr x = rows(var(1), kLanes), given = load(1, var(0), {dtype, 1});
  const Expr d = computed ? unary(kNeg, given) : given;
  const Expr y = f(binary(kDiv, load(0, x, type), broadcast(d, kLanes)));
  const Expr at = binary(kAdd, rows(var(0), std::int64_t{blocks} * kLanes), x);
  return program({buffer("X", std::int64_t{blocks} * kLanes, Scope::kInput, 0, dtype),
                  buffer("D", divisors, Scope::kInput, 1, dtype),
                  buffer("Y", std::int64_t{divisors} * blocks * kLanes, Scope::kOutput, 0, dtype)},
                 {"d", "x"},
                 for_loop(0, int_imm(0), int_imm(divisors),
                          for_loop(1, int_imm(0), int_imm(blocks), store(2, at, y))));
}

// Powers of two from one end of the format to the other, and what lies beyond.
std::vector<double> numbers_of(Dtype dtype) {
  const int last = dtype == Dtype::kF32 ? 127 : 1023, first = dtype == Dtype::kF32 ? -148 : -1073;
  std::vector<double> out = {0.0, -0.0, kInfinity, -kInfinity, std::nan("")};
  for (int power = first; power <= last; power += (last - first) / 11)
    for (const double mantissa : {1.0, -1.625}) out.push_back(std::ldexp(mantissa, power));
  for (const double x : {1.0, 3.0, 41.0, 49.0, -7.0, 1e-3}) out.push_back(x);
  while (out.size() % kLanes != 0) out.push_back(2.0 + static_cast<double>(out.size()));
  return out;
}

// The quotient has one rounding more than a division.
TEST(Invariant, QuotientsOfAllNumbers) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    const std::vector<double> numbers = numbers_of(dtype);
    const auto count = static_cast<int>(numbers.size());
    const auto same = [](const Expr& x) { return x; };
    expect_same(quotients(dtype, count, count / kLanes, true, same), {numbers, numbers}, false);
    // What the caller gave divides as he expects.
    expect_same(quotients(dtype, count, count / kLanes, false, same), {numbers, numbers}, true);
  }
}

// 41 * (1 / 41) is less than 1. What decides by a quotient has it as a division rounds it.
TEST(Invariant, WhatJumpsDividesExactly) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64}) {
    std::vector<double> numbers, divisors;
    for (int i = 0; i < 64 * kLanes; ++i) numbers.push_back(i);
    for (int i = 1; i < 60; ++i) divisors.push_back(-i);
    const Type type{dtype, kLanes};
    const auto one = imm(1, type), none = imm(0, type);
    const std::vector<std::function<Expr(Expr)>> decide = {
        [](const Expr& x) { return unary(kFloor, x); },
        [](const Expr& x) { return unary(kCeil, unary(kNeg, x)); },
        [dtype](const Expr& x) { return cast(cast(x, Dtype::kI32), dtype); },
        [&](const Expr& x) { return select(binary(kLt, x, one), none, one); },
        // The quotient itself is a part of the result, too.
        [](const Expr& x) { return binary(kSub, x, unary(kFloor, x)); }};
    for (const auto& f : decide)
      expect_same(quotients(dtype, static_cast<int>(divisors.size()), 64, true, f),
                  {numbers, divisors}, true);
  }
}

// Y[i,x] = X[x] / sqrt(D[i]): D is read before the loop over x where that runs at all, and only
// there: rows that have no x have no D either.
TEST(Invariant, LoopsThatDoNotRunReadNothing) {
  const Type type{Dtype::kF32, kLanes};
  const Expr root = unary(kSqrt, load(1, var(0), {Dtype::kF32, 1}));
  const Expr x = rows(var(1), kLanes);
  const Stmt line = store(2, x, binary(kDiv, load(0, x, type), broadcast(root, kLanes)));
  const Expr count = binary(kSub, int_imm(3), var(0));  // of row i
  for (const Stmt& row :
       {for_loop(1, int_imm(0), count, line),
        if_then(binary(kLt, var(0), int_imm(3)), for_loop(1, int_imm(0), int_imm(3), line))})
    check(program({buffer("X", 3 * kLanes, Scope::kInput, 0), buffer("D", 3, Scope::kInput, 1),
                   buffer("Y", 3 * kLanes, Scope::kOutput, 0)},
                  {"i", "x"}, for_loop(0, int_imm(0), int_imm(7), row)),
          4);
}

// The divisor changes while the loop runs, or between two loops.
TEST(Invariant, WhatChangesIsReadAnew) {
  const Type type{Dtype::kF32, kLanes}, one{Dtype::kF32, 1};
  const Expr d = binary(kAdd, unary(kSqrt, unary(kAbs, load(1, int_imm(0), one))), imm(1, one));
  const auto line = [&](int i) {
    const Expr at = rows(var(i), kLanes);
    return store(1, at, binary(kDiv, load(0, at, type), broadcast(d, kLanes)));
  };
  const auto change = [&](int i) {
    return store(1, int_imm(0), load(0, rows(var(i), kLanes), one));
  };
  const auto loop = [](int i, int first, Stmt body) {
    return for_loop(i, int_imm(first), int_imm(first + 3), std::move(body));
  };
  const auto run = [](Stmt body) {
    return program(
        {buffer("X", 9 * kLanes, Scope::kInput, 0), buffer("Y", 9 * kLanes, Scope::kOutput, 0)},
        {"i", "j", "k", "l", "m"}, std::move(body));
  };
  const Stmt start = for_loop(4, int_imm(0), int_imm(9),
                              store(1, rows(var(4), kLanes), load(0, rows(var(4), kLanes), type)));
  const auto from = [&](int place) { return store(1, int_imm(0), load(0, int_imm(place), one)); };
  check(run(seq({start, loop(0, 1, line(0)), from(3), loop(1, 4, line(1)), from(4),
                 loop(2, 6, line(2))})),
        4);
  check(
      run(seq({start, loop(0, 1, seq({line(0), change(0)})), loop(1, 4, seq({change(1), line(1)})),
               loop(2, 6, seq({line(2), change(2), line(2)}))})),
      4);
  check(run(seq({start, loop(3, 0, seq({loop(0, 1, line(0)), change(3)}))})), 4);
}

TEST(Invariant, PowersOfTwoByAnInstruction) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64})
    for (const int lanes : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33}) {
      const int far = dtype == Dtype::kF32 ? 150 : 1075, count = 2 * far;
      const Type type{dtype, lanes};
      const Expr at = rows(var(0), lanes);
      const Program p =
          program({buffer("X", std::int64_t{count} * lanes, Scope::kInput, 0, dtype),
                   buffer("N", std::int64_t{count} * lanes, Scope::kInput, 1, dtype),
                   buffer("Y", std::int64_t{count} * lanes, Scope::kOutput, 0, dtype)},
                  {"i"},
                  for_loop(0, int_imm(0), int_imm(count),
                           store(2, at, binary(kScale, load(0, at, type), load(1, at, type)))));
      std::vector<double> x, n;
      for (int i = 0; i < count * lanes; ++i) {
        x.push_back(1 + i % 29 / 32.0);
        n.push_back(i / lanes - far);
      }
      std::vector<interp::Bytes> inputs = {interp::to_storage(p.inputs[0], x),
                                           interp::to_storage(p.inputs[1], n)};
      const auto want = interp::eval_flat(p, inputs);
      ASSERT_TRUE(want) << want.error().text();
      for (const Target& target : runnable_targets()) {
        if (!target.as_cpu().has_avx512_masks) continue;
        const auto module = testing::compile(p, target);
        ASSERT_TRUE(module) << target.text() << ": " << module.error().text();
        const auto got = testing::run_module(**module, p, inputs);
        ASSERT_TRUE(got) << target.text() << ": " << got.error().text();
        EXPECT_EQ(testing::difference(p, *want, *got, 0), "") << target.text() << ", " << lanes;
      }
    }
}

// A formula of 30 operations, twice: the second reads what the first writes, or another place.
TEST(Invariant, LongFormulasInTurns) {
  const Type type{Dtype::kF32, kLanes};
  const auto formula = [&](const Expr& x) {
    Expr sum = x;
    for (int i = 0; i < 15; ++i)
      sum = binary(kAdd, binary(kMul, sum, imm(0.5 - 0.01 * i, type)), imm(0.1 * i, type));
    return sum;
  };
  for (const int from : {0, 1})          // the buffer that the second reads
    for (const int place : {0, 4, 8})    // and where
      for (const int to : {4, 8, 16}) {  // where the second writes to
        const Expr at = rows(var(0), 64);
        const auto plus = [&](int offset) { return binary(kAdd, at, int_imm(offset)); };
        const Stmt clear =
            for_loop(1, int_imm(0), int_imm(192), store(1, var(1), imm(3, {Dtype::kF32, 1})));
        const Stmt body = seq({store(1, plus(0), formula(load(0, plus(8), type))),
                               store(1, plus(to), formula(load(from, plus(place), type)))});
        check(program({buffer("X", 192, Scope::kInput, 0), buffer("Y", 192, Scope::kOutput, 0)},
                      {"i", "j"}, seq({clear, for_loop(0, int_imm(0), int_imm(3), body)})));
      }
}

}  // namespace
}  // namespace lathe
