#include "tuner/space/rules/cuda/thread_sum.h"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/space/rules/cuda/card_builder.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

// Sums of fewer terms are computed by one thread each.
constexpr std::int64_t kTermsOfOneThread = 32;
// Threads that add up the sums of the others.
constexpr std::int64_t kAddingThreads = 32;

// What both ways to share a sum have in common: i of results into i.g of blocks and i.i of threads.
class SharedSumBuilder : protected CardBuilder {
 protected:
  SharedSumBuilder(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                   std::int64_t width, ir::Nest& nest, schedule::Trace& trace,
                   std::set<std::string>& placed)
      : CardBuilder(stage, width, sum.result, nest, trace, placed),
        sum_(sum),
        sizes_(sizes),
        i_(loop(sum.result)),
        k_(loop(sum.sum)),
        block_(i_ + ".g") {}

  // Loops of blocks come first, then those of threads, the other reductions and these.
  void order_loops(const Names& threads, const Names& inner) {
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (stage_.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial &&
          i != sum_.result)
        far_.push_back(loop(i));
    far_.push_back(block_);
    Names order = far_;
    order.insert(order.end(), threads.begin(), threads.end());
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (stage_.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kReduce && i != sum_.sum)
        order.push_back(loop(i));
    order.insert(order.end(), inner.begin(), inner.end());
    step(schedule::Reorder{order});
  }
  void bind_blocks() {
    blocks_ = fused(far_, name_ + ".far");
    kind(blocks_, LoopKind::kBlockX);
  }
  // Of loops along the dimensions of the result, the one along several results of the block.
  const std::string& result_loop(const Names& loops) const {
    return loops[static_cast<std::size_t>(vector_dim_)];
  }

  const ThreadSum& sum_;
  const ThreadSumSizes& sizes_;
  const std::string i_, k_, block_;
  std::string blocks_;  // the loop that all of far_ became
  Names far_;           // loops of blocks
};

// Warps share a sum: lanes exchange what they have, and warps leave theirs in shared memory.
class WarpSumBuilder : private SharedSumBuilder {
 public:
  WarpSumBuilder(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                 ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed)
      : SharedSumBuilder(stage, sum, sizes, 1, nest, trace, placed) {}

  void run() {
    split_loops();
    step(schedule::Rfactor{name_, k_ + (has_warps() ? ".w" : ".l"), partial(), -1,
                           has_warps() ? ir::Scope::kGroup : ir::Scope::kLanes});
    step(schedule::ReverseComputeAt{name_, block_});
    if (has_warps())
      step(schedule::Rfactor{partial(), k_ + ".l", name_ + ".lanes", -1, ir::Scope::kLanes});
    bind_loops();
    add_up();
    placed_.insert(name_);
  }

 private:
  bool has_warps() const { return sizes_.warps > 1; }
  std::string partial() const { return name_ + (has_warps() ? ".warps" : ".lanes"); }
  LoopKind kind_of_results() const { return has_warps() ? LoopKind::kThreadZ : LoopKind::kThreadY; }

  // k of the sum into k.s, k.u (written out), k.w of warps, k.l of lanes, k.v of a vector.
  void split_loops() {
    const std::int64_t of_warp = kLanesOfSum * sum_.width;
    split(i_, sizes_.results, block_, i_ + ".i");
    split(k_, number(sizes_.warps * of_warp), k_ + ".o", k_ + ".r");
    Names threads = {i_ + ".i"};
    if (has_warps()) {
      split(k_ + ".r", number(of_warp), k_ + ".w", k_ + ".q");
      threads.push_back(k_ + ".w");
    }
    split(k_ + (has_warps() ? ".q" : ".r"), number(sum_.width), k_ + ".l", k_ + ".v");
    threads.push_back(k_ + ".l");
    split(k_ + ".o", sizes_.unroll, k_ + ".s", k_ + ".u");
    order_loops(threads, {k_ + ".s", k_ + ".u", k_ + ".v"});
  }

  void bind_loops() {
    bind_blocks();
    kind(i_ + ".i", kind_of_results());
    kind(k_ + ".l", LoopKind::kThreadX);
    kind(k_ + ".u", LoopKind::kUnrolled);
    kind(k_ + ".v", sum_.width > 1 ? LoopKind::kVectorized : LoopKind::kUnrolled);
    if (!has_warps()) return;
    kind(k_ + ".w", LoopKind::kThreadY);
    const Names loops = loops_of(partial(), blocks_);
    kind(result_loop(loops), kind_of_results());
    kind(loops[loops.size() - 2], LoopKind::kThreadY);
  }

