// The card that is not there notices faults: programs by hand whose threads share memory, right and
// with one thing wrong.
#include <gtest/gtest.h>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/nvptx/cards.h"
#include "host_card/host_card.h"
#include "support/sanitized.h"
#include "unit/codegen/small_programs.h"

namespace lathe {
namespace {

using namespace flat;

constexpr int kThreads = 37, kLanes = 4;
constexpr Type kFloat{Dtype::kF32, 1};
constexpr int kX = 0, kY = 1, kS = 2;  // buffers

Expr thread() { return var(0); }
Expr mirrored() { return binary(BinaryOp::kSub, int_imm(kThreads - 1), thread()); }
Expr times_lanes(const Expr& index) { return binary(BinaryOp::kMul, index, int_imm(kLanes)); }

// A block of threads with X, Y of kLanes elements a thread, and S of a group like X.
Program of_block(Stmt body) {
  constexpr std::int64_t kAll = std::int64_t{kThreads} * kLanes;
  Program p = testing::program(
      {testing::buffer("X", kAll, Scope::kInput, 0), testing::buffer("Y", kAll, Scope::kOutput, 0),
       testing::buffer("S", kAll, Scope::kGroup, 0)},
      {"t", "k"}, std::move(body));
  p.kernels[0].grid.items[0] = {kThreads, 0};
  p.group_bytes = 4 * kAll;
  return p;
}

// X[i] = i * i.
Result<std::vector<double>> run(const Program& p, std::uint64_t seed = 1) {
  const Target target{*codegen::cuda_card("sm_80")};
  std::vector<double> x;
  for (int i = 0; i < kThreads * kLanes; ++i) x.push_back(1.0 * i * i);
  const std::vector<interp::Bytes> inputs = {interp::to_storage(p.inputs[0], x)};
  const auto image = LATHE_TRY(codegen::cuda_image(p, target.as_cuda()));
  const auto ir = LATHE_TRY(codegen::cuda_ir(p, target));
  const auto got = LATHE_TRY(testing::run_on_host(ir, image, inputs, seed));
  return interp::from_storage(p.outputs[0], got[0]);
}

std::string refusal(const Program& p) {
  const auto y = run(p);
  return y ? "" : y.error().message;
}

// Each thread's root is of what another stored, and all wait in the loop: slow scalars are computed
// before loops where that is possible, but not here.
TEST(CudaHost, LoadsStayBehindABarrierInALoop) {
  const Expr root = broadcast(unary(UnaryOp::kSqrt, load(kS, mirrored(), kFloat)), kLanes);
  const Program p =
      of_block(seq({store(kS, thread(), load(kX, thread(), kFloat)),
                    for_loop(1, int_imm(0), int_imm(3),
                             seq({barrier(), store(kY, times_lanes(thread()), root)}))}));
  ASSERT_TRUE(verify(p)) << verify(p).error().text();
  const auto y = run(p);
  ASSERT_TRUE(y) << y.error().text();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ((*y)[static_cast<std::size_t>(i) * kLanes], kThreads - 1 - i);
}

// What the mirrored thread stored, or nonsense where it has not yet.
Program reversed(bool waits) {
  std::vector<Stmt> body = {store(kS, thread(), load(kX, thread(), kFloat))};
  if (waits) body.push_back(barrier());
  body.push_back(store(kY, thread(), load(kS, mirrored(), kFloat)));
  return of_block(seq(std::move(body)));
}

int wrong_elements(const Program& p, std::uint64_t seed) {
  const auto y = run(p, seed);
  EXPECT_TRUE(y) << y.error().text();
  int wrong = 0;
  for (int i = 0; y && i < kThreads; ++i) {
    const int from = kThreads - 1 - i;
    wrong += (*y)[static_cast<std::size_t>(i)] == 1.0 * from * from ? 0 : 1;
  }
  return wrong;
}

TEST(CudaHost, AMissingBarrierShowsInWhateverOrderThreadsRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(wrong_elements(reversed(true), seed), 0) << seed;
    EXPECT_GT(wrong_elements(reversed(false), seed), 0) << seed;
  }
}

// Four elements at a time, read by the thread that copied them.
Program copied(bool waits) {
  const Expr first = times_lanes(thread());
  std::vector<Stmt> body = {async_copy(kS, first, kX, first, kLanes), commit_copies()};
  if (waits) body.push_back(await_copies(0));
  body.push_back(store(kY, first, load(kS, first, {Dtype::kF32, kLanes})));
  return of_block(seq(std::move(body)));
}

TEST(CudaHost, ACopyIsThereOnceItIsAwaited) {
  const auto y = run(copied(true)), early = run(copied(false));
  ASSERT_TRUE(y && early);
  for (int i = 0; i < kThreads * kLanes; ++i) {
    EXPECT_EQ((*y)[static_cast<std::size_t>(i)], 1.0 * i * i);
    EXPECT_NE((*early)[static_cast<std::size_t>(i)], 1.0 * i * i);
  }
}

TEST(CudaHost, ThreadsThatDoNotMeetAreAFault) {
  const Expr few = binary(BinaryOp::kLt, thread(), int_imm(5));
  EXPECT_NE(refusal(of_block(if_then(few, barrier()))).find("wait for others"), std::string::npos);
}

TEST(CudaHost, WhatIsWrittenBehindATensorIsAFault) {
  const Expr behind = binary(BinaryOp::kAdd, thread(), int_imm((kLanes - 1) * kThreads + 1));
  const Program p = of_block(store(kY, behind, load(kX, thread(), kFloat)));
  if (test::kSanitized) EXPECT_DEATH((void)run(p), "heap-buffer-overflow");
  else EXPECT_NE(refusal(p).find("wrote behind a tensor"), std::string::npos);
}

TEST(CudaHost, WhatIsWrittenBehindGroupMemoryIsAFaultUnderTheSanitizer) {
  if (!test::kSanitized) GTEST_SKIP() << "shared memory has no bytes behind it that are looked at";
  const Expr behind = binary(BinaryOp::kAdd, thread(), int_imm(kLanes * kThreads));
  const Program p = of_block(seq({store(kS, behind, load(kX, thread(), kFloat)), barrier()}));
  EXPECT_DEATH((void)run(p), "use-after-poison");
}

}  // namespace
}  // namespace lathe
