// The nest interpreter on hand-made nests: tails, fused loops, caches of accumulators under blocked
// reductions with a fused epilogue, buffers that live for one iteration, and the errors that make
// it an oracle.
#include "oracle/nest_eval.h"

#include <gtest/gtest.h>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe::interp {
namespace {

using ir::Affine;
using ir::Item;

// A nest built from the outside in.
struct Builder {
  ir::Nest nest;

  ir::SizeId size(std::int64_t value) { return nest.sizes.constant(value); }

  ir::BufferId buffer(const std::string& name, std::vector<std::int64_t> shape, ir::Scope scope,
                      ir::LoopId at = ir::kRoot, ir::BufferId cache_of = -1) {
    ir::Buffer b;
    b.name = name;
    for (const std::int64_t s : shape) b.shape.push_back(size(s));
    b.scope = scope;
    b.at = at;
    b.cache_of = cache_of;
    nest.buffers.push_back(b);
    return static_cast<int>(nest.buffers.size()) - 1;
  }

  ir::LoopId loop(const std::string& name, std::int64_t extent, ir::LoopId parent = ir::kRoot) {
    ir::Loop l;
    l.name = name;
    l.extent = size(extent);
    l.parent = parent;
    nest.loops.push_back(l);
    const auto id = static_cast<int>(nest.loops.size()) - 1;
    nest.children(parent).push_back({Item::Kind::kLoop, id});
    return id;
  }

  struct Part {
    ir::LoopId loop;
    std::int64_t weight = 1, div = 1, mod = 0;
  };
  ir::BlockIter iter(const std::string& name, std::int64_t extent, const std::vector<Part>& parts,
                     ir::IterKind kind = ir::IterKind::kSpatial) {
    ir::BlockIter i{name, size(extent), kind, {}};
    for (const Part& p : parts)
      i.digits.push_back({p.loop, size(p.weight), p.div == 1 ? ir::SizeId::kNone : size(p.div),
                          p.mod == 0 ? ir::SizeId::kNone : size(p.mod)});
    return i;
  }

  // Writes the element its spatial iterators name, in order.
  void block(const std::string& name, ir::LoopId parent, ir::BufferId writes,
             std::vector<ir::BlockIter> iters, ir::Expr body,
             ir::ReduceOp reduce = ir::ReduceOp::kNone) {
    ir::Block b;
    b.name = name;
    b.writes = writes;
    for (std::size_t i = 0; i < iters.size(); ++i)
      if (iters[i].kind == ir::IterKind::kSpatial)
        b.index.push_back(Affine::iter(static_cast<int>(i)));
    b.iters = std::move(iters);
    b.reduce = reduce;
    b.body = std::move(body);
    b.parent = parent;
    nest.blocks.push_back(b);
    nest.children(parent).push_back({Item::Kind::kBlock, static_cast<int>(nest.blocks.size()) - 1});
  }
};

ir::Expr read(ir::BufferId buffer, std::vector<int> iters) {
  std::vector<Affine> index;
  for (const int i : iters) index.push_back(Affine::iter(i));
  return ir::read(buffer, std::move(index), Dtype::kF32);
}

Tensor vector_of(std::vector<double> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {Dtype::kF32, {n}, std::move(values), {}};
}

using Values = std::vector<double>;

Values values_of(const ir::Nest& nest, const std::vector<Tensor>& inputs) {
  const auto out = evaluate(ir::SizedNest(nest, {}), inputs);
  LATHE_CHECK(out.has_value(), "{}", out.error().text());
  return out->front().values;
}
std::string refusal(const ir::Nest& nest, const std::vector<Tensor>& inputs) {
  const auto out = evaluate(ir::SizedNest(nest, {}), inputs);
  if (out) return "";
  EXPECT_EQ(out.error().kind, ErrorKind::kIllegalSchedule);
  return out.error().text();
}

TEST(NestEval, IterationsBeyondTheExtentDoNotRun) {
  Builder b;
  const auto a = b.buffer("A", {5}, ir::Scope::kInput), c = b.buffer("C", {5}, ir::Scope::kOutput);
  const auto io = b.loop("io", 2), ii = b.loop("ii", 3, io);
  b.block("C", ii, c, {b.iter("i", 5, {{io, 3}, {ii}})}, read(a, {0}));
  EXPECT_EQ(values_of(b.nest, {vector_of({1, 2, 3, 4, 5})}), (Values{1, 2, 3, 4, 5}));
}

TEST(NestEval, AFusedLoopHasSeveralDigits) {
  Builder b;
  const auto a = b.buffer("A", {2, 3}, ir::Scope::kInput),
             c = b.buffer("C", {3, 2}, ir::Scope::kOutput);
  const auto f = b.loop("f", 6);
  b.block("C", f, c, {b.iter("j", 3, {{f, 1, 1, 3}}), b.iter("i", 2, {{f, 1, 3}})},
          read(a, {1, 0}));
  EXPECT_EQ(values_of(b.nest, {Tensor{Dtype::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}, {}}}),
            (Values{1, 4, 2, 5, 3, 6}));
}

// ko { acc of every i over one block of k; write back; epilogue }
struct Blocked : Builder {
  ir::BufferId a, s, y, acc;
  ir::LoopId ko;

