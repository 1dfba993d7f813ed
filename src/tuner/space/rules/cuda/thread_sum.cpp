#include "tuner/space/rules/cuda/thread_sum.h"

#include <algorithm>

#include "tuner/space/rules/cuda/card_builder.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

// Sums of fewer terms are one thread's.
constexpr std::int64_t kFewTerms = 32;
// Threads that add up the sums of the others.
constexpr std::int64_t kAddingThreads = 16;

class ThreadSumBuilder : private CardBuilder {
 public:
  ThreadSumBuilder(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                   ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed)
      : CardBuilder(stage, sum.along_sum ? 1 : sum.width, sum.result, nest, trace, placed),
        sum_(sum),
        sizes_(sizes) {}

  void run() {
    split_loops();
    order_loops();
    // The parts of a result lie where neighbouring threads have neighbouring elements.
    const int dim = sum_.along_sum ? -1 : 0;
    partial_ = name_ + ".threads";
    step(schedule::Rfactor{name_, k_ + ".t", partial_, dim, ir::Scope::kGroup});
    keep_partial();
    step(schedule::ReverseComputeAt{name_, block_});
    if (sum_.along_sum) add_in_two_steps(dim);
    bind_loops();
    add_up();
    write_out();
    placed_.insert(name_);
  }

 private:
  bool in_vectors() const { return !sum_.along_sum && width_ > 1; }

  // i of results into i.g of blocks, i.i of threads, i.l of a vector; k of the sum into k.s, k.u
  // (written out), k.t of threads, k.l of a vector.
  void split_loops() {
    i_ = loop(sum_.result);
    k_ = loop(sum_.sum);
    if (in_vectors()) {
      split(i_, times(sizes_.results, width()), i_ + ".g", i_ + ".r");
      split(i_ + ".r", width(), i_ + ".i", i_ + ".l");
    } else {
      split(i_, sizes_.results, i_ + ".g", i_ + ".i");
    }
    const ir::SizeId lanes = number(sum_.along_sum ? sum_.width : 1);
    split(k_, times(sizes_.threads, lanes), k_ + ".o", k_ + ".w");
    split(k_ + ".w", lanes, k_ + ".t", k_ + ".l");
    split(k_ + ".o", sizes_.unroll, k_ + ".s", k_ + ".u");
  }

  void order_loops() {
    Names order;
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (stage_.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial &&
          i != sum_.result)
        far_.push_back(loop(i));
    block_ = i_ + ".g";
    far_.push_back(block_);
    order = far_;
    order.push_back(i_ + ".i");
    order.push_back(k_ + ".t");
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (stage_.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kReduce && i != sum_.sum)
        order.push_back(loop(i));
    order.push_back(k_ + ".s");
    order.push_back(k_ + ".u");
    order.push_back(k_ + ".l");
    if (in_vectors()) order.push_back(i_ + ".l");
    step(schedule::Reorder{order});
  }

  void keep_partial() {
    if (sum_.along_sum) {  // parts are behind the other dimensions, in the same order
      keep(partial_, name_ + ".acc", k_ + ".t", 1, false);
    } else {
      keep(partial_, name_ + ".acc", k_ + ".t", 1, in_vectors());
    }
  }

  // Some threads add up what the others have, and one what these have.
  void add_in_two_steps(int dim) {
    Names loops = loops_of(name_, block_);
    const std::string parts = loops.back(), some = parts + ".i";
    loops.pop_back();
    split(parts, number(kAddingThreads), parts + ".o", some);
    Names order = loops;
    order.push_back(some);
    order.push_back(parts + ".o");
    step(schedule::Reorder{order});
    const std::string few = name_ + ".few", rows = few + ".rows";
    // The loops get another name, for those of the result come to the same place.
    if (loops.size() > 1) step(schedule::Fuse{loops, rows});
    else split(loops[0], number(1), rows, few + ".row");
    step(schedule::Rfactor{name_, some, few, dim, ir::Scope::kGroup});
    step(schedule::ReverseComputeAt{name_, block_});
    kind(parts + ".o", LoopKind::kUnrolled);
    keep(few, few + ".acc", some, 1, false);
    kind(rows, LoopKind::kThreadY);
    kind(some, LoopKind::kThreadX);
  }
  // Of loops along the dimensions of the result, the one along several results of the block.
  const std::string& result_loop(const Names& loops) const {
    return loops[static_cast<std::size_t>(vector_dim_)];
  }

