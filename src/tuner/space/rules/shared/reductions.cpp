#include "tuner/space/rules/shared/reductions.h"

#include <algorithm>
#include <cmath>

#include "tuner/space/rules/shared/axes.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kShortRow = 2;  // in vectors; fewer terms are not worth lanes of their own
// So many vectors under way hide the latency of an addition.
constexpr std::int64_t kEnoughChains = 8;
// Of a row without a register tile, which would take several rows together, each so many vectors
// want a chain of their own: the processor does not look ahead into the next row.
constexpr std::int64_t kLookAhead = 16;

constexpr double kFewPartials = 1 << 18;

// How a chain of additions is cut: one longer than `longest` into blocks of `inner`, those into
// blocks of `outer`, and so on until at most `blocks` are left, which threads can share.
struct Cuts {
  std::int64_t longest, inner, outer, blocks;
  bool even = false;  // blocks of one length rather than of `inner`
};
// The last blocks are short, so that many are left.
constexpr std::int64_t kFewBlocks = 4;
// What is read only once can be summed in short blocks at no cost: a block of as many vectors as
// there are chains covers many lines of the first cache.
constexpr Cuts kStream{512, 64, 16, 64};
// A product has as many partial results for each block as its result has elements.
constexpr Cuts kProduct{1 << 13, 1 << 12, 1 << 9, 1 << 9, true};

// True if lanes along an iterator read what lies side by side.
bool lies_along(const te::Stage& stage, int iter) {
  return reads_as_they_lie(stage, iter) &&
         std::ranges::any_of(ir::reads_of(stage.body),
                             [&](const ir::Read* read) { return touches(read->index, iter); });
}

// Using an element so often pays for laying it out anew, and so does adding up lanes seldom: of
// 768 columns, 48 rows of 768 terms are as fast either way, and 16 rows of 300.
constexpr double kWorthPacking = 64, kTermsForUse = 12;

// True for a sum of products of rows of which one operand is used too seldom to be laid out anew:
// then lanes run along both rows, and nothing is packed.
bool wants_dots(const te::Workload& view, const te::Stage& stage) {
  double fewest = kWorthPacking;  // times that an operand's element is used
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (layout_is_free(view, read->tensor)) return false;
    double uses = 1;
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
      if (stage.iters[i].kind == te::IterKind::kSpatial && !touches(read->index, i))
        uses *= static_cast<double>(stage.iters[i].extent);
    fewest = std::min(fewest, uses);
  }
  return fewest < std::min(kWorthPacking, te::terms_of(stage) / kTermsForUse);
}

// A sum of products that a register tile is for.
bool is_product(const te::Workload& view, const te::Stage& stage) {
  return has_reuse(stage) || has_panels(view, stage);
}

// The longest reduction along which everything lies; -1 if there is none of a vector or more.
int longest_row(const te::Stage& stage, std::int64_t lanes) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[i].kind != te::IterKind::kReduce || stage.iters[i].extent < lanes) continue;
    if (lies_along(stage, i) && (best < 0 || stage.iters[i].extent > stage.iters[best].extent))
      best = i;
  }
  return best;
}

// The reduction iterator that lanes run along; -1 if they do better along an axis of the result.
int row_axis(const te::Workload& view, const te::Stage& stage, std::int64_t lanes) {
  if (stage.reduce == ir::ReduceOp::kNone || lanes < 2) return -1;
  if (is_product(view, stage) && !wants_dots(view, stage)) return -1;
  const int row = longest_row(stage, lanes);
  if (row < 0 || te::terms_of(stage) < static_cast<double>(kShortRow * lanes)) return -1;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[i].kind != te::IterKind::kSpatial || 2 * stage.iters[i].extent < lanes)
      continue;
    if (lies_along(stage, i)) return -1;
  }
  return row;
}

class Splitter {
 public:
  Splitter(Prepared& prepared, const te::Workload& workload, const CpuTarget& target,
           const RowShares& shares)
      : prepared_(prepared), workload_(workload), target_(target), shares_(shares) {}

