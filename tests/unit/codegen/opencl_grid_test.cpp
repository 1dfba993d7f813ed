// Nests with loops bound to work groups and items, lowered to kernels on grids.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/driver/driver.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/bound_trace.h"
#include "support/check_flat.h"
#include "support/random_workload.h"

namespace lathe {
namespace {

using schedule::Annotate;
using schedule::Split;
using What = Annotate::What;

flat::Program lowered(const std::string& text, const schedule::Trace& trace) {
  const auto program = driver::lowered(*te::parse_workload(text), trace, generic_opencl());
  EXPECT_TRUE(program) << program.error().text();
  return program ? *program : flat::Program{};
}

std::string refusal_of(const std::string& text, const schedule::Trace& trace) {
  const auto program = driver::lowered(*te::parse_workload(text), trace, generic_opencl());
  return program ? "" : program.error().text();
}

Annotate kind(const std::string& loop, ir::LoopKind kind) { return {.loop = loop, .kind = kind}; }

constexpr const char* kProduct = "A: f32[21,7]; B: f32[7,12]; C[i,j] = sum(k) A[i,k] * B[k,j]";
const schedule::Trace kTiled = {
    Split{"C.i", std::int64_t{4}, "io", "ii"}, kind("io", ir::LoopKind::kBlockX),
    kind("ii", ir::LoopKind::kThreadX), kind("C.j", ir::LoopKind::kThreadY)};

TEST(OpenClGrid, BoundLoopsAreIndicesOfTheGridAndTailsAreGuards) {
  EXPECT_EQ(print(lowered(kProduct, kTiled)),
            R"(A: f32[147] input 0
B: f32[84] input 1
C: f32[252] output 0
run on groups x: io < 6, items x: ii < 4, items y: C.j < 12 {
  if io * 4 + ii <= 20 {
    C[io * 48 + ii * 12 + C.j] = 0.0
    for C.k in 0..7 {
      C[io * 48 + ii * 12 + C.j] = fma(A[io * 28 + ii * 7 + C.k], B[C.j + C.k * 12], )"
            R"(C[io * 48 + ii * 12 + C.j])
    }
  }
}
)");
  EXPECT_EQ(check_flat(*te::parse_workload(kProduct), lowered(kProduct, kTiled), 1), "");
}

TEST(OpenClGrid, EachBoundItemIsAKernelAndTheRestOneOfOnePoint) {
  const std::string text =
      "X: f32[6,5]; M[i] = max(j) X[i,j]; E[i,j] = exp(X[i,j] - M[i]); S[i] = sum(j) E[i,j]; "
      "Y[i,j] = E[i,j] / S[i]";
  const flat::Program p =
      lowered(text, {kind("E.i", ir::LoopKind::kBlockX), kind("Y.j", ir::LoopKind::kThreadX)});
  ASSERT_EQ(p.run.size(), 4U);
  EXPECT_TRUE(p.kernels[0].grid.is_single());
  EXPECT_EQ(p.kernels[1].grid.groups[0].count, 6);
  EXPECT_TRUE(p.kernels[2].grid.is_single());
  EXPECT_EQ(p.kernels[3].grid.items[0].count, 5);
  EXPECT_EQ(check_flat(*te::parse_workload(text), p, 1), "");
  EXPECT_NE(print(p).find("run: run0, run1, run2, run3"), std::string::npos) << print(p);
}

TEST(OpenClGrid, ConstantsArePreparedOnGridsOfTheirOwn) {
  const std::string text = "X: f32[6]; const W: f32[6]; V[i] = W[i] * 2; Y[i] = X[i] + V[i]";
  const flat::Program p =
      lowered(text, {kind("V.i", ir::LoopKind::kThreadX), kind("Y.i", ir::LoopKind::kBlockX)});
  ASSERT_EQ(p.prepare.size(), 1U);
  ASSERT_EQ(p.run.size(), 1U);
  EXPECT_EQ(p.kernels[static_cast<std::size_t>(p.prepare[0])].grid.items[0].count, 6);
  EXPECT_EQ(check_flat(*te::parse_workload(text), p, 1), "");
}

TEST(OpenClGrid, AGridIsPartOfTheProgram) {
  const schedule::Trace other = {kTiled[0], kind("io", ir::LoopKind::kBlockY), kTiled[2],
                                 kTiled[3]};
  EXPECT_NE(hash(lowered(kProduct, kTiled)), hash(lowered(kProduct, other)));
}

TEST(OpenClGrid, VerifyFindsFaultsOfGrids) {
  const auto fault = [](const auto& change) {
    flat::Program p = lowered(kProduct, kTiled);
    change(p.kernels[0]);
    const Status verified = flat::verify(p);
    return verified ? "" : verified.error().text();
  };
  EXPECT_EQ(fault([](flat::Kernel&) {}), "");
  EXPECT_EQ(fault([](flat::Kernel& k) { k.grid.items[0].count = 0; }),
            "run: a grid without points");
  EXPECT_EQ(fault([](flat::Kernel& k) { k.grid.items[2].count = 2; }),
            "run: a grid without a variable");
  EXPECT_NE(
      fault([](flat::Kernel& k) { k.grid.items[2] = k.grid.items[0]; }).find("is defined twice"),
      std::string::npos);
  EXPECT_NE(fault([](flat::Kernel& k) {
              k.body = flat::parallel_for(0, flat::int_imm(0), flat::int_imm(2), k.body);
            }).find("a parallel region inside"),
            std::string::npos);
}

TEST(OpenClGrid, VectorsAreNoWiderThanOpenClHasThem) {
  const std::string text = "X: f32[96]; Y[i] = X[i] * 2";
  for (const std::int64_t factor : {2, 3, 4, 8, 16, 32}) {
    const flat::Program p =
        lowered(text, {Split{"Y.i", factor, "io", "il"}, kind("io", ir::LoopKind::kBlockX),
                       kind("il", ir::LoopKind::kVectorized)});
    const bool vector = factor != 3 && factor <= 16;
    EXPECT_EQ(print(p).find(fmt::format(" : {}]", factor)) != std::string::npos, vector)
        << print(p);
    EXPECT_EQ(check_flat(*te::parse_workload(text), p, 1), "");
  }
}

TEST(OpenClGrid, WhatDevicesCannotDoIsRefusedInASentence) {
  EXPECT_EQ(refusal_of(kProduct, {kind("C.i", ir::LoopKind::kParallel)}),
            "loop C.i is parallel, which is for processors; bind it to blockIdx.x or threadIdx.x");
  EXPECT_NE(refusal_of("X: f32[9]; Y[i] = X[i] * 2", {schedule::Stream{"Y"}})
                .find("past a processor's caches"),
            std::string::npos);
  EXPECT_EQ(refusal_of("X: f32[300]; Y[i] = X[i] * 2", {kind("Y.i", ir::LoopKind::kThreadX)}),
            "the loops bound to threadIdx make groups of 300 work items; the device takes 256");
  const std::string two = "X: f32[8,6]; T[i] = sum(j) X[i,j]; Y[i,j] = X[i,j] - T[i]";
  EXPECT_NE(
      refusal_of(two, {schedule::Reorder{{"Y.i", "Y.j"}}, schedule::ComputeAt{"T", "Y.i"},
                       kind("Y.i", ir::LoopKind::kBlockX), kind("Y.j", ir::LoopKind::kThreadX)})
          .find("block T is not inside loop Y.j, which is bound to threadIdx.x"),
      std::string::npos);
  const auto cpu =
      lower::lower(ir::SizedNest(*driver::scheduled(*te::parse_workload(kProduct), kTiled), {}),
                   *parse_target("cpu:x86-64"));
  EXPECT_EQ(cpu.error().text(),
            "loop io is bound to blockIdx.x, which only GPU targets have; annotate it parallel");
}

// The same schedule on a processor; empty if it is right there.
std::string wrong_without_grid(const te::Workload& workload, const RandomSchedule& s,
                               std::uint64_t seed) {
  RandomSchedule plain = s;
  for (ir::Loop& loop : plain.nest.loops)
    if (loop.kind >= ir::LoopKind::kBlockX) loop.kind = ir::LoopKind::kSerial;
  const auto flat =
      lower::lower(ir::SizedNest(plain.nest, plain.knobs), *parse_target("cpu:x86-64"));
  return flat ? check_flat(workload, *flat, seed) : flat.error().text();
}

TEST(OpenClGrid, RandomSchedulesComputeWhatTheirExpressionsSay) {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  const std::uint64_t rounds = asked ? std::strtoull(asked, nullptr, 10) : 300;
  std::uint64_t bound = 0;
  for (std::uint64_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 4'000});
    RandomSchedule s = random_schedule(workload, rng);
    s = with_bound_loops(workload, s, rng);
    const auto flat = lower::lower(ir::SizedNest(s.nest, s.knobs), generic_opencl());
    if (!flat) {
      EXPECT_TRUE(flat.error().kind == ErrorKind::kIllegalSchedule ||
                  flat.error().kind == ErrorKind::kUnsupported)
          << flat.error().text();
      continue;
    }
    bound += std::ranges::any_of(flat->kernels, [](const auto& k) { return !k.grid.is_single(); });
    ASSERT_EQ(check_flat(workload, *flat, seed), "")
        << "seed " << seed << "\n"
        << describe(workload, s) << print(*flat)
        << "on a processor: " << wrong_without_grid(workload, s, seed);
  }
  EXPECT_GE(bound * 2, rounds) << "most schedules should have bound loops";
}

}  // namespace
}  // namespace lathe
