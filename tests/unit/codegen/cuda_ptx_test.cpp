// What the back end for cards makes of programs, and what NVIDIA's assembler says of it.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/nvptx/cards.h"
#include "compiler/driver/driver.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/pipeline.h"
#include "compiler/te/parse.h"
#include "support/bound_trace.h"
#include "support/ptxas.h"
#include "support/random_workload.h"
#include "unit/interp/random_flat.h"
#include "unit/interp/random_groups.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Split;

constexpr std::uint64_t kFew = 12, kMany = 200;
std::uint64_t rounds() { return std::getenv("LATHE_TEST_LONG") != nullptr ? kMany : kFew; }

Target card(const std::string& name) { return Target{*codegen::cuda_card(name)}; }

cuda::Image image_of(const flat::Program& program, const Target& target) {
  const auto image = codegen::cuda_image(program, target.as_cuda());
  EXPECT_TRUE(image) << image.error().text() << "\n" << print(program);
  return image ? *image : cuda::Image{};
}

std::vector<testing::AssembledKernel> assembled(const flat::Program& program,
                                                const std::string& architecture) {
  const cuda::Image image = image_of(program, card(architecture));
  const auto kernels = testing::assemble(image.ptx, architecture);
  EXPECT_TRUE(kernels) << kernels.error().text() << "\n" << image.ptx;
  return kernels ? *kernels : std::vector<testing::AssembledKernel>{};
}

Annotate bound(const char* loop, ir::LoopKind kind) { return {.loop = loop, .kind = kind}; }

flat::Program lowered(const std::string& text, const schedule::Trace& trace, const Target& target) {
  const auto program = driver::lowered(*te::parse_workload(text), trace, target);
  EXPECT_TRUE(program) << program.error().text();
  return program ? *program : flat::Program{};
}

// Each thread has four neighbouring sums.
flat::Program product(const Target& target) {
  return lowered(
      "A: f32[64,32]; B: f32[32,128]; C[i,j] = sum(k) A[i,k] * B[k,j]",
      {Split{"C.j", std::int64_t{4}, "jo", "jl"}, schedule::Reorder{{"C.i", "jo", "C.k", "jl"}},
       schedule::Cache{.buffer = "C", .name = "acc", .loop = "jo", .scope = ir::Scope::kRegister},
       bound("acc.d1", ir::LoopKind::kVectorized), bound("jl", ir::LoopKind::kVectorized),
       bound("C.i", ir::LoopKind::kBlockX), bound("jo", ir::LoopKind::kThreadX)},
      target);
}

TEST(CudaPtx, ReadsAndWritesWholeVectorsAndWhatIsUnchangedThroughItsCache) {
  const cuda::Image image = image_of(product(card("sm_80")), card("sm_80"));
  EXPECT_NE(image.ptx.find(".target sm_80"), std::string::npos) << image.ptx;
  EXPECT_NE(image.ptx.find(".version 7.0"), std::string::npos);
  EXPECT_NE(image.ptx.find("ld.global.nc.v4.f32"), std::string::npos) << image.ptx;
  EXPECT_NE(image.ptx.find("st.global.v4.f32"), std::string::npos);
  EXPECT_NE(image.ptx.find("fma.rn.f32"), std::string::npos);
  EXPECT_NE(image.ptx.find(".maxntid 32, 1, 1"), std::string::npos);
  EXPECT_EQ(image.ptx.find(".ftz"), std::string::npos);
  ASSERT_EQ(image.run.size(), 1U);
  EXPECT_EQ(image.run[0].groups[0], 64);
  EXPECT_EQ(image.run[0].items[0], 32);
  EXPECT_EQ(image.inputs, (std::vector<std::int64_t>{64 * 32 * 4, 32 * 128 * 4}));
}

