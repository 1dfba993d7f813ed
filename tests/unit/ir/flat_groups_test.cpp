// What the items of a group do together: text, equality, and the verifier's refusals.
#include <gtest/gtest.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {
namespace {

using enum BinaryOp;
const Type kReal{Dtype::kF32, 1};
constexpr int kInput = 0, kOutput = 1, kGroup = 2, kThread = 3;  // buffers

// A[64], C[64], G[64] of the group, S[4] of an item; r0 f32, r1 f32 x 4, r2 bool; groups along g,
// 64 items along t; i, j.
Program on_grid(Stmt body) {
  Program p;
  p.inputs = {{.name = "A", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.outputs = {{.name = "C", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
  p.buffers = {{.name = "A", .size = 64, .scope = Scope::kInput},
               {.name = "C", .size = 64, .scope = Scope::kOutput},
               {.name = "G", .size = 64, .scope = Scope::kGroup},
               {.name = "S", .size = 4, .scope = Scope::kThread}};
  p.group_bytes = 256, p.thread_bytes = 16;
  p.vars = {"g", "t", "i", "j"};
  p.regs = {kReal, {Dtype::kF32, 4}, {Dtype::kBool, 1}};
  set_run(p, std::move(body));
  p.kernels[0].grid.groups[0] = {2, 0};
  p.kernels[0].grid.items[0] = {64, 1};
  return p;
}

Expr n(std::int64_t value) { return int_imm(value); }
Expr group() { return var(0); }
Expr item() { return var(1); }
Expr at(int buffer, Expr index) { return load(buffer, std::move(index), kReal); }
Stmt loop(int v, Expr end, Stmt body) { return for_loop(v, n(0), std::move(end), std::move(body)); }
Stmt copy(int lanes, Expr condition = nullptr) {
  return async_copy(kGroup, n(0), kInput, n(4), lanes, std::move(condition));
}
// Whether it is the first item of its group.
Expr first() { return binary(kEq, item(), n(0)); }

Stmt all_together() {
  return seq({copy(4, binary(kLt, group(), n(1))), copy(1), commit_copies(), await_copies(1),
              await_copies(0), barrier(), exchange(0, at(kGroup, item()), 16),
              store(kOutput, item(), reg_read(0, kReal))});
}

TEST(FlatGroups, Text) {
  const Program p = on_grid(all_together());
  ASSERT_TRUE(verify(p)) << verify(p).error().text();
  EXPECT_EQ(print(p), R"(A: f32[64] input 0
C: f32[64] output 0
G: f32[64] group 0
S: f32[4] thread 0
regs: r0 f32 r1 f32x4 r2 bool
run on groups x: g < 2, items x: t < 64 {
  copy G[0 : 4] = A[4 : 4] if g < 1
  copy G[0] = A[4]
  commit copies
  await copies but the last 1
  await copies
  barrier
  r0 = exchange(G[t], 16)
  C[t] = r0
}
)");
}

TEST(FlatGroups, EqualStructureEqualHash) {
  const auto equal_to = [](const Stmt& a, const Stmt& b) {
    return a->hash == b->hash && equal(a, b);
  };
  EXPECT_TRUE(equal_to(all_together(), all_together()));
  EXPECT_FALSE(equal(copy(1), copy(2)));
  EXPECT_FALSE(equal(copy(1), copy(1, first())));
  EXPECT_TRUE(equal(copy(1), copy(1, int_imm(1, Dtype::kBool))));
  EXPECT_FALSE(equal(copy(1), async_copy(kGroup, n(1), kInput, n(4), 1)));
  EXPECT_FALSE(equal(copy(1), async_copy(kGroup, n(0), kOutput, n(4), 1)));
  EXPECT_FALSE(equal(barrier(), commit_copies()));
  EXPECT_FALSE(equal(await_copies(0), await_copies(1)));
  EXPECT_FALSE(equal(exchange(0, at(kInput, n(0)), 1), exchange(0, at(kInput, n(0)), 2)));
  EXPECT_FALSE(equal(exchange(0, at(kInput, n(0)), 1), exchange(1, at(kInput, n(0)), 1)));
  Program a = on_grid(barrier()), b = a;
  EXPECT_EQ(hash(a), hash(b));
  b.group_bytes += 64;
  EXPECT_NE(hash(a), hash(b));
}

TEST(FlatGroups, RewritingReachesAllParts) {
  const Stmt s = all_together();
  int seen = 0;
  const auto moved = [&](const auto& self, const Stmt& x) -> Stmt {
    return map_parts(
        x,
        [&](const Expr& e) {
          ++seen;
          return e->type == Type{Dtype::kI64, 1} ? binary(kAdd, e, n(1)) : e;
        },
        [&](const Stmt& y) { return self(self, y); });
  };
  const Program p = on_grid(moved(moved, s));
  EXPECT_EQ(seen, 8);  // of two copies five, of the exchange one, of the store two
  EXPECT_NE(print(p).find("copy G[1 : 4] = A[5 : 4] if g < 1"), std::string::npos) << print(p);
  int parts = 0;
  each_part(*copy(4, first()), [&](const Expr&) { ++parts; }, [](const Stmt&) {});
  EXPECT_EQ(parts, 3);
  const auto same = [](const auto& self, const Stmt& x) -> Stmt {
    return map_parts(
        x, [](const Expr& e) { return e; }, [&](const Stmt& y) { return self(self, y); });
  };
  EXPECT_EQ(same(same, s), s);
}

TEST(FlatGroups, ContentsTellOfThem) {
  for (const Stmt& s : {barrier(), copy(1), commit_copies(), await_copies(0),
                        exchange(0, at(kInput, n(0)), 1), loop(2, n(3), barrier())})
    EXPECT_NE(s->contents & contents::kTogether, 0);
  EXPECT_EQ(store(kOutput, n(0), imm(0, kReal))->contents & contents::kTogether, 0);
}

TEST(FlatGroups, AKernelNeedsWhatItTouches) {
  Program p = on_grid(seq({store(kGroup, item(), imm(0, kReal)), barrier()}));
  p.buffers.push_back({.name = "H", .size = 8, .scope = Scope::kGroup, .slot = 256});
  p.buffers.push_back({.name = "U", .size = 8, .scope = Scope::kGroup, .slot = 320});
  p.group_bytes = 352;
  Kernel second = p.kernels[0];
  second.name = "second";
  second.body = async_copy(4, n(0), kInput, n(0), 4);
  Kernel third = second;
  third.name = "third";
  third.body = store(kOutput, item(), at(5, n(0)));
  EXPECT_EQ(group_bytes_of(p, p.kernels[0]), 256);
  EXPECT_EQ(group_bytes_of(p, second), 288);
  EXPECT_EQ(group_bytes_of(p, third), 352);
  third.body = store(kOutput, item(), imm(0, kReal));
  EXPECT_EQ(group_bytes_of(p, third), 0);
}

// Control flow that is the same for all items: over constants, groups and loops of these.
TEST(FlatGroups, MeetingUnderEqualControlFlow) {
  const Stmt body = seq({let(3, binary(kAdd, group(), n(1))),
                         loop(2, var(3),
                              if_then(binary(kLt, binary(kAdd, var(2), group()), n(2)),
                                      seq({barrier(), copy(1, first())}))),
                         if_then(first(), seq({copy(1), commit_copies(), await_copies(0)}))});
  EXPECT_TRUE(verify(on_grid(body))) << verify(on_grid(body)).error().text();
}

struct Refused {
  const char* name;
  Program program;
  const char* message;
};
class FlatGroupsVerify : public ::testing::TestWithParam<Refused> {};
TEST_P(FlatGroupsVerify, Refuses) {
  const Status status = verify(GetParam().program);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find(GetParam().message), std::string::npos)
      << status.error().text();
}

Program changed(Stmt body, void (*change)(Program& p)) {
  Program p = on_grid(std::move(body));
  change(p);
  return p;
}
void run_once(Program& p) {
  p.kernels[0].grid = {};
  p.regs.clear();
}
void without_items(Program& p) { p.kernels[0].grid.items[0] = {}; }

const Stmt kPut = store(kOutput, n(0), imm(0, kReal));
std::vector<Refused> refusals() {
  const Stmt meet = barrier();
  const Expr data = binary(kLt, at(kInput, group()), imm(1, kReal));
  const Expr from_data = cast(at(kInput, n(0)), Dtype::kI64);
  const Stmt give = exchange(0, at(kInput, n(0)), 1);
  const auto masked = [](int mask) { return on_grid(exchange(0, at(kInput, n(0)), mask)); };
  return {
      {"BarrierInAKernelThatRunsOnce", changed(meet, run_once), "a barrier where no group has"},
      {"BarrierWithoutItems", changed(meet, without_items), "a barrier where no group has items"},
      {"BarrierInARegion", changed(parallel_for(2, n(0), n(4), meet), run_once),
       "a barrier where no group has items"},
      {"BarrierOfSomeItems", on_grid(if_then(first(), meet)), "not all items of a group come"},
      {"BarrierOfTheOthers", on_grid(if_then(first(), kPut, meet)), "a barrier where not all"},
      {"BarrierByData", on_grid(if_then(data, meet)), "a barrier where not all"},
      {"BarrierByALet",
       on_grid(seq({let(2, binary(kMul, item(), n(2))), if_then(binary(kLt, var(2), n(8)), meet)})),
       "a barrier where not all"},
      {"BarrierInALoopOfItems", on_grid(loop(2, item(), meet)), "a barrier where not all"},
      {"BarrierInALoopByData", on_grid(loop(2, from_data, meet)), "a barrier where not all"},
      {"BarrierByALoopOfItems", on_grid(loop(2, item(), loop(3, var(2), meet))),
       "a barrier where not all"},
      {"ExchangeOfSomeItems", on_grid(if_then(first(), give)), "an exchange where not all"},
      {"ExchangeWithItself", masked(0), "by the mask 0"},
      {"ExchangeBeyondTheWarp", masked(32), "by the mask 32"},
      {"ExchangeInPartsOfWarps",
       changed(give, [](Program& p) { p.kernels[0].grid.items[0].count = 48; }), "whole warps"},
      {"ExchangeOfVectors", on_grid(exchange(1, imm(0, {Dtype::kF32, 4}), 1)), "of f32 x 4"},
      {"ExchangeOfBools", on_grid(exchange(2, int_imm(1, Dtype::kBool), 1)), "exchange of bool"},
      {"ExchangeOfAnotherType", on_grid(exchange(0, n(1), 1)), "register 0 holds f32, not i64"},
      {"CopyOfThreeElements", on_grid(copy(3)), "an asynchronous copy of 12 bytes"},
      {"CopyOfEight", on_grid(copy(8)), "an asynchronous copy of 32 bytes"},
      {"CopyToAnOutput", on_grid(async_copy(kOutput, n(0), kInput, n(0), 1)),
       "to C, which is not the memory of a group"},
      {"CopyWithinTheGroup", on_grid(async_copy(kGroup, n(0), kGroup, n(4), 1)),
       "from G, which not all groups see"},
      {"CopyFromAThread", on_grid(async_copy(kGroup, n(0), kThread, n(0), 1)),
       "from S, which not all groups see"},
      {"CopyToAVectorOfPlaces", on_grid(async_copy(kGroup, ramp(n(0), 2, 4), kInput, n(0), 4)),
       "vectors of indices"},
      {"CopyOnAnInteger", on_grid(copy(1, item())), "on a condition of type i64"},
      {"CopyInAKernelThatRunsOnce", changed(copy(1), run_once), "where no group has items"},
      {"BatchWithoutItems", changed(commit_copies(), without_items), "where no group has items"},
      {"WaitWithoutItems", changed(await_copies(0), without_items), "where no group has items"},
      {"WaitForMoreThanAll", on_grid(await_copies(-1)), "all but -1"},
      {"GroupMemoryWithoutItems", changed(store(kGroup, n(0), imm(0, kReal)), without_items),
       "a store of G, the memory of"},
      {"GroupMemoryInAKernelThatRunsOnce",
       changed(store(kOutput, n(0), at(kGroup, n(0))), run_once), "a load of G, the memory of"},
      {"GroupBytes", changed(kPut, [](Program& p) { p.group_bytes = 252; }),
       "buffer G takes bytes 0 to 256 of 252 group bytes"},
      {"PrepareCopiesWhatIsNotConstant",
       changed(seq({copy(1), barrier()}),
               [](Program& p) {
                 p.kernels.push_back(p.kernels[0]);
                 p.kernels[1].name = "prepare";
                 p.prepare = {1};
               }),
       "prepare copies from A, which is not constant"},
  };
}
INSTANTIATE_TEST_SUITE_P(All, FlatGroupsVerify, ::testing::ValuesIn(refusals()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lathe::flat
