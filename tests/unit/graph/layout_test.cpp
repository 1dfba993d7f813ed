// Images channels last: what is computed stays the same.
#include "graph/passes/layout.h"

#include <gtest/gtest.h>

#include "graph/ir/print.h"
#include "support/graph_run.h"
#include "support/random_images.h"

namespace lathe::graph {
namespace {

using test::GraphWriter;

std::size_t other_shapes(const Graph& before, const Graph& after) {
  std::size_t count = 0;
  for (std::size_t v = 0; v < before.values.size(); ++v)
    count += before.values[v].shape == after.values[v].shape ? 0 : 1;
  return count;
}

TEST(Layout, KeepsWhatRandomGraphsOfImagesCompute) {
  std::size_t changed = 0, nodes = 0;
  for (std::uint64_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Graph before = test::RandomImages(rng).make();
    Graph after = before;
    ASSERT_TRUE(layout(after));
    const Status sound = verify(after);
    SCOPED_TRACE(fmt::format("seed {}\n{}\n{}", seed, print(before), print(after)));
    ASSERT_TRUE(sound) << sound.error().text();
    changed += other_shapes(before, after);
    nodes += before.nodes.size();
    const auto inputs = test::random_values(before, rng);
    const auto want = test::run(before, inputs), got = test::run(after, inputs);
    ASSERT_TRUE(want && got);
    EXPECT_EQ(*want, *got);  // every sum in the same order
  }
  EXPECT_GT(changed, nodes / 40);
}

// A convolution of 3x3 of one image.
int convolution(GraphWriter& w, int x, std::int64_t channels, Rng& rng) {
  Shape made = w.shape(x);
  const Shape weight = {channels, made[1], 3, 3};
  const std::string from = test::list_of(made);
  made[1] = channels;
  return w.node("Conv",
                fmt::format("X: f32[{}]; const W: f32[{}]; Y[n:1,o:{},y:{},x:{}] = sum(c,r,s) "
                            "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                            from, test::list_of(weight), channels, made[2], made[3]),
                {x, w.constant(weight, rng)}, made);
}

Graph laid_out(Graph graph) {
  EXPECT_TRUE(layout(graph));
  EXPECT_TRUE(verify(graph));
  return graph;
}

TEST(Layout, BetweenConvolutionsChannelsAreLast) {
  Rng rng(1);
  GraphWriter w;
  const int a = convolution(w, w.input({1, 3, 4, 5}), 8, rng);
  const int b = test::unary(w, a, "max({}, 0)");
  const int c = convolution(w, b, 9, rng);
  const Graph graph = laid_out(w.finish({convolution(w, test::binary(w, c, c), 11, rng)}));
  EXPECT_EQ(graph.value(a).shape, (Shape{1, 4, 5, 8}));
  EXPECT_EQ(graph.value(b).shape, (Shape{1, 4, 5, 8}));
  EXPECT_EQ(graph.value(c).shape, (Shape{1, 4, 5, 9}));
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{1, 3, 4, 5}));
  EXPECT_EQ(graph.value(graph.outputs[0]).shape, (Shape{1, 11, 4, 5}));
}

TEST(Layout, WhatMakesAFewChannelsReadsThemAsTheModelHasThem) {
  Rng rng(4);
  GraphWriter w;
  const int a = convolution(w, w.input({1, 3, 4, 5}), 8, rng);
  const int b = convolution(w, a, 12, rng);
  const Graph graph = laid_out(w.finish({convolution(w, b, 3, rng)}));
  EXPECT_EQ(graph.value(a).shape, (Shape{1, 4, 5, 8}));
  EXPECT_EQ(graph.value(b).shape, (Shape{1, 12, 4, 5}));
}

// A convolution that Cook-Toom algorithms compute makes planes as fast as channels last, for one of
// a few channels after it.
TEST(Layout, WhatATransformMakesForAFewChannelsIsPlanes) {
  Rng rng(5);
  GraphWriter w;
  const int a = convolution(w, w.input({1, 3, 16, 16}), 32, rng);
  const int b = convolution(w, a, 32, rng);
  const int last = w.node("Conv",
                          "X: f32[1,32,16,16]; const W: f32[2,32,1,1]; Y[n:1,o:2,y:16,x:16] = "
                          "sum(c,r,s) X[n,c,y+r,x+s] * W[o,c,r,s]",
                          {b, w.constant({2, 32, 1, 1}, rng)}, {1, 2, 16, 16});
  const Graph graph = laid_out(w.finish({last}));
  EXPECT_EQ(graph.value(a).shape, (Shape{1, 16, 16, 32}));
  EXPECT_EQ(graph.value(b).shape, (Shape{1, 32, 16, 16}));
}

// Tiles of a transposed convolution have its phases and store rows of planes, whatever they read.
TEST(Layout, WhatATransposedConvolutionReadsIsChannelsLast) {
  Rng rng(6);
  GraphWriter w;
  const int a = convolution(w, w.input({1, 3, 6, 5}), 16, rng);
  const int up = w.node("ConvTranspose",
                        "X: f32[1,16,6,5]; const W: f32[16,12,2,2]\n"
                        "output Y: f32[1,12,6,2,5,2] as [1,12,12,10]\n"
                        "Y[n:1,o:12,y:6,v:2,x:5,u:2] = sum(c,r:1,s:1) X[n,c,y-r,x-s] * "
                        "W[c,o,v+2*r,u+2*s]",
                        {a, w.constant({16, 12, 2, 2}, rng)}, {1, 12, 12, 10});
  const Graph graph = laid_out(w.finish({up}));
  EXPECT_EQ(graph.value(a).shape, (Shape{1, 6, 5, 16}));
}

TEST(Layout, WhatIsJoinedOrSeenOtherwiseStays) {
  Rng rng(2);
  GraphWriter w;
  const int a = convolution(w, w.input({1, 3, 4, 5}), 8, rng);
  const int joined = test::concatenated(w, {a, a}, 1);
  const int b = convolution(w, joined, 9, rng);
  const Graph graph = laid_out(w.finish({test::unary(w, w.value({9, 20}, b), "max({}, 0)")}));
  EXPECT_EQ(graph.value(a).shape, (Shape{1, 8, 4, 5}));
  EXPECT_EQ(graph.value(joined).shape, (Shape{1, 16, 4, 5}));
  EXPECT_EQ(graph.value(b).shape, (Shape{1, 9, 4, 5}));
}

TEST(Layout, ProductsOfHeadsAreNoImages) {
  Rng rng(3);
  GraphWriter w;
  const int x = test::unary(w, w.input({2, 3, 4, 5}), "max({}, 0)");
  const int y = w.node("MatMul",
                       "X: f32[2,3,4,5]; const W: f32[5,6]; Y[b,h,i,j] = sum(k) "
                       "X[b,h,i,k] * W[k,j]",
                       {x, w.constant({5, 6}, rng)}, {2, 3, 4, 6});
  const Graph graph = laid_out(w.finish({test::unary(w, y, "tanh({})")}));
  EXPECT_EQ(graph.value(x).shape, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(graph.value(y).shape, (Shape{2, 3, 4, 6}));
}

}  // namespace
}  // namespace lathe::graph
