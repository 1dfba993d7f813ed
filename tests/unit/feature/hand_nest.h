// Nests of one block, put together by hand: iterators split into digits, loops in any order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::feature {

struct HandLoop {
  std::string name;
  ir::SizeId extent;
  ir::LoopKind kind = ir::LoopKind::kSerial;
};
struct HandDigit {
  std::string loop;
  ir::SizeId weight;
};
struct HandIter {
  std::string name;
  ir::SizeId extent;
  ir::IterKind kind;
  std::vector<HandDigit> digits;
};

// Loops from outside in, the last around the block.
inline void nest_loops(ir::Nest& nest, const std::vector<HandLoop>& loops) {
  for (std::size_t l = 0; l < loops.size(); ++l) {
    ir::Loop loop;
    loop.name = loops[l].name;
    loop.extent = loops[l].extent;
    loop.kind = loops[l].kind;
    loop.parent = static_cast<ir::LoopId>(l) - 1;
    nest.children(loop.parent).push_back({ir::Item::Kind::kLoop, static_cast<int>(l)});
    nest.loops.push_back(loop);
  }
}

inline void add_block(ir::Nest& nest, ir::Block block, const std::vector<HandIter>& iters) {
  for (const HandIter& iter : iters) {
    ir::BlockIter made{iter.name, iter.extent, iter.kind, {}, ir::SizeId::kNone};
    for (const HandDigit& digit : iter.digits)
      made.digits.push_back({nest.find_loop(digit.loop), digit.weight});
    block.iters.push_back(made);
  }
  block.parent = static_cast<ir::LoopId>(nest.loops.size()) - 1;
  nest.children(block.parent)
      .push_back({ir::Item::Kind::kBlock, static_cast<int>(nest.blocks.size())});
  nest.blocks.push_back(std::move(block));
}

inline ir::Buffer tensor(ir::Nest& nest, std::string name, const std::vector<std::int64_t>& shape,
                         ir::Scope scope) {
  ir::Buffer buffer;
  buffer.name = std::move(name);
  buffer.scope = scope;
  for (const auto size : shape) buffer.shape.push_back(nest.sizes.constant(size));
  return buffer;
}

// The nest of the worked example (matmul 1024, A transposed): knobs p, v, kc, u are 0 ... 3.
inline ir::Nest worked_example(std::int64_t n = 1024) {
  using ir::Affine;
  ir::Nest nest;
  ir::Sizes& s = nest.sizes;
  const auto size = s.constant(n), one = s.constant(1), sixteen = s.constant(16);
  const auto p = s.knob(0, "p"), v = s.knob(1, "v"), kc = s.knob(2, "kc"), u = s.knob(3, "u");
  const auto panel = s.mul(v, sixteen);
  nest_loops(nest, {{"ko", s.ceildiv(size, kc)},
                    {"jo", s.ceildiv(size, panel)},
                    {"io", s.ceildiv(size, p)},
                    {"ki", s.ceildiv(kc, u)},
                    {"ku", u, ir::LoopKind::kUnrolled},
                    {"ii", p, ir::LoopKind::kUnrolled},
                    {"jv", v, ir::LoopKind::kUnrolled},
                    {"jl", sixteen, ir::LoopKind::kVectorized}});
  nest.buffers = {tensor(nest, "A", {n, n}, ir::Scope::kInput),
                  tensor(nest, "B", {n, n}, ir::Scope::kInput),
                  tensor(nest, "C", {n, n}, ir::Scope::kOutput)};
  ir::Block block;
  block.name = "C";
  block.writes = 2;
  block.index = {Affine::iter(0), Affine::iter(1)};
  block.reduce = ir::ReduceOp::kSum;
  block.body =
      ir::binary(ir::BinaryOp::kMul, ir::read(0, {Affine::iter(2), Affine::iter(0)}, Dtype::kF32),
                 ir::read(1, {Affine::iter(2), Affine::iter(1)}, Dtype::kF32));
  add_block(nest, block,
            {{"i", size, ir::IterKind::kSpatial, {{"io", p}, {"ii", one}}},
             {"j", size, ir::IterKind::kSpatial, {{"jo", panel}, {"jv", sixteen}, {"jl", one}}},
             {"k", size, ir::IterKind::kReduce, {{"ko", kc}, {"ki", u}, {"ku", one}}}});
  return nest;
}
inline const std::vector<std::int64_t> kWorkedKnobs = {14, 2, 256, 4};

// A block that writes element 0 of the first buffer, inside `loops` at `around`.
inline void add_sibling(ir::Nest& nest, ir::LoopId around, const std::vector<HandLoop>& loops,
                        ir::BufferId writes = 0) {
  for (const HandLoop& hand : loops) {
    ir::Loop loop;
    loop.name = hand.name;
    loop.extent = hand.extent;
    loop.parent = around;
    const auto id = static_cast<ir::LoopId>(nest.loops.size());
    nest.loops.push_back(loop);
    nest.children(around).push_back({ir::Item::Kind::kLoop, id});
    around = id;
  }
  ir::Block block;
  block.name = fmt::format("sibling{}", nest.blocks.size());
  block.writes = writes;
  block.index.assign(nest.buffers[writes].shape.size(), ir::Affine::constant(0));
  block.body = ir::constant(1, Dtype::kF32);
  block.parent = around;
  nest.children(around).push_back({ir::Item::Kind::kBlock, static_cast<int>(nest.blocks.size())});
  nest.blocks.push_back(block);
}

}  // namespace lathe::feature
