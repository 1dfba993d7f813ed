// Expressions that are computed once and kept: what is computed stays the same.
#include <gtest/gtest.h>

#include "compiler/schedule/parts.h"
#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

// The shape of the buffer that holds the values, with what its block computes.
std::string kept(std::string_view text, const std::string& block, std::int64_t expression) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, {Precompute{block, expression, "K"}});
  expect_same(program(text), nest);
  std::string out;
  const ir::Buffer& buffer = nest.buffers[static_cast<std::size_t>(nest.find_buffer("K"))];
  for (const ir::SizeId size : buffer.shape)
    out += (out.empty() ? "" : ",") + std::to_string(nest.sizes.constant_value(size));
  return out + (buffer.constant ? " constant" : "");
}

TEST(Precompute, HasAnAxisForEachIteratorOrForWhatReadsHaveInCommon) {
  const std::string product = "X: f32[5,7]; W: f32[7,3]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]";
  EXPECT_EQ(kept(product, "Y", 1), "5,7");
  EXPECT_EQ(kept(product, "Y", 0), "5,7,3");
  EXPECT_EQ(kept("X: f32[9]; W: f32[3]\nY[y] = sum(r) exp(X[y+r]) * W[r]", "Y", 1), "9");
  EXPECT_EQ(kept("X: f32[9]; W: f32[3]\nY[y] = sum(r) exp(X[2*y+2*r+1]) * W[r]", "Y", 1), "4");
  EXPECT_EQ(kept("X: f32[9]; W: f32[3]\nY[y:2] = sum(r) exp(X[8-3*y-2*r]) * W[r]", "Y", 1), "2,3");
  EXPECT_EQ(kept("X: f32[9]; W: f32[3]\nY[y:3] = sum(r) exp(X[8-2*y-r]) * W[r]", "Y", 1), "7");
  // Two places of a tensor that are always as far apart have one axis in common.
  EXPECT_EQ(kept("X: f32[9]; W: f32[3]\nY[y] = sum(r) exp(X[y+r]-X[y+r+1]) * W[r]", "Y", 1), "8");
  // By iterators there are fewer: 2 x 3 against 6 x 5.
  EXPECT_EQ(kept("X: f32[9,9]\nY[y:2,z:4] = sum(r:3) exp(X[5*y,y+2*r])", "Y", 0), "2,3");
}

TEST(Precompute, KeepsWhatIsReadBesideATensor) {
  EXPECT_EQ(kept("X: f32[5]; W: f32[3]\nY[y:5] = sum(r) (X[y+r-1 else 2] + 1) * W[r]", "Y", 1),
            "7");
  EXPECT_EQ(kept("X: f32[5]; W: f32[3]\nY[y:5] = sum(r) select(y > 2, X[y+r-1 else 2], 1) * W[r]",
                 "Y", 1),
            "5,3");
}

TEST(Precompute, ReplacesAnExpressionEverywhere) {
  ir::Nest nest = nest_of("X: f32[5]; B: f32[3]\nY[i,j] = exp(X[i]) + exp(X[i]) * B[j]");
  must_apply(nest, {Precompute{"Y", 1, "K"}});
  const ir::Block& block = nest.blocks[static_cast<std::size_t>(nest.find_block("Y"))];
  for (const ir::Expr& e : subexpressions(block.body))
    EXPECT_FALSE(std::holds_alternative<ir::Unary>(e->value));
}

TEST(Precompute, OfConstantsIsConstant) {
  EXPECT_EQ(kept("X: f32[5,7]; const W: f32[7,3]\nY[i,o] = sum(k) X[i,k] * exp(W[k,o])", "Y", 2),
            "7,3 constant");
}

TEST(Precompute, IsRefused) {
  const std::string product = "X: f32[5,7]; W: f32[7,3]\nY[i,o] = sum(k) exp(X[i,k]) * W[k,o]";
  EXPECT_EQ(refusal(product, {Precompute{"Z", 1, "K"}}), Refusal::kNoSuchBlock);
  EXPECT_EQ(refusal(product, {Precompute{"Y", 1, "X"}}), Refusal::kNameTaken);
  EXPECT_EQ(refusal(product, {Precompute{"Y", 4, "K"}}), Refusal::kBadNumber);
  EXPECT_EQ(refusal(product, {Precompute{"Y", -1, "K"}}), Refusal::kBadNumber);
  EXPECT_EQ(refusal(product, {Precompute{"Y", 3, "K"}}), Refusal::kNotElementwise);
  EXPECT_EQ(refusal(product, {Split{"Y.i", 2, "a", "b"}, Precompute{"Y", 1, "K"}}),
            Refusal::kNotAsWritten);
}

}  // namespace
}  // namespace lathe::schedule