// Sums of indices of 64 bits would take twice the instructions and registers.
TEST(CudaPtx, IndicesHave32BitsWhereTheTensorsAreSmallEnough) {
  const std::string ptx = image_of(product(card("sm_80")), card("sm_80")).ptx;
  EXPECT_EQ(ptx.find("mul.lo.s64"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("setp.lt.s64"), std::string::npos) << ptx;
  const std::string large =
      image_of(lowered("X: f32[70000,70000]; Y[i,j] = X[i,j] + 1",
                       {Split{"Y.j", std::int64_t{128}, "jo", "ji"},
                        bound("Y.i", ir::LoopKind::kBlockX), bound("ji", ir::LoopKind::kThreadX)},
                       card("sm_80")),
               card("sm_80"))
          .ptx;
  EXPECT_NE(large.find("mul.wide.s32"), std::string::npos) << large;
}

TEST(CudaPtx, GridsOfMoreThan65535AlongYAndZAreLaunchedAlongX) {
  const auto program =
      lowered("X: f32[3,70001,2]; Y[i,j,k] = X[i,j,k] * 2",
              {bound("Y.i", ir::LoopKind::kBlockX), bound("Y.j", ir::LoopKind::kBlockY),
               bound("Y.k", ir::LoopKind::kBlockZ)},
              card("sm_80"));
  const cuda::Image image = image_of(program, card("sm_80"));
  ASSERT_EQ(image.run.size(), 1U);
  EXPECT_EQ(image.run[0].groups, (std::array<std::int64_t, 3>{3LL * 70001 * 2, 1, 1}));
}

TEST(CudaPtx, VersionsAreAsLowAsTheArchitectureAllows) {
  const std::pair<const char*, const char*> kVersions[] = {{"sm_75", "6.3"}, {"sm_80", "7.0"},
                                                           {"sm_86", "7.1"}, {"sm_87", "7.4"},
                                                           {"sm_89", "7.8"}, {"sm_90", "7.8"}};
  for (const auto& [architecture, version] : kVersions) {
    const Target target = card(architecture);
    const std::string ptx = image_of(product(target), target).ptx;
    EXPECT_NE(ptx.find(fmt::format(".version {}", version)), std::string::npos) << architecture;
    EXPECT_EQ(assembled(product(target), architecture).size(), 1U);
  }
}

TEST(CudaPtx, ImagesComeBackFromTheirBytes) {
  const cuda::Image image = image_of(product(card("A100")), card("A100"));
  const auto again = cuda::image_from(cuda::bytes_of(image));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, image);
}

TEST(CudaPtx, WhatACardCannotDoIsRefused) {
  flat::Program program = product(card("sm_80"));
  program.kernels[0].grid.groups[0].count = 1LL << 31;
  const auto image = codegen::cuda_image(program, card("sm_80").as_cuda());
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find("2^31 - 1 groups"), std::string::npos);
}

TEST(CudaPtx, ScheduledExpressionsAssemble) {
  int ran = 0;
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 10'000});
    RandomSchedule s = random_schedule(workload, rng);
    s = with_bound_loops(workload, s, rng);
    const std::string architecture = seed % 2 == 0 ? "sm_80" : "sm_90";
    const auto program = lower::lower(ir::SizedNest(s.nest, s.knobs), card(architecture));
    if (!program) continue;
    const auto kernels = assembled(*program, architecture);
    EXPECT_EQ(kernels.size(), program->kernels.size()) << "seed " << seed;
    for (const auto& kernel : kernels) EXPECT_LE(kernel.registers, 255) << kernel.name;
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

TEST(CudaPtx, FlatProgramsOfAllTypesAssemble) {
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 1; ran < rounds(); ++seed) {
    Rng rng(seed);
    const flat::Program original = testing::random_flat(rng, {.halves = seed % 2 == 0});
    const std::string text = print(original);
    if (text.contains(" parallel") || text.contains("region")) continue;
    const std::string architecture = seed % 3 == 0 ? "sm_75" : seed % 3 == 1 ? "sm_80" : "sm_90";
    const auto program = lower::run_passes(original, card(architecture));
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(assembled(*program, architecture).size(), program->kernels.size()) << seed;
    ++ran;
  }
}

// Dynamic shared memory is asked for at launch: the assembler counts none.
TEST(CudaPtx, ProgramsOfGroupsAssemble) {
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
    const auto made = testing::random_groups(seed, {.copies = seed % 2 == 0});
    const std::string architecture = seed % 2 == 0 ? "sm_90" : "sm_75";
    const cuda::Image image = image_of(made.program, card(architecture));
    const auto kernels = testing::assemble(image.ptx, architecture);
    ASSERT_TRUE(kernels) << kernels.error().text() << "\n" << image.ptx;
    for (const auto& kernel : *kernels) EXPECT_EQ(kernel.shared_bytes, 0) << kernel.name;
    for (const auto& launch : image.run) EXPECT_GE(launch.group_bytes, 0);
  }
}

}  // namespace
}  // namespace lathe
