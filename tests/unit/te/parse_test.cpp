// The common forms: what they mean, that they print and parse back, and their flops.
#include "compiler/te/parse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/te/naive_nest.h"

namespace lathe::te {
namespace {

Workload parsed(std::string_view text, const Declarations& declarations = {}) {
  auto workload = parse_workload(text, declarations);
  EXPECT_TRUE(workload) << text << "\n" << (workload ? "" : workload.error().text());
  return workload ? *std::move(workload) : Workload{};
}

void expect_round_trip(const Workload& workload) {
  const std::string text = print_workload(workload);
  auto again = parse_workload(text);
  ASSERT_TRUE(again) << text << again.error().text();
  EXPECT_TRUE(equal(workload, *again)) << text << "\nbecame\n" << print_workload(*again);
  const std::string key = workload_key(workload);
  auto from_key = parse_workload(key);
  ASSERT_TRUE(from_key) << key << "\n" << from_key.error().text();
  EXPECT_TRUE(equal(canonical(workload), *from_key)) << key;
  EXPECT_EQ(workload_key(*from_key), key);
}

TEST(Parse, MatmulTakesItsExtentsFromTheShapes) {
  const Workload p =
      parsed("C[i,j] = sum(k) A[k,i] * B[k,j]", {{{"A", {31, 7}}, {"B", {31, 5}}}, {}, {}});
  EXPECT_EQ(
      print_workload(p),
      "A: f32[31,7]\nB: f32[31,5]\noutput C: f32[7,5]\nC[i:7,j:5] = sum(k:31) A[k,i] * B[k,j]\n");
  EXPECT_EQ(flops(p), 2.0 * 31 * 7 * 5);
  EXPECT_EQ(io_bytes(p), 4.0 * (31 * 7 + 31 * 5 + 7 * 5));
  EXPECT_EQ(io_bytes(parsed("A: f32[50,50,7]; D[i] = sum(k) A[k,k,i]")), 4.0 * (50 * 7 + 7))
      << "of A its diagonal";
  EXPECT_EQ(workload_key(p),
            "A: f32[31,7]; B: f32[31,5]; output C: f32[7,5]; "
            "C[i:7,j:5] = sum(k:31) A[k,i] * B[k,j]; layout plain; max_error 2e-05");
  expect_round_trip(p);
}

TEST(Parse, PaddedConvolution) {
  const Workload p = parsed("Y[n,o,y:13,x:11] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                            {{{"X", {1, 3, 13, 11}}, {"W", {5, 3, 3, 3}}}, {}, {"W"}});
  EXPECT_EQ(flops(p), 2.0 * 5 * 13 * 11 * 27);
  EXPECT_TRUE(p.tensors[static_cast<std::size_t>(p.find("W"))].constant);
  EXPECT_NE(print_workload(p).find("X[n,c,y + r - 1,x + s - 1 else 0]"), std::string::npos)
      << print_workload(p);
  expect_round_trip(p);
}

TEST(Parse, StagesNeedEachOtherStepByStep) {
  const Workload p = parsed(
      "X: f32[9,4]; W: f32[4,4]; F: f64[9,4]\n"
      "U[t,i] = X[t,i] + (sum(k) V[t-1,k else 0] * W[i,k])\n"
      "Z[t,i] = U[t,i] * 2\n"
      "V[t,i] = 0.5 * V[t-1,i else 1] + U[t,i]\n"
      "A[t,i] = B[t+1,i else 0] + F[t,i]\n"
      "B[t,i] = A[t,i] - A[t+1,i else 2]");
  EXPECT_EQ(print_workload(p),
            "X: f32[9,4]\nW: f32[4,4]\nF: f64[9,4]\noutput V: f32[9,4]\nU_acc: f32[9,4]\n"
            "U: f32[9,4]\noutput Z: f32[9,4]\noutput B: f64[9,4]\nA: f64[9,4]\n"
            "U_acc[t:9,i:4] = sum(k:4) V[t - 1,k else 0] * W[i,k]\n"
            "U[t:9,i:4] = X[t,i] + U_acc[t,i]\n"
            "V[t:9,i:4] = 0.5 * V[t - 1,i else 1] + U[t,i]\n"
            "Z[t:9,i:4] = U[t,i] * 2\n"
            "A[t:9,i:4] = B[t + 1,i else 0] + F[t,i]\n"
            "B[t:9,i:4] = A[t,i] - A[t + 1,i else 2]\n");
  expect_round_trip(p);
  expect_round_trip(
      parsed("X: f16[9,4]; W: f16[4,4]\n"
             "H[t,i] = X[t,i] + (sum(k) H[t-1,k else 0] * W[i,k])"));
  expect_round_trip(parsed("W: f32[4,4]; H[t:9,i:4] = sum(k) H[t-1,k else 1] * W[i,k]"));
}

TEST(Parse, ScansReadTheirOwnTensor) {
  const Workload p = parsed("X: f32[4,9]; Y[i,t] = Y[i,t-1 else 0] + X[i,t]");
  EXPECT_EQ(print_workload(p),
            "X: f32[4,9]\noutput Y: f32[4,9]\nY[i:4,t:9] = Y[i,t - 1 else 0] + X[i,t]\n");
  EXPECT_EQ(workload_key(p),
            "A: f32[4,9]; output B: f32[4,9]; B[i:4,j:9] = B[i,j - 1 else 0] + A[i,j]; layout "
            "plain; max_error 2e-05");
  EXPECT_EQ(flops(p), 4.0 * 9);
  EXPECT_EQ(io_bytes(p), 4.0 * 2 * 4 * 9);
  expect_round_trip(p);
  // The size may be written down, as where nothing else is read.
  expect_round_trip(parsed("P[i:8] = P[i+1 else 1] * 0.5"));
  // Beside a reduction, which becomes a stage of its own, and before another stage.
  const Workload q =
      parsed("A: i8[5,3]; Y[i] = 2 * Y[i-1 else 1] + (sum(k) A[i,k]); Z[i] = max(Y[i], Y[4 - i])");
  EXPECT_EQ(q.stages.size(), 3u);
  EXPECT_EQ(q.tensors[static_cast<std::size_t>(q.find("Y"))].dtype, Dtype::kI32);
  EXPECT_EQ(q.tensors[static_cast<std::size_t>(q.find("Y"))].role, TensorRole::kIntermediate);
  expect_round_trip(q);
  // Its type is that of what it meets, or that which is declared.
  const auto type = [](const char* text) { return parsed(text).tensors.back().dtype; };
  EXPECT_EQ(type("X: f16[7]; Y[t] = max(Y[t-1 else -inf], X[t])"), Dtype::kF16);
  EXPECT_EQ(type("X: i64[7]; Y[t] = 3 * Y[t-1 else 1] - Y[t-2 else 0] + X[t]"), Dtype::kI64);
  EXPECT_EQ(type("X: f16[7]; output Y: f64[7]; Y[t] = Y[t-1 else 0] + f64(X[t])"), Dtype::kF64);
}

TEST(Parse, WhatAnIndexReadsIsPrintedAsItIsWritten) {
  const auto p = parse_workload(
      "T: f32[9,3]; I: i8[4]; J: u32[9]; Y[n,j] = T[min(max(I[n] + i16(I[n]), 0), 8),j] + "
      "T[J[I[n] else 0] % 9,j] + T[select(i32(I[n]) < 2, I[n], 1),j else 0]");
  ASSERT_TRUE(p) << p.error().text();
  const std::string text = print_workload(*p);
  EXPECT_EQ(text.find("i64"), std::string::npos) << text;
  const auto again = parse_workload(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(equal(*again, *p)) << text;
}

TEST(Parse, RangesGivenOutsideCountForIndicesToo) {
  const std::string text = "T: f32[9,3]; Y[n,j] = T[I[n],j]";
  Declarations given;
  given.shapes["I"] = {4};
  given.dtypes["I"] = Dtype::kI32;
  EXPECT_FALSE(parse_workload(text, given));
  given.ranges["I"] = {0, 8};
  const auto p = parse_workload(text, given);
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_EQ(p->tensors[static_cast<std::size_t>(p->find("I"))].range, (InputRange{0, 8}));
  given.ranges["I"] = {0, 9};
  EXPECT_FALSE(parse_workload(text, given));
  EXPECT_TRUE(parse_workload("I: i32[4] in 0..9; T: f32[9,3]; Y[n,j] = T[I[n],j]",
                             {.ranges = {{"I", {0, 8}}}}));
  EXPECT_FALSE(parse_workload("A: f32[4]; Y[i] = A[i]", {.ranges = {{"B", {0, 8}}}}));
  EXPECT_FALSE(parse_workload("A: i8[4]; Y[i] = A[i]", {.ranges = {{"A", {0, 800}}}}));
}

TEST(Parse, ATypeForAllIsThatOfWhatNothingElseTypes) {
  const auto types = [](const Workload& p) {
    std::string out;
    for (const Tensor& tensor : p.tensors)
      out += tensor.name + " " + std::string(name_of(tensor.dtype)) + ", ";
    return out;
  };
  const Declarations half{{}, {}, {}, Dtype::kF16};
  EXPECT_EQ(types(parsed("Y[i:8] = X[i]", half)), "X f16, Y f16, ");
  EXPECT_EQ(
      types(parsed("A: f32[8]; Y[i] = f16(A[i]) + B[i]", {{{"B", {8}}}, {}, {}, Dtype::kF16})),
      "A f32, B f16, Y f16, ");
  EXPECT_EQ(types(parsed("Y[i:8] = X[i]", {{}, {{"X", Dtype::kF64}}, {}, Dtype::kF64})),
            "X f64, Y f64, ");
  EXPECT_FALSE(parse_workload("A: f32[8]; Y[i] = A[i]", half));
  EXPECT_FALSE(parse_workload("A: f32[8]; Y[i] = f16(A[i])", half))
      << "what is computed is no input";
}

TEST(Parse, UnpaddedWindowTakesTheLargestSize) {
  const Workload p = parsed("Y[y] = sum(r) X[2*y + r] * W[r]", {{{"X", {14}}, {"W", {3}}}, {}, {}});
  EXPECT_EQ(p.stages[0].iters[0].extent, 6);
}

TEST(Parse, InputsAreAsLargeAsWhatAllStatementsReadOfThem) {
  for (const char* text : {"C[i:4] = A[i]; D[j:8] = A[j]", "D[j:8] = A[j]; C[i:4] = A[i]"}) {
    const auto workload = parse_workload(text);
    ASSERT_TRUE(workload) << workload.error().text();
    EXPECT_EQ(workload->tensors[static_cast<std::size_t>(workload->find("A"))].shape,
              (std::vector<std::int64_t>{8}));
  }
}

TEST(Parse, InputsHaveTheOrderOfTheText) {
  for (const char* text :
       {"Z[i:4] = f32(X[i] > Y[i])", "Z[i:4] = f32(X[i] >= Y[i] && Y[i] < V[i])",
        "Z[i:4] = select(X[i] > (max(j:4) Y[j]), Y[i], X[i])", "Z[i:4] = X[i] - Y[i]"}) {
    const Workload p = parsed(text);
    EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.inputs()[0])].name, "X") << text;
    EXPECT_EQ(p.tensors[static_cast<std::size_t>(p.inputs()[1])].name, "Y") << text;
  }
}

TEST(Parse, CallersMaySeeDimensionsMerged) {
  const Workload p =
      parsed("X: f32[2,3,4] as [6,4]; output Y: f32[2,3,4] as [2,12]; Y[g,o,x] = X[g,o,x] * 2");
  EXPECT_EQ(p.tensors[0].shape_at_border(), (std::vector<std::int64_t>{6, 4}));
  EXPECT_EQ(p.tensors[1].shape_at_border(), (std::vector<std::int64_t>{2, 12}));
  EXPECT_EQ(p.tensors[1].shape, (std::vector<std::int64_t>{2, 3, 4}));
  expect_round_trip(p);
  EXPECT_NE(workload_key(p), workload_key(parsed("X: f32[2,3,4]; Y[g,o,x] = X[g,o,x] * 2")));
}

TEST(MergedDims, AreNeighbours) {
  using Shape = std::vector<std::int64_t>;
  const auto dims = [](const Shape& shape, const Shape& merged) {
    return merged_dims(shape, merged).value_or(std::vector<int>{-1});
  };
  EXPECT_EQ(dims({1, 4, 32, 7, 5}, {1, 128, 7, 5}), (std::vector<int>{0, 1, 1, 2, 3}));
  EXPECT_EQ(dims({2, 3}, {6}), (std::vector<int>{0, 0}));
  EXPECT_EQ(dims({2, 3}, {2, 3}), (std::vector<int>{0, 1}));
  EXPECT_EQ(dims({1, 1, 5, 1, 1}, {1, 5, 1}), (std::vector<int>{0, 1, 1, 2, 2}));
  for (const Shape& wrong :
       {Shape{3, 2}, Shape{5}, Shape{}, Shape{2, 3, 1}, Shape{12}, Shape{1, 6}})
    EXPECT_FALSE(merged_dims({2, 3}, wrong)) << fmt::format("{}", fmt::join(wrong, ","));
}

TEST(NaiveNest, OneLoopAnIteratorAndBuffersAreTensors) {
  const Workload p =
      parsed("C[i,j] = relu(sum(k) A[i,k] * W[k,j])", {{{"A", {3, 4}}, {"W", {4, 5}}}, {}, {"W"}});
  const ir::Nest nest = naive_nest(p);
  ASSERT_EQ(nest.buffers.size(), p.tensors.size());
  ASSERT_EQ(nest.blocks.size(), 2u);
  EXPECT_EQ(nest.loops.size(), 5u);
  EXPECT_EQ(nest.loops[0].name, "C_acc.i");
  EXPECT_EQ(nest.blocks[0].iters[2].kind, ir::IterKind::kReduce);
  EXPECT_EQ(nest.root.size(), 2u);
  EXPECT_TRUE(nest.buffers[static_cast<std::size_t>(p.find("W"))].constant);
  EXPECT_FALSE(nest.buffers[static_cast<std::size_t>(p.find("C_acc"))].constant);
}

}  // namespace
}  // namespace lathe::te
