// Tensors with their dimensions in another order: what is computed stays the same.
#include <gtest/gtest.h>

#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

constexpr std::string_view kContraction =
    "A: f32[2,5,3,7]; B: f32[4,7,5,6]\nC[a,b,c,d] = sum(e,f) A[a,e,b,f] * B[c,f,e,d]";
constexpr std::string_view kSums = "X: f32[5,7,3]\nS[j,i] = sum(k) X[i,j,k]\nY[i,j] = S[j,i] + 1.0";

// The blocks in order and the shapes of what they write, as "A.t[2,3,5,7] C[6,4]".
std::string written(std::string_view text, const Trace& trace) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest);
  std::string out;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
    out += (out.empty() ? "" : " ") + block.name + "[";
    const auto& shape = nest.buffers[static_cast<std::size_t>(block.writes)].shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      out += (d > 0 ? "," : "") + std::to_string(nest.sizes.constant_value(shape[d]));
    out += "]";
  }
  return out;
}

TEST(Transpose, TurnsWhatABlockReads) {
  EXPECT_EQ(written(kContraction, {Transpose{"A", "A.t", {0, 2, 1, 3}, "C"}}),
            "A.t[2,3,5,7] C[2,3,4,6]");
  EXPECT_EQ(written(kSums, {Transpose{"S", "S.t", {1, 0}, "Y"}}), "S[7,5] S.t[5,7] Y[5,7]");
  // Reads that leave the tensor, and several of one tensor.
  EXPECT_EQ(written("X: f32[5,6]\nY[i:5,j:6] = X[i,j] + X[i-1,j else 0] * X[i,j+1 else 2]",
                    {Transpose{"X", "X.t", {1, 0}, "Y"}}),
            "X.t[6,5] Y[5,6]");
}

TEST(Transpose, TurnsWhatABlockWrites) {
  EXPECT_EQ(written(kContraction, {Transpose{"C", "C.t", {3, 1, 0, 2}, ""}}),
            "C.t[6,3,2,4] C[2,3,4,6]");
  EXPECT_EQ(written(kSums, {Transpose{"S", "S.t", {1, 0}, ""}, Inline{"S"}}), "S.t[5,7] Y[5,7]");
  EXPECT_EQ(written("X: f32[3]\nS[x:1] = sum(i) X[i]", {Transpose{"S", "S.t", {0}, ""}}),
            "S.t[1] S[1]");
}

TEST(Transpose, MakesAxesThatMerge) {
  const Trace turned = {Transpose{"A", "A.t", {0, 2, 1, 3}, "C"},
                        Transpose{"B", "B.t", {2, 1, 0, 3}, "C"}};
  Trace merged = turned;
  for (Step step : {Merge{{"C.a", "C.b"}}, Merge{{"C.c", "C.d"}}, Merge{{"C.e", "C.f"}}})
    merged.push_back(step);
  EXPECT_EQ(written(kContraction, merged), "B.t[35,24] A.t[6,35] C[6,24]");
  // The result as well, and three axes.
  EXPECT_EQ(written("A: f32[2,5,3]; B: f32[5,4,6]\nC[c,a,d,b] = sum(e) A[a,e,b] * B[e,c,d]",
                    {Transpose{"A", "A.t", {0, 2, 1}, "C"}, Transpose{"C", "C.t", {1, 3, 0, 2}, ""},
                     Merge{{"C.a", "C.b"}}, Merge{{"C.c", "C.d"}}}),
            "A.t[6,5] C.t[6,24] C[4,2,6,3]");
  EXPECT_EQ(written("A: f32[2,3,5,7]; B: f32[5,3,7,2]\nC[a] = sum(b,c,d) A[b,c,d,a] * B[d,c,a,b]",
                    {Transpose{"B", "B.t", {3, 1, 0, 2}, "C"}, Merge{{"C.b", "C.c", "C.d"}}}),
            "B.t[30,7] C[7]");
}

TEST(Transpose, NamesWhatIsWrong) {
  const auto refused = [](Trace trace) { return refusal(kSums, trace); };
  EXPECT_EQ(refused({Transpose{"Z", "t", {0}, ""}}), Refusal::kNoSuchBuffer);
  EXPECT_EQ(refused({Transpose{"S", "X", {1, 0}, "Y"}}), Refusal::kNameTaken);
  EXPECT_EQ(refused({Transpose{"S", "", {1, 0}, "Y"}}), Refusal::kNameTaken);
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{}, {0}, {0, 0}, {1, 2}, {-1, 0}, {0, 1, 2}})
    EXPECT_EQ(refused({Transpose{"S", "t", order, "Y"}}), Refusal::kNotAnOrder);
  EXPECT_EQ(refused({Transpose{"S", "t", {1, 0}, "Z"}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refused({Transpose{"X", "t", {0, 1, 2}, "Y"}}), Refusal::kNotUsedThere);
  EXPECT_EQ(refused({Transpose{"X", "t", {0, 1, 2}, ""}}), Refusal::kNotUsedThere);
  // Rows of S are read while it is computed.
  const std::string kept = "output S: f32[7,5]; " + std::string(kSums);
  EXPECT_EQ(refusal(kept, {ReverseComputeAt{"Y", "S.j"}, Transpose{"S", "t", {1, 0}, "Y"}}),
            Refusal::kBreaksDependence);
  EXPECT_EQ(refusal(kept, {ReverseComputeAt{"Y", "S.j"}, Transpose{"S", "t", {1, 0}, ""}}),
            Refusal::kNotAsWritten);
  EXPECT_EQ(refused({ComputeAt{"S", "Y.i"}, Transpose{"S", "t", {1, 0}, "Y"}}),
            Refusal::kNotAsWritten);
}

}  // namespace
}  // namespace lathe::schedule