  void add_up() {
    Names loops = loops_of(name_, blocks_);
    const std::string parts = loops.back(), result = result_loop(loops);
    loops.pop_back();
    std::erase(loops, result);
    loops.push_back(result);
    loops.push_back(parts);
    step(schedule::Reorder{loops});
    keep(name_, name_ + ".sum", result, 0, false);
    kind(result, kind_of_results());
    if (has_warps()) {
      split(parts, number(kWarpsTogether), parts + ".o", parts + ".v");
      kind(parts + ".o", LoopKind::kUnrolled);
      kind(parts + ".v", LoopKind::kVectorized);
    }
    place_maps(result, false);
  }

  static constexpr std::int64_t kWarpsTogether = 4;
};

class ThreadSumBuilder : private SharedSumBuilder {
 public:
  ThreadSumBuilder(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                   ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed)
      : SharedSumBuilder(stage, sum, sizes, sum.width, nest, trace, placed) {}

  void run() {
    split_loops();
    partial_ = name_ + ".threads";
    // The parts of a result lie where neighbouring threads have neighbouring elements.
    step(schedule::Rfactor{name_, k_ + ".t", partial_, 0, ir::Scope::kGroup});
    keep(partial_, name_ + ".acc", k_ + ".t", 1, in_vectors());
    step(schedule::ReverseComputeAt{name_, block_});
    add_in_two_steps();
    bind_blocks();
    kind(i_ + ".i", LoopKind::kThreadX);
    kind(k_ + ".t", LoopKind::kThreadY);
    add_up();
    kind(k_ + ".u", LoopKind::kUnrolled);
    if (in_vectors()) kind(i_ + ".l", LoopKind::kVectorized);
    placed_.insert(name_);
  }

 private:
  bool in_vectors() const { return width_ > 1; }

  // i.i of threads has i.l of a vector; k of the sum into k.s, k.u (written out), k.t of threads.
  void split_loops() {
    if (in_vectors()) {
      split(i_, times(sizes_.results, width()), block_, i_ + ".r");
      split(i_ + ".r", width(), i_ + ".i", i_ + ".l");
    } else {
      split(i_, sizes_.results, block_, i_ + ".i");
    }
    split(k_, sizes_.threads, k_ + ".o", k_ + ".t");
    split(k_ + ".o", sizes_.unroll, k_ + ".s", k_ + ".u");
    Names inner = {k_ + ".s", k_ + ".u"};
    if (in_vectors()) inner.push_back(i_ + ".l");
    order_loops({i_ + ".i", k_ + ".t"}, inner);
  }

  // Some threads add up what the others have, and one what these have.
  void add_in_two_steps() {
    const Names loops = loops_of(name_, block_);
    const std::string &parts = loops.back(), some = parts + ".i";
    split(parts, number(kAddingThreads), parts + ".o", some);
    const std::string few = name_ + ".few";
    // The loops get other names, for those of the result come to the same place.
    Names order, inner;
    for (std::size_t d = 0; d + 1 < loops.size(); ++d) {
      const bool lanes = in_vectors() && std::cmp_equal(d, vector_dim_);
      order.push_back(fmt::format("{}.d{}", few, d));
      inner.push_back(fmt::format("{}.e{}", few, d));
      split(loops[d], lanes ? width() : number(1), order.back(), inner.back());
    }
    const std::string result = order[static_cast<std::size_t>(vector_dim_)],
                      lane = inner[static_cast<std::size_t>(vector_dim_)];
    if (in_vectors()) std::erase(inner, lane);
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(some);
    order.push_back(parts + ".o");
    if (in_vectors()) order.push_back(lane);
    step(schedule::Reorder{order});
    step(schedule::Rfactor{name_, some, few, 0, ir::Scope::kGroup});
    step(schedule::ReverseComputeAt{name_, block_});
    if (in_vectors()) kind(lane, LoopKind::kVectorized);
    keep(few, few + ".acc", some, 1, in_vectors());
    kind(result, LoopKind::kThreadX);
    kind(some, LoopKind::kThreadY);
  }

