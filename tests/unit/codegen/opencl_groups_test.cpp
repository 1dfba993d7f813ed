// Programs whose work items share local memory: their text, what is refused, and random ones run on
// this machine's OpenCL device. Without a device they are only translated.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/codegen/opencl/codegen.h"
#include "compiler/lower/pipeline.h"
#include "support/opencl_runner.h"
#include "unit/interp/random_groups.h"

namespace lathe {
namespace {

using namespace flat;
using testing::OpenClRunner;
const Type kReal{Dtype::kF32, 1};

Border plain(const char* name, std::int64_t size) {
  return {.name = name, .shape = {size}, .layout = {{0, 1, size, 1}}, .size = size};
}

// A[12] in, C[12] out, G[4] of groups of four items.
Program in_groups(Stmt body) {
  Program p;
  p.inputs = {plain("A", 12)};
  p.outputs = {plain("C", 12)};
  p.buffers = {{.name = "A", .size = 12, .scope = Scope::kInput},
               {.name = "C", .size = 12, .scope = Scope::kOutput},
               {.name = "G", .size = 4, .scope = Scope::kGroup}};
  p.group_bytes = 16;
  p.vars = {"g", "t"};
  p.regs = {kReal};
  set_run(p, std::move(body));
  p.kernels[0].grid.groups[0] = {3, 0};
  p.kernels[0].grid.items[0] = {4, 1};
  return p;
}
Expr item() { return var(1); }
Expr point() { return binary(BinaryOp::kAdd, binary(BinaryOp::kMul, var(0), int_imm(4)), var(1)); }
Program reversed() {
  const Expr other = binary(BinaryOp::kSub, int_imm(3), item());
  return in_groups(seq({store(2, item(), load(0, point(), kReal)), flat::barrier(),
                        store(1, point(), load(2, other, kReal))}));
}

OpenClTarget device() {
  OpenClTarget target = *codegen::opencl_device("generic");
  target.fp64 = true;
  return target;
}
std::string refused(const Program& p, const OpenClTarget& target = device()) {
  const auto image = codegen::opencl_image(p, target);
  return image ? "" : image.error().text();
}

TEST(OpenClGroups, Text) {
  const auto image = codegen::opencl_image(reversed(), device());
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->source, R"(#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void lathe_run(__global const float* restrict A, __global float* restrict C) {
  const long g = get_group_id(0);
  const long t = get_local_id(0);
  __local uchar lathe_group[16] __attribute__((aligned(64)));
  __local float* G = (__local float*)(lathe_group + 0);
  G[t] = A[(g * 4L) + t];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  C[(g * 4L) + t] = G[(t * (-1L)) + 3L];
}
)");
  EXPECT_EQ(image->local_bytes, 16);
}

TEST(OpenClGroups, MoreLocalMemoryThanThereIsIsRefused) {
  OpenClTarget small = device();
  small.local_bytes = 12;
  EXPECT_EQ(refused(reversed(), small),
            "the groups of kernel run need 16 bytes of local memory, and opencl:generic has 12; "
            "keep less of what is staged");
}

TEST(OpenClGroups, WhatNoDeviceDoesIsRefused) {
  EXPECT_EQ(refused(in_groups(async_copy(2, item(), 0, point(), 1))),
            "the device copies nothing while it computes");
  Program warp = in_groups(exchange(0, load(0, item(), kReal), 1));
  warp.kernels[0].grid.items[0].count = 32;
  EXPECT_EQ(refused(warp), "the device's work items exchange no registers");
}

std::uint64_t rounds() {
  const char* asked = std::getenv("LATHE_OPENCL_ROUNDS");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  constexpr std::uint64_t kPlain = 40, kLonger = 1000;
  return std::getenv("LATHE_TEST_LONG") != nullptr ? kLonger : kPlain;
}

// What is wrong with a program's results; nothing without a device, or where that lacks f64.
std::string wrong(const OpenClRunner* runner, const testing::GroupProgram& g) {
  const auto p = lower::run_passes(g.program, Target{device()});
  if (!p) return p.error().text();
  const auto image = codegen::opencl_image(*p, device());
  if (!image) return image.error().text();
  if (runner == nullptr) return "";
  if (!std::ranges::all_of(image->extensions,
                           [&](const std::string& e) { return runner->has_extension(e); }))
    return "";
  const auto got = runner->run(*image, g.inputs);
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < got->size(); ++o)
    if (interp::from_storage(p->outputs[o], (*got)[o]) != g.want[o])
      return fmt::format("output {} is another\n{}", o, image->source);
  return "";
}

TEST(OpenClGroups, RandomProgramsAreRight) {
  const auto runner = OpenClRunner::open();
  for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
    const auto g = testing::random_groups(seed, {.copies = false, .exchanges = false});
    ASSERT_EQ(wrong(runner ? &*runner : nullptr, g), "") << "seed " << seed << "\n"
                                                         << print(g.program);
  }
  if (!runner) GTEST_SKIP() << runner.error().message << ": programs were translated, none was run";
}

}  // namespace
}  // namespace lathe