  void split(const std::string& name) {
    const auto share = shares_.find(name);
    together_ = share == shares_.end() ? 1 : share->second;
    const ir::BlockId id = prepared_.nest.find_block(name);
    const te::Workload view = view_of(prepared_.nest, workload_);
    const te::Stage stage =
        *std::ranges::find(view.stages, prepared_.nest.blocks[id].writes, &te::Stage::tensor);
    if (stage.reduce == ir::ReduceOp::kNone) return;
    const std::int64_t lanes = target_.lanes(size_of(stage.body->dtype));
    const int row = row_axis(view, stage, lanes);
    std::vector<Chain> chain;
    for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
      if (stage.iters[i].kind == te::IterKind::kReduce && i != row)
        chain.push_back({stage.iters[i].name, stage.iters[i].extent});
    std::string block = name;
    if (row >= 0) {
      const te::Iterator& it = stage.iters[row];
      const double main = work_of(view.stages[static_cast<std::size_t>(main_stage(view))]);
      const std::int64_t chains =
          chains_of(stage, it.extent / lanes, kWorthATile * work_of(stage) >= main);
      if (!give_lanes(block, it.name, lanes, chains)) return;
      chain.push_back({it.name + ".k", (it.extent + lanes * chains - 1) / (lanes * chains)});
    }
    if (stage.reduce != ir::ReduceOp::kSum || !is_float(stage.body->dtype)) return;
    if (const Cuts cuts = cuts_of(view, stage); cuts.inner > 0)
      cut(name, std::move(block), chain, cuts, lanes);
  }

 private:
  struct Chain {  // a loop in which additions to one element follow each other
    std::string loop;
    std::int64_t extent;
  };

  bool step(schedule::Step s) {
    return try_step(prepared_.nest, prepared_.steps, std::move(s), workload_.contract.free_layout);
  }

  // Vectors of partial results for a row: few where many short rows are worked on at a time.
  std::int64_t chains_of(const te::Stage& stage, std::int64_t vectors, bool tiled) const {
    std::int64_t rows = 1, chains = kEnoughChains;
    for (const te::Iterator& it : stage.iters)
      if (it.kind == te::IterKind::kSpatial) rows *= it.extent;
    rows = std::max<std::int64_t>(1, std::llround(together_ * static_cast<double>(rows)));
    const std::int64_t wanted = std::max(kEnoughChains / rows, tiled ? 1 : vectors / kLookAhead);
    while (chains > 1 && (chains > wanted || chains * kShortRow > vectors)) chains /= 2;
    return chains;
  }

  // Makes partial results: NAME.lanes, one for each lane, and NAME.vectors, one for each lane of
  // each vector under way. `block` becomes the block that computes the last of them.
  bool give_lanes(std::string& block, const std::string& loop, std::int64_t lanes,
                  std::int64_t chains) {
    const std::string name = block;
    if (!step(schedule::Split{loop, lanes * chains, loop + ".k", loop + ".w", ir::Tail::kPeel}))
      return false;
    std::string lane = loop + ".w";
    if (chains > 1) {
      if (!step(schedule::Split{lane, lanes, loop + ".u", loop + ".l", ir::Tail::kPeel}))
        return false;
      lane = loop + ".l";
    }
    if (!step(schedule::Rfactor{block, lane, name + ".lanes"})) return false;
    block = name + ".lanes";
    if (chains == 1) return true;
    const auto last =
        static_cast<int>(prepared_.nest.buffers[prepared_.nest.find_buffer(block)].shape.size()) -
        1;
    if (!step(schedule::Rfactor{block, loop + ".u", name + ".vectors", last})) return false;
    block = name + ".vectors";
    return true;
  }

  // True if the partial results are few compared with what is read, or few in all.
  static bool fits(const te::Workload& view, const te::Stage& stage, const Cuts& cuts) {
    double read = 0, partial = 1;
    for (const ir::Read* r : ir::reads_of(stage.body)) {
      double elements = 1;
      for (const std::int64_t n : view.tensors[r->tensor].shape) elements *= static_cast<double>(n);
      read += elements;
    }
    for (const te::Iterator& it : stage.iters) partial *= static_cast<double>(it.extent);
    return partial / static_cast<double>(cuts.inner) <= std::max(read, kFewPartials);
  }

