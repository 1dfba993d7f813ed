// Boxes of the example in docs/nest.md, symbolic and as numbers, and of windows and strides.
#include <gtest/gtest.h>

#include "compiler/analysis/box.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe::analysis {
namespace {

using schedule::Reorder;
using schedule::Split;
using std::int64_t;

ir::Nest nest_of(std::string_view text) {
  const auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text());
  return te::naive_nest(*workload);
}

void must_apply(ir::Nest& nest, const schedule::Trace& trace) {
  const auto done = schedule::apply(nest, trace);
  ASSERT_TRUE(done.has_value()) << done.error().text();
}

struct WorkedExample : testing::Test {
  ir::Nest nest =
      nest_of("A: f32[1024, 1024]; B: f32[1024, 1024]; C[i,j] = sum(k) A[k,i] * B[k,j]");

  void SetUp() override {
    ir::Sizes& s = nest.sizes;
    const ir::SizeId p = s.knob(0, "p"), v = s.knob(1, "v"), kc = s.knob(2, "kc"),
                     u = s.knob(3, "u");
    must_apply(
        nest,
        {Split{"C.i", p, "io", "ii"}, Split{"C.j", s.mul(v, s.constant(16)), "jo", "jr"},
         Split{"jr", int64_t{16}, "jv", "jl"}, Split{"C.k", kc, "ko", "kr"},
         Split{"kr", u, "ki", "ku"}, Reorder{{"ko", "jo", "io", "ki", "ku", "ii", "jv", "jl"}}});
  }

  std::string box(const char* buffer, const char* loop) {
    const ir::BufferId id = nest.find_buffer(buffer);
    std::string out;
    for (const Span& span : box_read(nest, id, nest.find_loop(loop)))
      out += (out.empty() ? "" : " x ") + nest.sizes.text(span.extent) + (span.dense ? "" : "?");
    return out;
  }
};

TEST_F(WorkedExample, Formulas) {
  EXPECT_EQ(box("A", "io"), "kc x p");
  EXPECT_EQ(box("B", "io"), "kc x v*16");
  EXPECT_EQ(box("B", "ko"), "kc x 1024");
  EXPECT_EQ(box("B", "ki"), "u x v*16");
  EXPECT_EQ(box("A", "ii"), "1 x 1");
}

// The number of elements in a box: the product over its rows.
std::int64_t elements_of(const ir::SizedNest& nest, const ir::Block& block,
                         const std::vector<ir::Affine>& rows, ir::LoopId loop) {
  std::int64_t elements = 1;
  for (const ir::Affine& row : rows) elements *= extent_of(nest, block, row, loop);
  return elements;
}

TEST_F(WorkedExample, Numbers) {
  const int64_t knobs[] = {14, 2, 256, 4};
  const ir::SizedNest sized(nest, knobs);
  const ir::Block& block = nest.blocks[0];
  const auto reads = ir::reads_of(block.body);
  const auto touched = [&](const char* loop) {
    const ir::LoopId id = nest.find_loop(loop);
    return std::vector<int64_t>{elements_of(sized, block, reads[0]->index, id),
                                elements_of(sized, block, reads[1]->index, id),
                                elements_of(sized, block, block.index, id)};
  };
  // One iteration of a loop touches what the table says of the loop inside it.
  EXPECT_EQ(touched("ko"), (std::vector<int64_t>{262144, 262144, 1048576}));
  EXPECT_EQ(touched("jo"), (std::vector<int64_t>{262144, 8192, 32768}));
  EXPECT_EQ(touched("io"), (std::vector<int64_t>{3584, 8192, 448}));
  EXPECT_EQ(touched("ki"), (std::vector<int64_t>{56, 128, 448}));
  EXPECT_EQ(touched("jv"), (std::vector<int64_t>{1, 16, 16}));
}

TEST(Box, OfAStridedWindow) {
  ir::Nest nest = nest_of("X: f32[23]; Y[i:10] = sum(r:5) X[2*i + r]");
  must_apply(nest, {Split{"Y.i", int64_t{4}, "io", "ii"}});
  const Box box = box_read(nest, nest.find_buffer("X"), nest.find_loop("io"));
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(nest.sizes.text(box[0].extent), "11");
  ASSERT_EQ(box[0].start.size(), 1u);
  EXPECT_EQ(nest.sizes.text(box[0].start[0].weight), "8");
}

TEST(Box, OfAReversedRead) {
  ir::Nest nest = nest_of("X: f32[12]; Y[i:12] = X[11 - i]");
  must_apply(nest, {Split{"Y.i", int64_t{4}, "io", "ii"}});
  const Box box = box_read(nest, nest.find_buffer("X"), nest.find_loop("io"));
  EXPECT_EQ(nest.sizes.text(box[0].extent), "4");
  EXPECT_EQ(nest.sizes.text(box[0].offset), "8");
  EXPECT_EQ(nest.sizes.text(box[0].start[0].weight), "-4");
}

TEST(Box, HasHolesWhereTheLessSignificantLoopIsOutside) {
  ir::Nest nest = nest_of("X: f32[12]; Y[i:12] = X[i]");
  must_apply(nest, {Split{"Y.i", int64_t{4}, "io", "ii"}, Reorder{{"ii", "io"}}});
  const Box box = box_read(nest, nest.find_buffer("X"), nest.find_loop("ii"));
  EXPECT_EQ(nest.sizes.text(box[0].extent), "9");
  EXPECT_FALSE(box[0].dense);
}

TEST(Box, KnowsThatAGuardEndsATile) {
  ir::Nest nest = nest_of("X: f32[30]; Y[i:30] = X[i]");
  must_apply(nest, {Split{"Y.i", int64_t{14}, "io", "ii"}, Split{"ii", int64_t{4}, "a", "b"}});
  const Box box = box_read(nest, nest.find_buffer("X"), nest.find_loop("io"));
  EXPECT_EQ(nest.sizes.text(box[0].extent), "14");
  EXPECT_TRUE(box[0].dense);
}

}  // namespace
}  // namespace lathe::analysis