  void bind_loops() {
    kind(fused(far_, name_ + ".far"), LoopKind::kBlockX);
    kind(i_ + ".i", sum_.along_sum ? LoopKind::kThreadY : LoopKind::kThreadX);
    kind(k_ + ".t", sum_.along_sum ? LoopKind::kThreadX : LoopKind::kThreadY);
  }

  void add_up() {
    Names loops = loops_of(name_, far_.size() > 1 ? name_ + ".far" : block_);
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
    kind(result, sum_.along_sum ? LoopKind::kThreadY : LoopKind::kThreadX);
    if (sum_.along_sum) kind(parts, LoopKind::kUnrolled);
    if (!lane.empty()) kind(lane, LoopKind::kVectorized);
    place_maps(result, in_vectors());
  }

  void write_out() {
    kind(k_ + ".u", LoopKind::kUnrolled);
    kind(k_ + ".l", LoopKind::kUnrolled);
    if (in_vectors()) kind(i_ + ".l", LoopKind::kVectorized);
  }

  const ThreadSum& sum_;
  const ThreadSumSizes& sizes_;
  std::string i_, k_, block_, partial_;
  Names far_;  // loops of blocks
};

bool is_last_of(const ir::Read* read, int iter) {
  return !read->index.empty() && read->index.back() == ir::Affine::iter(iter);
}

}  // namespace

ThreadSum thread_sum_of(const ItemStage& stage) {
  const te::Stage& of = stage.get();
  ThreadSum out;
  if (of.reduce == ir::ReduceOp::kNone || has_reuse(of) || !writes_plainly(*stage.view, of) ||
      reduced_by(of) < static_cast<double>(kFewTerms))
    return out;
  // The tensor that most of the memory is read of.
  const ir::Read* most = nullptr;
  const auto size = [&](const ir::Read* read) {
    return bytes_of(stage.view->tensors[static_cast<std::size_t>(read->tensor)]);
  };
  for (const ir::Read* read : ir::reads_of(of.body))
    if (most == nullptr || size(read) > size(most)) most = read;
  if (most == nullptr || !all_plain(most->index)) return out;
  int longest = -1, last = -1, contiguous = -1;
  for (int i = 0; std::cmp_less(i, of.iters.size()); ++i) {
    const te::Iterator& iter = of.iters[static_cast<std::size_t>(i)];
    const bool sums = iter.kind == te::IterKind::kReduce;
    if (sums && (longest < 0 || iter.extent > stage.extent(longest))) longest = i;
    if (!sums) last = i;
    if (is_last_of(most, i)) contiguous = i;
  }
  if (contiguous < 0 || longest < 0 || last < 0) return out;
  out.along_sum = of.iters[static_cast<std::size_t>(contiguous)].kind == te::IterKind::kReduce;
  out.sum = out.along_sum ? contiguous : longest;
  out.result = out.along_sum ? last : contiguous;
  const auto& source = stage.view->tensors[static_cast<std::size_t>(most->tensor)];
  constexpr int kBytes = 16;
  const std::int64_t lanes = kBytes / size_of(source.dtype);
  out.width = stage.extent(contiguous) % lanes == 0 ? lanes : 1;
  return out;
}

void put_sum_on_threads(const ItemStage& stage, const ThreadSum& sum, const ThreadSumSizes& sizes,
                        ir::Nest& nest, schedule::Trace& trace, std::set<std::string>& placed) {
  ThreadSumBuilder(stage, sum, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
