// Lanes along a reduced axis, and long sums in blocks.
#include <algorithm>

#include "tuner/space/rules/axes.h"
#include "tuner/space/rules/prepare.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kShortRow = 4;         // vectors; a shorter row is not worth lanes of its own
constexpr std::int64_t kEnoughChains = 8;     // vectors under way that hide the latency of an addition
constexpr std::int64_t kLongestChain = 1 << 15;
constexpr std::int64_t kBlock = 1 << 12;      // additions of an innermost block
constexpr std::int64_t kBlocks = 1 << 9;      // of one level that are summed up in turn

// Reads that each leave out an axis of the result: elements are used again, which a register tile is for.
bool has_reuse(const te::Stage& stage) {
  const auto reads = ir::reads_of(stage.body);
  int reused = 0;
  for (const ir::Read* read : reads) {
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
      const te::Iterator& it = stage.iters[i];
      if (it.kind != te::IterKind::kSpatial || it.extent < 2 || touches(read->index, i)) continue;
      ++reused;
      break;
    }
  }
  return reused >= 2;
}

// The reduction iterator that rows lie along: -1 if lanes do better along an axis of the result.
int row_axis(const te::Program& view, const te::Stage& stage, std::int64_t lanes) {
  if (stage.reduce == ir::ReduceOp::kNone || lanes < 2 || has_reuse(stage)) return -1;
  const auto reads = ir::reads_of(stage.body);
  const auto last_is = [](const ir::Read* read, int i) { return !read->index.empty() && read->index.back().coef_of(i) == 1; };
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[i].kind != te::IterKind::kSpatial || 2 * stage.iters[i].extent < lanes) continue;
    const bool consecutive = std::ranges::all_of(reads, [&](const ir::Read* read) {
      return !touches(read->index, i) || last_is(read, i) || view.tensors[read->tensor].constant;
    });
    const bool touched = std::ranges::any_of(reads, [&](const ir::Read* read) { return touches(read->index, i); });
    if (consecutive && touched) return -1;
  }
  int best = -1;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[i].kind != te::IterKind::kReduce || stage.iters[i].extent < kShortRow * lanes) continue;
    const bool consecutive = std::ranges::all_of(
        reads, [&](const ir::Read* read) { return !touches(read->index, i) || last_is(read, i); });
    const bool along = std::ranges::any_of(reads, [&](const ir::Read* read) { return last_is(read, i); });
    if (consecutive && along && (best < 0 || stage.iters[i].extent > stage.iters[best].extent)) best = i;
  }
  return best;
}

class Splitter {
 public:
  Splitter(Prepared& prepared, const te::Program& program, const Target& target)
      : prepared_(prepared), program_(program), target_(target) {}

  void split(const std::string& name) {
    const ir::BlockId id = prepared_.nest.find_block(name);
    const te::Program view = view_of(prepared_.nest, program_);
    const auto found = std::ranges::find(view.stages, prepared_.nest.blocks[id].writes, &te::Stage::tensor);
    const te::Stage& stage = *found;
    if (stage.reduce == ir::ReduceOp::kNone) return;
    const std::int64_t lanes = target_.lanes(size_of(stage.body->dtype));
    const int row = row_axis(view, stage, lanes);
    std::vector<Chain> chain;
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
      if (stage.iters[i].kind == te::IterKind::kReduce && i != row) chain.push_back({stage.iters[i].name, stage.iters[i].extent});
    std::string lanes_loop;
    if (row >= 0) {
      const te::Iterator& it = stage.iters[row];
      const std::int64_t width = lanes * chains_of(stage, it.extent / lanes);
      lanes_loop = it.name + ".w";
      if (!step(schedule::Split{it.name, width, it.name + ".k", lanes_loop, ir::Tail::kPeel})) return;
      chain.push_back({it.name + ".k", (it.extent + width - 1) / width});
    }
    std::string inner = name;
    const bool rounds = stage.reduce == ir::ReduceOp::kSum && is_float(stage.body->dtype);
    if (rounds && fits(view, stage)) inner = cut(name, chain);
    if (row >= 0) step(schedule::Rfactor{inner, lanes_loop, name + ".lanes"});
  }

 private:
  struct Chain {  // a loop that additions to one element follow each other in
    std::string loop;
    std::int64_t extent;
  };

  bool step(schedule::Step s) {
    return try_step(prepared_.nest, prepared_.steps, std::move(s), program_.contract.free_layout);
  }

  // Vectors of partial results a row: few where there are many rows to work on at a time.
  static std::int64_t chains_of(const te::Stage& stage, std::int64_t vectors) {
    std::int64_t rows = 1, chains = kEnoughChains;
    for (const te::Iterator& it : stage.iters)
      if (it.kind == te::IterKind::kSpatial) rows *= it.extent;
    while (chains > 1 && (chains * rows > kEnoughChains || chains * kShortRow > vectors)) chains /= 2;
    return chains;
  }

  // The partial results are few beside what is summed up.
  static bool fits(const te::Program& view, const te::Stage& stage) {
    double read = 0, partial = 1;
    for (const ir::Read* r : ir::reads_of(stage.body)) {
      double elements = 1;
      for (const std::int64_t n : view.tensors[r->tensor].shape) elements *= static_cast<double>(n);
      read += elements;
    }
    for (const te::Iterator& it : stage.iters) partial *= static_cast<double>(it.extent);
    return partial / kBlock <= read;
  }

  // Cuts the chain into blocks; the name of the block that is left with one of them.
  std::string cut(const std::string& name, const std::vector<Chain>& chain) {
    std::int64_t length = 1;
    for (const Chain& c : chain) length *= c.extent;
    if (length <= kLongestChain) return name;
    std::vector<std::string> outer;  // loops over blocks, the outermost last
    std::int64_t inside = 1;
    for (std::size_t k = chain.size(); k-- > 0;) {
      std::string loop = chain[k].loop;
      std::int64_t extent = chain[k].extent;
      if (inside * extent <= kBlock) {
        inside *= extent;
        continue;
      }
      if (const std::int64_t part = kBlock / inside; part > 1) {
        if (!step(schedule::Split{loop, part, loop + ".b", loop + ".a", ir::Tail::kPeel})) return name;
        loop += ".b";
        extent = (extent + part - 1) / part;
      }
      inside = kBlock;
      while (extent > kBlocks) {
        if (!step(schedule::Split{loop, kBlocks, loop + ".b", loop + ".a", ir::Tail::kPeel})) return name;
        outer.push_back(loop + ".a");
        loop += ".b";
        extent = (extent + kBlocks - 1) / kBlocks;
      }
      outer.push_back(loop);
    }
    std::string block = name;
    for (std::size_t k = outer.size(); k-- > 0;) {
      const std::string partial = name + ".part" + (k == 0 ? "" : std::to_string(k));
      if (!step(schedule::Rfactor{block, outer[k], partial})) return block;
      block = partial;
    }
    return block;
  }

  Prepared& prepared_;
  const te::Program& program_;
  const Target& target_;
};

}  // namespace

void split_reductions(Prepared& prepared, const te::Program& program, const Target& target) {
  Splitter splitter(prepared, program, target);
  std::vector<std::string> names;
  for (const ir::BlockId id : prepared.nest.blocks_in_order()) names.push_back(prepared.nest.blocks[id].name);
  for (const std::string& name : names) splitter.split(name);
}

}  // namespace lathe::space
