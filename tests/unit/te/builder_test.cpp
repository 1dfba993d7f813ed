// Expressions composed in C++ are those of the text.
#include "compiler/te/builder.h"

#include <gtest/gtest.h>

#include <limits>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

void expect_same(const Builder& builder, std::string_view text) {
  const auto built = builder.build();
  const auto parsed = parse_workload(text);
  ASSERT_TRUE(built) << builder.text() << built.error().text();
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(print_workload(*built), print_workload(*parsed));
}

TEST(Builder, Matmul) {
  Builder b;
  const Input A = b.input("A", {31, 7}), B = b.constant("B", {31, 5});
  const Iter i("i"), j("j"), k("k");
  b.stage("C", {i, j}, sum({k}, A(k, i) * B(k, j)));
  expect_same(b, "A: f32[31,7]; const B: f32[31,5]; C[i,j] = sum(k) A[k,i] * B[k,j]");
}

TEST(Builder, ConvolutionWithEpilogue) {
  Builder b;
  const Input X = b.input("X", {1, 3, 9, 9}), W = b.constant("W", {4, 3, 3, 3});
  const Input bias = b.constant("bias", {4});
  const Iter n("n"), o("o"), y("y", 5), x("x", 5), c("c"), r("r"), s("s");
  b.output("Y", {1, 4, 5, 5});
  const Value taps = X.padded(0, {n, c, 2 * Index(y) + r - 1, 2 * Index(x) + s - 1});
  b.stage("Y", {n, o, y, x}, relu(sum({c, r, s}, taps * W(o, c, r, s)) + bias(o)));
  expect_same(
      b,
      "X: f32[1,3,9,9]; const W: f32[4,3,3,3]; const bias: f32[4]; output Y: f32[1,4,5,5]\n"
      "Y[n,o,y:5,x:5] = relu((sum(c,r,s) X[n,c,2*y+r-1,2*x+s-1 else 0] * W[o,c,r,s]) + bias[o])");
}

TEST(Builder, LiteralsCastsConditionsAndTwoStages) {
  Builder b;
  const Input A = b.input("A", {8}, Dtype::kF16), G = b.literal("G", {3}, {0.25, -0.5, 1});
  const Iter i("i", 8), s("s");
  const Input T =
      b.stage("T", {i}, sum({s}, cast(Dtype::kF32, A.padded(-1, {Index(i) + s - 1})) * G(s)));
  b.stage("Y", {i}, select(Value(i) >= 2 && !(T(i) == 0), call("pow", T(i), 2), -T(7 - Index(i))));
  b.stage("M", {Iter("one", 1)},
          reduce(ir::ReduceOp::kMax, {i}, T(i) - std::numeric_limits<double>::infinity()));
  expect_same(
      b,
      "A: f16[8]; G: f32[3] = {0.25,-0.5,1}; T[i:8] = sum(s) f32(A[i + s - 1 else -1]) * G[s]\n"
      "Y[i:8] = select(i >= 2 && !(T[i] == 0), pow(T[i], 2), -T[7 - i])\n"
      "M[one:1] = max(i:8) (T[i] - inf)");
}

TEST(Builder, BitsAndShifts) {
  Builder b;
  const Input A = b.input("A", {8}, Dtype::kU16);
  const Iter i("i", 8);
  b.stage("Y", {i}, (A(i) >> 4 & 15) | (~A(i) ^ A(i) << 2));
  expect_same(b, "A: u16[8]; Y[i:8] = A[i] >> 4 & 15 | ~A[i] ^ A[i] << 2");
}

TEST(Builder, Scans) {
  Builder b;
  const Input X = b.input("X", {4, 9}), Y("Y");
  const Iter i("i"), t("t");
  b.stage("Y", {i, t}, Y.padded(0, {i, Index(t) - 1}) + X(i, t));
  expect_same(b, "X: f32[4,9]\nY[i,t] = Y[i,t-1 else 0] + X[i,t]");
}

TEST(Builder, IndicesThatAreNotAffine) {
  Builder b;
  const Input X = b.input("X", {5, 8}), I = b.input("I", {3}, Dtype::kI32);
  const Iter n("n"), y("y", 7), x("x", 9);
  b.stage("Y", {n, x}, X(max(min(I(n), 4), 0), Index(x) % 8) + X.padded(1, {I(n), Index(x) - 1}));
  b.stage("Z", {y}, X(Index(y) * 5 / 7, min(Value(y), 7)));
  expect_same(b,
              "X: f32[5,8]; I: i32[3]\n"
              "Y[n,x:9] = X[max(min(I[n], 4), 0), x % 8] + X[I[n], x - 1 else 1]\n"
              "Z[y:7] = X[y*5/7, min(y, 7)]");
}

TEST(Builder, ErrorsAreThoseOfTheText) {
  Builder b;
  const Input A = b.input("A", {4});
  const Iter i("i", 4);
  b.stage("Y", {i}, A(Index(i) + 1) + A(i));
  const auto built = b.build();
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message.find("past its end"), std::string::npos);
}

}  // namespace
}  // namespace lathe::te
