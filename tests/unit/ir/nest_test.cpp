#include <gtest/gtest.h>

#include "compiler/ir/nest/nest.h"

namespace lathe::ir {
namespace {

// C[i, j] = sum(k) A[i, k] * B[k, j] with i split by the knob p.
Nest matmul() {
  Nest nest;
  Sizes& s = nest.sizes;
  const auto size = [&](std::int64_t value) { return s.constant(value); };
  const SizeId p = s.knob(0, "p");
  nest.buffers = {{"A", Dtype::kF32, {size(10), size(7)}, Scope::kInput},
                  {"B", Dtype::kF32, {size(7), size(5)}, Scope::kInput, true},
                  {"C", Dtype::kF32, {size(10), size(5)}, Scope::kOutput}};
  const auto loop = [&](const char* name, SizeId extent) {
    const auto id = static_cast<LoopId>(nest.loops.size());
    nest.loops.push_back({.name = name, .extent = extent, .parent = id - 1});
    nest.children(id - 1).push_back({Item::Kind::kLoop, id});
    return id;
  };
  const LoopId io = loop("io", s.ceildiv(size(10), p)), ii = loop("ii", p), j = loop("j", size(5)),
               k = loop("k", size(7));
  nest.loops[io].kind = LoopKind::kParallel;
  nest.loops[ii].tail = Tail::kMask;
  Block block;
  block.name = "C";
  block.iters = {{"i", size(10), IterKind::kSpatial, {{io, p}, {ii, size(1)}}},
                 {"j", size(5), IterKind::kSpatial, {{j, size(1)}}},
                 {"k", size(7), IterKind::kReduce, {{k, size(1)}}}};
  block.writes = 2;
  block.index = {Affine::iter(0), Affine::iter(1)};
  block.reduce = ReduceOp::kSum;
  block.body = binary(BinaryOp::kMul, read(0, {Affine::iter(0), Affine::iter(2)}, Dtype::kF32),
                      read(1, {Affine::iter(2), Affine::iter(1)}, Dtype::kF32));
  block.parent = k;
  nest.blocks.push_back(block);
  nest.children(k).push_back({Item::Kind::kBlock, 0});
  return nest;
}

TEST(Nest, PrintsWithOpenSizes) {
  EXPECT_EQ(print(matmul()), R"(A: input f32[10, 7]
B: const input f32[7, 5]
C: output f32[10, 5]
for parallel io < ceildiv(10, p):
  for ii < p, tail mask:
    for j < 5:
      for k < 7:
        C: C[i, j] sum= A[i, k] * B[k, j]  where i = io*p + ii < 10; j = j < 5; k = k < 7
)");
}

TEST(Nest, PrintsWithSizesFilledIn) {
  const Nest nest = matmul();
  const std::int64_t knobs[] = {4};
  const std::string text = print(SizedNest(nest, knobs));
  EXPECT_NE(text.find("for parallel io < 3:"), std::string::npos) << text;
  EXPECT_NE(text.find("i = io*4 + ii < 10"), std::string::npos) << text;
}

TEST(Nest, FindsByNameAndPlace) {
  const Nest nest = matmul();
  const LoopId ii = nest.find_loop("ii");
  EXPECT_EQ(nest.find_loop("nowhere"), -1);
  EXPECT_EQ(nest.find_block("C"), 0);
  EXPECT_EQ(nest.find_buffer("B"), 1);
  EXPECT_TRUE(nest.is_inside({Item::Kind::kBlock, 0}, ii));
  EXPECT_TRUE(nest.is_inside({Item::Kind::kLoop, ii}, ii));
  EXPECT_FALSE(nest.is_inside({Item::Kind::kLoop, 0}, ii));
  EXPECT_EQ(nest.path_to(ii), (std::vector<LoopId>{0, 1}));
  EXPECT_EQ(nest.loops_around(0).size(), 4u);
  EXPECT_EQ(nest.writer_of(2), 0);
  EXPECT_EQ(nest.writer_of(0), -1);
  EXPECT_TRUE(nest.is_reduction_loop(0, nest.find_loop("k")));
  EXPECT_FALSE(nest.is_reduction_loop(0, ii));
}

TEST(Nest, VerifyAcceptsAGoodNest) {
  const Status status = verify(matmul());
  EXPECT_TRUE(status.has_value()) << status.error().text();
}

template <class Damage>
std::string complaint(const Damage& damage) {
  Nest nest = matmul();
  damage(nest);
  const Status status = verify(nest);
  return status ? "" : status.error().message;
}

TEST(Nest, VerifyFindsDamage) {
  EXPECT_EQ(complaint([](Nest& n) { n.loops[1].name = "io"; }), "two loops are named io");
  EXPECT_EQ(complaint([](Nest& n) { n.loops[2].parent = 0; }), "loop 2 has another parent");
  EXPECT_EQ(complaint([](Nest& n) { n.loops[3].dead = true; }), "loop k is dead but in the tree");
  EXPECT_EQ(complaint([](Nest& n) { n.blocks[0].dead = true; }), "block C is dead but in the tree");
  EXPECT_EQ(complaint([](Nest& n) { n.loops.push_back({.name = "lost", .extent = SizeId{0}}); }),
            "loop lost is not in the tree");
  EXPECT_EQ(complaint([](Nest& n) { n.blocks[0].index.pop_back(); }),
            "block C indexes C with 1 rows, it has 2");
  EXPECT_EQ(complaint([](Nest& n) { n.blocks[0].index[0] = Affine::iter(9); }),
            "block C indexes C by a missing iterator");
  EXPECT_EQ(complaint([](Nest& n) { n.blocks[0].reduce = ReduceOp::kNone; }),
            "C.k reduces but its block does not");
  EXPECT_EQ(complaint([](Nest& n) { n.loops[0].extent = SizeId{999}; }),
            "io has a size that is not in the table");
  EXPECT_EQ(complaint([](Nest& n) { n.buffers[0].layout = {{0, n.sizes.constant(4)}}; }),
            "the layout of A does not end every dimension with weight 1");
  EXPECT_EQ(complaint([](Nest& n) {
              n.loops[2].body.clear();
              n.loops[3].parent = kRoot;
              n.root.push_back({Item::Kind::kLoop, 3});
            }),
            "loop j is empty");
}

}  // namespace
}  // namespace lathe::ir