  // As few parts as those of `most` elements, but of one length, and of whole vectors.
  static std::int64_t even_part(std::int64_t extent, std::int64_t most, std::int64_t lanes) {
    const std::int64_t parts = (extent + most - 1) / most, even = (extent + parts - 1) / parts;
    return std::min(most, (even + lanes - 1) / lanes * lanes);
  }

  // With longer blocks where short ones would leave too many partial results, as of sums that read
  // little many times. 0: of a product there would be too many all the same.
  static Cuts cuts_of(const te::Workload& view, const te::Stage& stage) {
    constexpr std::int64_t kLonger = 4;
    const bool product = is_product(view, stage);
    Cuts cuts = product ? kProduct : kStream;
    if (product && !fits(view, stage, cuts)) cuts.inner = 0;
    for (; cuts.inner > 0 && !fits(view, stage, cuts); cuts.longest *= kLonger)
      cuts.inner *= kLonger;
    return cuts;
  }

  // Makes the loops over blocks of the chain, the outermost last.
  std::vector<std::string> block_loops(const std::vector<Chain>& chain, const Cuts& cuts,
                                       std::int64_t lanes) {
    std::vector<std::string> outer;
    std::int64_t inside = 1;
    for (std::size_t k = chain.size(); k-- > 0;) {
      std::string loop = chain[k].loop;
      std::int64_t extent = chain[k].extent;
      if (inside * extent <= cuts.inner) {
        inside *= extent;
        continue;
      }
      const auto halve = [&](std::int64_t part) {
        const bool done =
            step(schedule::Split{loop, part, part_loop(loop), loop_in_part(loop), ir::Tail::kPeel});
        extent = (extent + part - 1) / part;
        return done;
      };
      if (const std::int64_t part = cuts.inner / inside; part > 1) {
        if (!halve(cuts.even ? even_part(extent, part, lanes) : part)) return {};
        loop = part_loop(loop);
      }
      inside = cuts.inner;
      for (; extent > cuts.blocks; loop = part_loop(loop)) {
        const bool last = extent <= cuts.blocks * kFewBlocks;
        if (!halve(last ? std::min(cuts.outer, kFewBlocks) : cuts.outer)) return {};
        outer.push_back(loop_in_part(loop));
      }
      outer.push_back(loop);
    }
    return outer;
  }

  // The loop over the largest blocks becomes the outermost dimension of the partial results.
  void cut(const std::string& name, std::string block, const std::vector<Chain>& chain,
           const Cuts& cuts, std::int64_t lanes) {
    std::int64_t length = 1;
    for (const Chain& c : chain) length *= c.extent;
    if (length <= cuts.longest) return;
    const std::vector<std::string> outer = block_loops(chain, cuts, lanes);
    for (std::size_t k = outer.size(); k-- > 0;) {
      const std::string partial = name + ".part" + (k == 0 ? "" : std::to_string(k));
      if (!step(
              schedule::Rfactor{block, outer[k], partial, static_cast<int>(outer.size() - 1 - k)}))
        return;
      block = partial;
    }
  }

  Prepared& prepared_;
  const te::Workload& workload_;
  const CpuTarget& target_;
  const RowShares& shares_;
  double together_ = 1;  // the share of all rows that the stage does at a time
};

}  // namespace

void split_reductions(Prepared& prepared, const te::Workload& workload, const CpuTarget& target,
                      const RowShares& shares) {
  Splitter splitter(prepared, workload, target, shares);
  std::vector<std::string> names;
  for (const ir::BlockId id : prepared.nest.blocks_in_order())
    names.push_back(prepared.nest.blocks[id].name);
  for (const std::string& name : names) splitter.split(name);
}

}  // namespace lathe::space