  explicit Blocked(bool with_write_back = true) {
    a = buffer("A", {3, 5}, ir::Scope::kInput);
    s = buffer("S", {3}, ir::Scope::kMemory);
    y = buffer("Y", {3}, ir::Scope::kOutput);
    ko = loop("ko", 3);
    acc = buffer("acc", {3}, ir::Scope::kRegister, ko, s);
    const auto i = loop("i", 3, ko), ki = loop("ki", 2, i);
    block("S", ki, acc, {iter("i", 3, {{i}}), iter("k", 5, {{ko, 2}, {ki}}, ir::IterKind::kReduce)},
          read(a, {0, 1}), ir::ReduceOp::kSum);
    if (with_write_back) {
      const auto d = loop("acc.d0", 3, ko);
      block("acc", d, s, {iter("d0", 3, {{d}})}, read(acc, {0}));
    }
  }
  void epilogue(ir::BufferId from) {
    const auto e = loop("e", 3, ko);
    block("Y", e, y, {iter("i", 3, {{e}})},
          ir::binary(ir::BinaryOp::kMul, read(from, {0}), ir::constant(2, Dtype::kF32)));
  }
};

const Tensor kRows{Dtype::kF32, {3, 5}, {1, 2, 3, 4, 5, 1, 1, 1, 1, 1, -1, 0, 0, 0, -1}, {}};

TEST(NestEval, AccumulatorsGoOnInLaterBlocksAndTheEpilogueRunsInTheLast) {
  for (const bool from_cache : {false, true}) {
    Blocked b;
    b.epilogue(from_cache ? b.acc : b.s);
    EXPECT_EQ(values_of(b.nest, {kRows}), (Values{30, 10, -4}));
  }
}

TEST(NestEval, WithoutAWriteBackThePartialSumsAreLost) {
  Blocked b(false);
  b.epilogue(b.acc);
  EXPECT_NE(refusal(b.nest, {kRows}).find("written in an earlier iteration"), std::string::npos);
}

// i { T[i], T[i + 1]; Y[i] = T[i] * T[i + 1] }: T is computed again for every i.
ir::Nest recomputed(std::int64_t computed) {
  Builder b;
  const auto a = b.buffer("A", {4}, ir::Scope::kInput), y = b.buffer("Y", {3}, ir::Scope::kOutput);
  const auto i = b.loop("i", 3);
  const auto t = b.buffer("T", {4}, ir::Scope::kMemory, i);
  const auto w = b.loop("w", computed, i);
  b.block("T", w, t, {b.iter("i", 4, {{i}, {w}})}, ir::unary(ir::UnaryOp::kNeg, read(a, {0})));
  b.block("Y", i, y, {b.iter("i", 3, {{i}})},
          ir::binary(ir::BinaryOp::kMul, read(t, {0}),
                     ir::read(t, {Affine::iter(0) + Affine::constant(1)}, Dtype::kF32)));
  return b.nest;
}

TEST(NestEval, ABufferLivesForOneIterationOfItsLoop) {
  const std::vector<Tensor> inputs = {vector_of({1, 2, 3, 4})};
  EXPECT_EQ(values_of(recomputed(2), inputs), (Values{2, 6, 12}));
  EXPECT_NE(refusal(recomputed(1), inputs).find("Y reads element 1 of T, which nothing wrote"),
            std::string::npos);
}

TEST(NestEval, WhatIsIllegalIsSaid) {
  {
    Builder b;
    const auto a = b.buffer("A", {3}, ir::Scope::kInput),
               c = b.buffer("C", {3}, ir::Scope::kOutput);
    const auto i = b.loop("i", 2);
    b.block("C", i, c, {b.iter("i", 3, {{i}})}, read(a, {0}));
    EXPECT_NE(
        refusal(b.nest, {vector_of({1, 2, 3})}).find("element 2 of the output C is never written"),
        std::string::npos);
  }
  {
    Builder b;
    const auto a = b.buffer("A", {2}, ir::Scope::kInput),
               c = b.buffer("C", {3}, ir::Scope::kOutput);
    const auto i = b.loop("i", 3);
    b.block("C", i, c, {b.iter("i", 3, {{i}})}, read(a, {0}));
    EXPECT_NE(refusal(b.nest, {vector_of({1, 2})}).find("at 2, outside its size 2"),
              std::string::npos);
  }
  {
    Builder b;
    const auto c = b.buffer("C", {1}, ir::Scope::kOutput);
    const auto i = b.loop("i", 1), j = b.loop("j", 1);
    const auto t = b.buffer("T", {1}, ir::Scope::kMemory, i);
    b.block("T", i, t, {b.iter("i", 1, {{i}})}, ir::constant(1, Dtype::kF32));
    b.block("C", j, c, {b.iter("i", 1, {{j}})}, read(t, {0}));
    EXPECT_NE(refusal(b.nest, {}).find("C uses T outside the loop i"), std::string::npos);
  }
}

TEST(NestEval, InputsAreChecked) {
  const auto workload = te::parse_workload("A: f32[3]; B[i] = A[i]");
  ASSERT_TRUE(workload);
  const ir::Nest nest = te::naive_nest(*workload);
  EXPECT_FALSE(evaluate(ir::SizedNest(nest, {}), {}));
  EXPECT_FALSE(evaluate(ir::SizedNest(nest, {}), {vector_of({1, 2})}));
  EXPECT_TRUE(evaluate(ir::SizedNest(nest, {}), {vector_of({1, 2, 3})}));
}

}  // namespace
}  // namespace lathe::interp
