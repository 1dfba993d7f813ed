// Passes over graphs: they keep what is computed, and fuse what can be fused.
#include <cstdlib>

#include <gtest/gtest.h>

#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "support/graph_run.h"
#include "support/graph_writer.h"

namespace lathe::graph {
namespace {

using test::binary;
using test::GraphWriter;
using test::product;
using test::scaled;
using test::turned;
using test::unary;

class RandomGraph {
 public:
  explicit RandomGraph(Rng& rng) : rng_(rng) {}

  Graph make() {
    for (int i = 0; i < 2; ++i) known_.push_back(w_.input({size(), size()}));
    for (int n = static_cast<int>(rng_.between(2, 14)); n > 0; --n) known_.push_back(next());
    std::vector<int> outputs = {known_.back()};
    for (const int id : known_)
      if (rng_.chance(0.1) && id != outputs[0]) outputs.push_back(id);
    return w_.finish(outputs);
  }

 private:
  std::int64_t size() { return rng_.between(1, 5); }
  int some() {
    return known_[known_.size() - 1 - rng_.below(std::min<std::size_t>(4, known_.size()))];
  }

  int next() {
    const int x = some();
    const auto& shape = w_.shape(x);
    switch (rng_.below(7)) {
      case 0: return unary(w_, x, "max({}, 0)");
      case 1: return unary(w_, x, "tanh({}) * 0.5");
      case 2: return product(w_, flat(x), w_.constant({flat_shape(x)[1], size()}, rng_));
      case 3: return turned(w_, flat(x));
      case 4: return scaled(w_, x, w_.constant({shape.back()}, rng_));
      case 5: return w_.value(seen(shape), x);
      default: return add(x);
    }
  }
  // Of two dimensions: a view where there are others.
  Shape flat_shape(int x) const {
    const Shape& shape = w_.shape(x);
    return shape.size() == 2 ? shape : Shape{shape[0], elements_of(shape) / shape[0]};
  }
  int flat(int x) { return w_.shape(x).size() == 2 ? x : w_.value(flat_shape(x), x); }
  Shape seen(const Shape& shape) {
    const std::int64_t all = elements_of(shape);
    if (rng_.chance(0.3)) return {all};
    if (rng_.chance(0.5)) return {1, shape[0], all / shape[0]};
    for (std::int64_t by = rng_.between(2, 4); by > 1; --by)
      if (all % by == 0) return {by, all / by};
    return {all, 1};
  }
  int add(int x) {
    for (const int other : known_)
      if (other != x && w_.shape(other) == w_.shape(x) && rng_.chance(0.6))
        return binary(w_, x, other);
    return binary(w_, x, unary(w_, x, "abs({}) + 1"));
  }

  Rng& rng_;
  test::GraphWriter w_;
  std::vector<int> known_;
};

std::map<std::string, std::vector<double>> random_values(const Graph& graph, Rng& rng) {
  std::map<std::string, std::vector<double>> out;
  for (const int id : graph.inputs)
    for (std::int64_t e = 0; e < graph.value(id).elements(); ++e)
      out[graph.value(id).name].push_back(static_cast<double>(rng.between(-16, 16)) * 0.125);
  return out;
}

std::uint64_t rounds() {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : 300;
}

TEST(Passes, KeepWhatRandomGraphsCompute) {
  std::size_t fused = 0;
  for (std::uint64_t seed = 0; seed < rounds() && !HasFailure(); ++seed) {
    Rng rng(seed);
    const Graph before = RandomGraph(rng).make();
    const Status sound = verify(before);
    ASSERT_TRUE(sound) << "seed " << seed << "\n" << sound.error().text() << print(before);
    Graph after = before;
    const auto done = run_passes(after);
    ASSERT_TRUE(done) << "seed " << seed << "\n" << done.error().text() << "\n" << print(before);
    fused += before.nodes.size() - after.nodes.size();
    const auto inputs = random_values(before, rng);
    const auto want = test::run(before, inputs), got = test::run(after, inputs);
    ASSERT_TRUE(want && got);
    ASSERT_EQ(want->size(), got->size());
    for (std::size_t o = 0; o < want->size(); ++o)
      for (std::size_t e = 0; e < (*want)[o].size(); ++e)
        ASSERT_NEAR((*got)[o][e], (*want)[o][e], 1e-4 * (1 + std::abs((*want)[o][e])))
            << "seed " << seed << "\n"
            << print(before) << "\n"
            << print(after);
  }
  EXPECT_GT(fused, rounds());
}

std::vector<std::string> ops_of(Graph graph) {
  const auto done = run_passes(graph);
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Fuse, ResidualsJoinTheProductBeforeThem) {
  Rng rng(1);
  GraphWriter w;
  const int x = w.input({3, 5});
  const int a = unary(w, product(w, x, w.constant({5, 5}, rng)), "max({}, 0)");
  const int b = binary(w, product(w, a, w.constant({5, 5}, rng)), a);
  EXPECT_EQ(ops_of(w.finish({b})), (std::vector<std::string>{"MatMul+max", "MatMul+Add"}));
}

TEST(Fuse, BothWaysToAProductJoin) {
  Rng rng(2);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 7}, rng));
  const int gate = unary(w, p, "sigmoid({})");
  EXPECT_EQ(ops_of(w.finish({binary(w, p, gate)})), (std::vector<std::string>{"MatMul+sig+Add"}));
}

TEST(Fuse, WhatIsNeededOutsideEndsAGroup) {
  Rng rng(3);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 7}, rng));
  const int a = unary(w, p, "max({}, 0)");
  const int b = unary(w, a, "tanh({})");
  EXPECT_EQ(ops_of(w.finish({a, b})), (std::vector<std::string>{"MatMul+max", "tan"}));
}

TEST(Fuse, OtherShapesOfTheSameElementsJoin) {
  Rng rng(4);
  GraphWriter w;
  const int p = product(w, w.input({3, 5}), w.constant({5, 4}, rng));
  const int seen = w.value({3, 2, 2}, p);
  const int flat = w.value({12}, unary(w, seen, "max({}, 0)"));
  EXPECT_EQ(ops_of(w.finish({unary(w, flat, "tanh({})")})),
            (std::vector<std::string>{"MatMul+max+tan"}));
}

TEST(Passes, UnknownOnesAreRefused) {
  Graph graph = GraphWriter().finish({});
  const auto done = run_passes(graph, "fuze");
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text().find("there is no pass 'fuze'; there are import, fuse"),
            std::string::npos);
}

}  // namespace
}  // namespace lathe::graph
