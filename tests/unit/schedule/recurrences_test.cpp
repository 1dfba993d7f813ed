// Recurrences: steps keep the order in which their stages need each other, or refuse.
#include <gtest/gtest.h>

#include "unit/schedule/kept.h"

namespace lathe::schedule {
namespace {

// A complex first-order recurrence, a filter from the end, and a state that is summed up.
constexpr std::string_view kComplex =
    "X: f32[5,13]; W: f32[5,13]\n"
    "A[i,t] = 0.5 * A[i,t-1 else 1] - 0.25 * B[i,t-1 else 0] + X[i,t]\n"
    "B[i,t] = 0.25 * A[i,t-1 else 1] + 0.5 * B[i,t-1 else 0] + W[i,t]";
constexpr std::string_view kFilter =
    "X: f32[13,6]\n"
    "U[t,i] = X[t,i] + 0.5 * V[t+2,i else -1]\n"
    "V[t,i] = U[t,i] - 0.25 * U[t+1,i else 0] + 0.125 * V[t+1,i else 0]";
constexpr std::string_view kDense =
    "X: f32[7,3,5]; R: f32[5,5]; S: f32[3,5]\n"
    "H[t,n,j] = tanh(X[t,n,j] + (sum(k) select(t == 0, S[n,k], H[t-1,n,k else 0]) * R[j,k]))\n"
    "Y[t,n] = sum(j) H[t,n,j]";
constexpr std::string_view kCell =
    "X: f32[6,2,12]; R: f32[12,3]\noutput C: f32[6,2,3]\n"
    "G[t,n,g] = X[t,n,g] + (sum(k) H[t-1,n,k else 0.5] * R[g,k])\n"
    "C[t,n,j:3] = sigmoid(G[t,n,j]) * C[t-1,n,j else 0] + G[t,n,3+j]*G[t,n,6+j]\n"
    "H[t,n,j:3] = sigmoid(G[t,n,9+j]) * tanh(C[t,n,j])";

// The same cell from the end, and in a single step.
constexpr std::string_view kBackward =
    "X: f32[6,2,12]; R: f32[12,3]\noutput C: f32[6,2,3]\n"
    "G[t,n,g] = X[t,n,g] + (sum(k) H[t+1,n,k else 0.5] * R[g,k])\n"
    "C[t,n,j:3] = sigmoid(G[t,n,j]) * C[t+1,n,j else 0] + G[t,n,3+j]*G[t,n,6+j]\n"
    "H[t,n,j:3] = sigmoid(G[t,n,9+j]) * tanh(C[t,n,j])";
constexpr std::string_view kOneStep =
    "X: f32[1,2,12]; R: f32[12,3]\noutput C: f32[1,2,3]\n"
    "G[t,n,g] = X[t,n,g] + (sum(k) H[t-1,n,k else 0.5] * R[g,k])\n"
    "C[t,n,j:3] = sigmoid(G[t,n,j]) * C[t-1,n,j else 0] + G[t,n,3+j]*G[t,n,6+j]\n"
    "H[t,n,j:3] = sigmoid(G[t,n,9+j]) * tanh(C[t,n,j])";

TEST(Recurrences, RunAsTheyAreWritten) {
  for (const std::string_view text : {kComplex, kFilter, kDense, kCell, kBackward, kOneStep})
    expect_kept(text, {});
  EXPECT_EQ(after("X: f32[4]\nA[t] = B[t-1 else 0] + X[t]\nB[t] = A[t] * 0.5", {}),
            "X: input f32[4]\n"
            "B: output f32[4]\n"
            "A: memory f32[4]\n"
            "for A.t < 4:\n"
            "  A: A[t] = B[t - 1 else 0] + X[t]  where t = A.t < 4\n"
            "  B: B[t] = A[t] * 0.5  where t = A.t < 4\n");
}

TEST(Recurrences, KeepWhatStepsMake) {
  for (const ir::Tail tail : {ir::Tail::kPeel, ir::Tail::kMask}) {
    expect_kept(kComplex, {split("A.t", 4, tail), split("A.i", 2, tail),
                           Reorder{{"A.t.o", "A.i.o", "A.t.i", "A.i.i"}},
                           kind("A.i.i", ir::LoopKind::kUnrolled)});
    expect_kept(kFilter,
                {split("U.i", 4, tail), Reorder{{"U.i.o", "U.t", "U.i.i"}},
                 kind("U.i.i", ir::LoopKind::kVectorized), kind("U.i.o", ir::LoopKind::kParallel)});
    for (const std::string_view cell : {kCell, kBackward, kOneStep}) {
      expect_kept(cell, {split("G_acc.g", 4, tail), Reorder{{"G_acc.g.o", "G_acc.k", "G_acc.g.i"}},
                         kind("G_acc.g.i", ir::LoopKind::kVectorized),
                         kind("G_acc.g.o", ir::LoopKind::kParallel)});
      expect_kept(cell, {split("G_acc.g", 4, tail), Reorder{{"G_acc.g.o", "G_acc.k", "G_acc.g.i"}},
                         Cache{"G_acc", "g", "G_acc.g.o", ir::Scope::kRegister, {}},
                         ReverseComputeAt{"G", "G_acc.g.o"}});
    }
    expect_kept(kBackward, {split("G_acc.t.step", 4, tail)});
  }
  for (const std::string_view cell : {kCell, kBackward, kOneStep}) {
    expect_kept(cell, {Cache{"R", "r", "G_acc.t.step", ir::Scope::kMemory, {{1, 1}, {0, 1}}}});
    expect_kept(cell, {Cache{"G_acc", "g", "G_acc.n", ir::Scope::kMemory, {}}});
    expect_kept(cell, {Cache{"H", "h", "", ir::Scope::kMemory, {{2, 1}, {0, 1}, {1, 1}}}});
    expect_kept(cell, {Cache{"H", "h", "G_acc.n", ir::Scope::kMemory, {}}});  // of the step before
  }
  expect_kept(kDense, {split("H_acc.t.step", 2)});
}

TEST(Recurrences, RefuseWhatBreaksTheirOrder) {
  for (const ir::LoopKind k : {ir::LoopKind::kVectorized, ir::LoopKind::kParallel,
                               ir::LoopKind::kBlockX, ir::LoopKind::kThreadX}) {
    EXPECT_EQ(refusal(kComplex, {kind("A.t", k)}), Refusal::kBreaksScan);
    for (const std::string_view cell : {kCell, kBackward})
      EXPECT_EQ(refusal(cell, {kind("G_acc.t.step", k)}), Refusal::kBreaksScan);
  }
  for (const std::string_view cell : {kCell, kBackward})
    EXPECT_EQ(
        refusal(cell, {split("G_acc.t.step", 4), Reorder{{"G_acc.t.step.i", "G_acc.t.step.o"}}}),
        Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kFilter, {split("U.t", 4), Reorder{{"U.t.i", "U.t.o"}}}), Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kFilter, {split("U.t", 4, ir::Tail::kShift)}), Refusal::kBreaksScan);
  for (const std::string_view cell : {kCell, kBackward})
    EXPECT_EQ(refusal(cell, {Cache{"H", "h", "G_acc.t.step", ir::Scope::kMemory, {}}}),
              Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kComplex, {Cache{"A", "a", "A.t", ir::Scope::kMemory, {}}}),
            Refusal::kBreaksScan);
  EXPECT_EQ(refusal(kComplex, {Stream{"A"}}), Refusal::kReadAgain);
}

}  // namespace
}  // namespace lathe::schedule