  void add_up() {
    Names loops = loops_of(name_, blocks_);
    const std::string parts = loops.back();
    loops.pop_back();
    std::string result = result_loop(loops), lane;
    std::erase(loops, result);
    if (in_vectors()) {
      lane = result + ".l";
      split(result, width(), result + ".v", lane);
      result += ".v";
    }
    loops.push_back(result);
    loops.push_back(parts);
    if (!lane.empty()) loops.push_back(lane);
    step(schedule::Reorder{loops});
    keep(name_, name_ + ".sum", result, 0, in_vectors());
    kind(result, LoopKind::kThreadX);
    kind(parts, LoopKind::kUnrolled);
    if (!lane.empty()) kind(lane, LoopKind::kVectorized);
    place_maps(result, in_vectors());
  }

  std::string partial_;
};

// True if the row goes through its dimension element by element, none twice: no window does.
bool walks_once(const ItemStage& stage, const ir::Affine& row) {
  std::vector<ir::AffineTerm> terms = row.terms;
  std::ranges::sort(terms, {}, &ir::AffineTerm::coef);
  std::int64_t below = 1;
  for (const ir::AffineTerm& term : terms) {
    if (term.coef < below) return false;
    below = term.coef * stage.extent(term.iter);
  }
  return true;
}

// The iterator along which elements follow each other; -1: there is none.
int contiguous_iter(const ItemStage& stage, const ir::Read& read) {
  const auto once = [&](const ir::Affine& row) { return walks_once(stage, row); };
  if (read.index.empty() || !std::ranges::all_of(read.index, once)) return -1;
  for (const ir::AffineTerm& term : read.index.back().terms)
    if (term.coef == 1) return term.iter;
  return -1;
}

// Elements of a vector of 16 bytes, if all of them begin at multiples of that, also in parts of a
// sum, and none ends beyond the tensor.
std::int64_t lanes_along(const ItemStage& stage, const ir::Read& read, int contiguous) {
  constexpr int kBytes = 16;
  const auto& source = stage.view->tensors[static_cast<std::size_t>(read.tensor)];
  const std::int64_t lanes = kBytes / size_of(source.dtype);
  const ir::Affine& row = read.index.back();
  const bool aligned = source.shape.back() % lanes == 0 && row.offset % lanes == 0 &&
                       std::ranges::all_of(row.terms, [&](const ir::AffineTerm& term) {
                         return term.iter == contiguous || term.coef % lanes == 0;
                       });
  return aligned && stage.extent(contiguous) % lanes == 0 ? lanes : 1;
}

}  // namespace

ThreadSum thread_sum_of(const ItemStage& stage) {
  const te::Stage& of = stage.get();
  ThreadSum out;
  if (of.reduce == ir::ReduceOp::kNone || has_reuse(of) || !writes_plainly(*stage.view, of) ||
      te::terms_of(of) < static_cast<double>(kTermsOfOneThread))
    return out;
  // The tensor that most of the memory is read of.
  const ir::Read* most = nullptr;
  const auto size = [&](const ir::Read* read) {
    return bytes_of(stage.view->tensors[static_cast<std::size_t>(read->tensor)]);
  };
  for (const ir::Read* read : ir::reads_of(of.body))
    if (most == nullptr || size(read) > size(most)) most = read;
  const int contiguous = most == nullptr ? -1 : contiguous_iter(stage, *most);
  int longest = -1, last = -1;
  for (int i = 0; std::cmp_less(i, of.iters.size()); ++i) {
    const te::Iterator& iter = of.iters[static_cast<std::size_t>(i)];
    const bool sums = iter.kind == te::IterKind::kReduce;
    if (sums && (longest < 0 || iter.extent > stage.extent(longest))) longest = i;
    if (!sums) last = i;
  }
  if (contiguous < 0 || longest < 0 || last < 0) return out;
  out.along_sum = of.iters[static_cast<std::size_t>(contiguous)].kind == te::IterKind::kReduce;
  out.sum = out.along_sum ? contiguous : longest;
  out.result = out.along_sum ? last : contiguous;
  out.width = lanes_along(stage, *most, contiguous);
  return out;
}

void put_sum_on_threads(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                        ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) {
  if (sum.along_sum) WarpSumBuilder(stage, sum, sizes, nest, trace, placed).run();
  else ThreadSumBuilder(stage, sum, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
