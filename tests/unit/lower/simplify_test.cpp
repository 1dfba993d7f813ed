// What simplify finds out, one small case each.
#include <gtest/gtest.h>

#include "compiler/lower/passes/passes.h"

namespace lathe::lower {
namespace {

using namespace flat;
using enum BinaryOp;
const Type kF32{Dtype::kF32, 1};

Expr n(std::int64_t v) { return int_imm(v); }
Expr add(Expr a, Expr b) { return binary(kAdd, std::move(a), std::move(b)); }
Expr mul(Expr a, std::int64_t b) { return binary(kMul, std::move(a), n(b)); }
Expr lt(Expr a, Expr b) { return binary(kLt, std::move(a), std::move(b)); }
Stmt loop(int v, std::int64_t begin, std::int64_t end, Stmt body) {
  return for_loop(v, n(begin), n(end), std::move(body));
}
Stmt put(Expr at) { return store(0, std::move(at), imm(1, kF32)); }
Stmt put_masked(Expr at, Expr mask) {
  return store(0, std::move(at), imm(1, {Dtype::kF32, 8}), std::move(mask));
}

const Stmt& run_body(const Program& p) { return p.kernels.at(p.run.at(0)).body; }

std::string simplified(Stmt s) {
  Program p;
  p.outputs = {{.name = "C", .shape = {1024}, .layout = {{0, 1, 1024, 1}}, .size = 1024}};
  p.buffers = {{.name = "C", .size = 1024, .scope = flat::Scope::kOutput}};
  p.vars = {"i", "j", "k"};
  set_run(p, std::move(s));
  const Program out = simplify(p, {});
  const Status legal = verify(out);
  EXPECT_TRUE(legal) << legal.error().text();
  return print(out, run_body(out));
}

const Expr i = var(0), j = var(1);

TEST(Simplify, MinAndMaxOfRanges) {
  EXPECT_EQ(simplified(loop(0, 0, 8, put(binary(kMin, i, n(7))))),
            "for i in 0..8 {\n  C[i] = 1.0\n}\n");
  EXPECT_EQ(simplified(loop(0, 0, 8, put(binary(kMax, i, n(9))))),
            "for i in 0..8 {\n  C[9] = 1.0\n}\n");
  EXPECT_EQ(simplified(loop(0, 0, 8, put(binary(kMin, i, n(6))))),
            "for i in 0..8 {\n  C[min(i, 6)] = 1.0\n}\n");
}

TEST(Simplify, ConditionsOfRanges) {
  const auto tail = [](std::int64_t limit) {
    return loop(0, 0, 4, loop(1, 0, 8, if_then(lt(add(mul(i, 8), j), n(limit)), put(j))));
  };
  EXPECT_EQ(simplified(tail(32)), "for i in 0..4 {\n  for j in 0..8 {\n    C[j] = 1.0\n  }\n}\n");
  EXPECT_EQ(simplified(tail(31)),
            "for i in 0..4 {\n  for j in 0..8 {\n    if i * 8 + j < 31 {\n      C[j] = 1.0\n    "
            "}\n  }\n}\n");
  EXPECT_EQ(simplified(tail(0)), "");
}

TEST(Simplify, FactsOfTheConditionsAround) {
  const Expr inside = lt(add(mul(i, 8), j), n(31));
  EXPECT_EQ(
      simplified(loop(
          0, 0, 4,
          loop(1, 0, 8, if_then(inside, if_then(lt(add(mul(i, 8), j), n(35)), put(j)), put(i))))),
      "for i in 0..4 {\n  for j in 0..8 {\n    if i * 8 + j < 31 {\n      C[j] = 1.0\n    } else "
      "{\n      C[i] = 1.0\n    }\n  }\n}\n");
  // In the else branch the opposite holds, and afterwards neither.
  EXPECT_EQ(simplified(loop(
                0, 0, 8,
                seq({if_then(lt(i, n(4)), put(n(0)), if_then(lt(i, n(3)), put(n(1)), put(n(2)))),
                     if_then(lt(i, n(4)), put(n(3)))}))),
            "for i in 0..8 {\n  if i < 4 {\n    C[0] = 1.0\n  } else {\n    C[2] = 1.0\n  }\n  if "
            "i < 4 {\n    C[3] = 1.0\n  }\n}\n");
}

TEST(Simplify, MasksThatAreFullOrEmpty) {
  const auto masked = [](std::int64_t limit) {
    return loop(0, 0, 4, put_masked(mul(i, 8), lt(ramp(mul(i, 8), 1, 8), broadcast(n(limit), 8))));
  };
  EXPECT_EQ(simplified(masked(32)), "for i in 0..4 {\n  C[i * 8 : 8] = x8(1.0)\n}\n");
  EXPECT_EQ(simplified(masked(31)),
            "for i in 0..4 {\n  C[i * 8 : 8 | ramp(i * 8, 1, 8) < x8(31)] = x8(1.0)\n}\n");
  EXPECT_EQ(simplified(masked(0)), "");
}

TEST(Simplify, QuotientsOfFusedLoops) {
  const auto index = [](BinaryOp op, std::int64_t c) {
    return loop(0, 0, 4, loop(1, 0, 8, put(binary(op, add(mul(i, 8), j), n(c)))));
  };
  const auto in_loops = [](const char* at) {
    return std::string("for i in 0..4 {\n  for j in 0..8 {\n    C[") + at + "] = 1.0\n  }\n}\n";
  };
  EXPECT_EQ(simplified(index(kDiv, 8)), in_loops("i"));
  EXPECT_EQ(simplified(index(kMod, 8)), in_loops("j"));
  EXPECT_EQ(simplified(index(kDiv, 32)), in_loops("0"));
  EXPECT_EQ(simplified(index(kMod, 4)), in_loops("j % 4"));
  EXPECT_EQ(simplified(index(kDiv, 4)), in_loops("i * 2 + j / 4"));
  EXPECT_EQ(simplified(index(kDiv, 5)), in_loops("(i * 8 + j) / 5"));
  // A negative dividend rounds the other way.
  EXPECT_EQ(simplified(loop(0, -4, 4, put(binary(kDiv, mul(i, 8), n(8))))),
            "for i in -4..4 {\n  C[i * 8 / 8] = 1.0\n}\n");
}

TEST(Simplify, LoopsOfOneAndNoIteration) {
  EXPECT_EQ(simplified(loop(0, 3, 4, put(add(i, n(1))))), "C[4] = 1.0\n");
  EXPECT_EQ(simplified(loop(0, 4, 4, put(i))), "");
  EXPECT_EQ(simplified(loop(0, 0, 4, for_loop(1, i, add(i, n(1)), put(j)))),
            "for i in 0..4 {\n  C[i] = 1.0\n}\n");
  EXPECT_EQ(simplified(loop(0, 0, 4, seq({}))), "");
}

TEST(Simplify, Lets) {
  EXPECT_EQ(simplified(loop(0, 0, 4, seq({let(1, mul(i, 2)), let(2, add(j, n(1))), put(i)}))),
            "for i in 0..4 {\n  C[i] = 1.0\n}\n");
  EXPECT_EQ(simplified(loop(0, 0, 4, seq({let(1, i), put(j)}))),
            "for i in 0..4 {\n  C[i] = 1.0\n}\n");
  // Ranges go through them.
  EXPECT_EQ(simplified(loop(0, 0, 4, seq({let(1, mul(i, 8)), if_then(lt(j, n(25)), put(j))}))),
            "for i in 0..4 {\n  let j = i * 8\n  C[j] = 1.0\n}\n");
}

TEST(Simplify, EmptyBranchesGo) {
  EXPECT_EQ(simplified(loop(0, 0, 4, if_then(lt(i, n(2)), if_then(lt(i, n(0)), put(i)), put(i)))),
            "for i in 0..4 {\n  if !(i < 2) {\n    C[i] = 1.0\n  }\n}\n");
}

TEST(Simplify, VectorsThatWereNarrowAreComparedInThirtyTwoBits) {
  const auto compared = [](std::int64_t end) {
    const Expr bits = bitcast(load(0, n(0), {Dtype::kF32, 8}), Dtype::kI32);
    const Expr equal = binary(kEq, cast(bits, Dtype::kI64), broadcast(i, 8));
    return simplified(loop(0, 0, end, put_masked(n(0), equal)));
  };
  EXPECT_EQ(compared(1000).find("i64"), std::string::npos) << compared(1000);
  EXPECT_NE(compared(std::int64_t{1} << 33).find("i64"), std::string::npos);
}

TEST(Simplify, UnchangedKeepsItsPointer) {
  Program p;
  p.outputs = {{.name = "C", .shape = {8}, .layout = {{0, 1, 8, 1}}, .size = 8}};
  p.buffers = {{.name = "C", .size = 8, .scope = flat::Scope::kOutput}};
  p.vars = {"i", "j", "k"};
  set_run(p,
          loop(0, 0, 4,
               seq({let(1, mul(i, 2)), put(binary(kMin, j, n(5))), if_then(lt(i, n(3)), put(j))})));
  EXPECT_EQ(run_body(simplify(p, {})), run_body(p));
}

TEST(Simplify, Regions) {
  EXPECT_EQ(simplified(region({{0, n(0), n(4), put(binary(kMin, i, n(3)))}})),
            simplified(region({{0, n(0), n(4), put(i)}})));
  EXPECT_EQ(simplified(region({{0, n(3), n(4), put(i)}})), simplified(put(n(3))));
  EXPECT_EQ(simplified(region({{0, n(0), n(0), put(i)}, {1, n(0), n(4), put(j)}})),
            simplified(region({{1, n(0), n(4), put(j)}})));
  EXPECT_EQ(simplified(region({{0, n(0), n(4), seq({})}, {1, n(2), n(2), put(j)}})), "");
  // Phases of one iteration stay apart from others: registers are theirs.
  EXPECT_EQ(simplified(region({{0, n(0), n(1), put(i)}, {1, n(0), n(4), put(j)}})),
            "region {\n  for i in 0..1 parallel {\n    C[i] = 1.0\n  }\n  barrier\n"
            "  for j in 0..4 parallel {\n    C[j] = 1.0\n  }\n}\n");
}

std::string joined(Stmt s) {
  Program p;
  p.outputs = {
      {.name = "C", .dtype = Dtype::kI64, .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.buffers = {{.name = "C", .dtype = Dtype::kI64, .size = 64, .scope = flat::Scope::kOutput}};
  p.vars = {"i", "j", "k"};
  set_run(p, std::move(s));
  const Program out = join_regions(p, {});
  const Status legal = verify(out);
  EXPECT_TRUE(legal) << legal.error().text();
  return print(out, run_body(out));
}

TEST(JoinRegions, NeighboursBecomePhases) {
  const auto fill = [](int v) { return flat::For{v, n(0), n(8), store(0, var(v), var(v))}; };
  const auto alone = [&](int v) { return region({fill(v)}); };
  EXPECT_EQ(joined(seq({alone(0), alone(1), alone(2)})),
            joined(region({fill(0), fill(1), fill(2)})));
  const Stmt between = store(0, n(0), n(0));
  EXPECT_EQ(joined(seq({alone(0), between, alone(1), alone(2)})),
            joined(seq({alone(0), between, region({fill(1), fill(2)})})));
  EXPECT_EQ(joined(loop(0, 0, 4, seq({alone(1), alone(2)}))),
            joined(loop(0, 0, 4, region({fill(1), fill(2)}))));
}

TEST(JoinRegions, BoundsThatAPhaseMayChangeStayBehindIt) {
  const Stmt first = region({{0, n(0), n(8), store(0, i, n(3))}});
  const Stmt second =
      region({{1, n(0), load(0, n(0), {Dtype::kI64, 1}), store(0, add(j, n(8)), j)}});
  EXPECT_NE(joined(seq({first, second})).find("}\nfor j in 0..C[0] parallel"), std::string::npos);
}

TEST(Renumber, OrderOfAppearance) {
  Program p;
  p.outputs = {{.name = "C", .shape = {8}, .layout = {{0, 1, 8, 1}}, .size = 8}};
  p.buffers = {{.name = "C", .size = 8, .scope = flat::Scope::kOutput}};
  p.vars = {"a", "b", "c"};
  p.regs = {kF32, kF32};
  set_run(p, loop(2, 0, 8, seq({reg_write(1, imm(1, kF32)), store(0, var(2), reg_read(1, kF32))})));
  Program q = p;
  q.vars = {"c"};
  q.regs = {kF32};
  set_run(q, loop(0, 0, 8, seq({reg_write(0, imm(1, kF32)), store(0, var(0), reg_read(0, kF32))})));
  const Program r = renumber(p, {});
  EXPECT_EQ(print(r), print(q));
  EXPECT_EQ(hash(r), hash(q));
  EXPECT_EQ(run_body(renumber(q, {})), run_body(q));
}

}  // namespace
}  // namespace lathe::lower
