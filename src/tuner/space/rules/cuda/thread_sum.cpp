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
    // The parts of a result lie where neighbouring threads have neighbouring elements. Along the
    // sum, a thread has one for each element of a vector.
    const int dim = sum_.along_sum ? -1 : 0;
    partial_ = name_ + ".threads";
    step(schedule::Rfactor{name_, k_ + ".w", partial_, dim, ir::Scope::kGroup});
    split_parts();
    keep_partial();
    step(schedule::ReverseComputeAt{name_, block_});
    add_in_two_steps(dim);
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
    split(k_, times(sizes_.threads, number(lanes())), k_ + ".o", k_ + ".w");
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
    order.push_back(k_ + ".w");
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (stage_.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kReduce && i != sum_.sum)
        order.push_back(loop(i));
    order.push_back(k_ + ".s");
    order.push_back(k_ + ".u");
    if (in_vectors()) order.push_back(i_ + ".l");
    step(schedule::Reorder{order});
    inner_.assign(std::ranges::find(order, k_ + ".w") + 1, order.end());
  }

  // k.w into k.t of threads and k.l of a vector, which is innermost.
  void split_parts() {
    split(k_ + ".w", number(lanes()), k_ + ".t", k_ + ".l");
    Names order = inner_;
    if (in_vectors()) order.insert(order.end() - 1, k_ + ".l");
    else order.push_back(k_ + ".l");
    order.insert(order.begin(), k_ + ".t");
    step(schedule::Reorder{order});
  }
  std::int64_t lanes() const { return sum_.along_sum ? sum_.width : 1; }

  // The sums that are under way, in registers.
  void keep_partial() {
    const std::string acc = name_ + ".acc";
    if (!sum_.along_sum) return keep(partial_, acc, k_ + ".t", 1, in_vectors());
    auto layout = dims_in_order(0, false);
    const auto part = static_cast<int>(dims_);
    layout.push_back({part, lanes()});
    layout.push_back({part, std::int64_t{1}});
    step(schedule::Cache{partial_, acc, k_ + ".t", ir::Scope::kRegister, layout});
    for (std::size_t i = 0; i < layout.size(); ++i)
      kind(fmt::format("{}.d{}", acc, i),
           lanes() > 1 && i + 1 == layout.size() ? LoopKind::kVectorized : LoopKind::kUnrolled);
  }

  // Some threads add up what the others have, and one what these have.
  void add_in_two_steps(int dim) {
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
    step(schedule::Rfactor{name_, some, few, dim, ir::Scope::kGroup});
    step(schedule::ReverseComputeAt{name_, block_});
    if (in_vectors()) kind(lane, LoopKind::kVectorized);
    keep(few, few + ".acc", some, 1, in_vectors());
    kind(result, sum_.along_sum ? LoopKind::kThreadY : LoopKind::kThreadX);
    kind(some, sum_.along_sum ? LoopKind::kThreadX : LoopKind::kThreadY);
  }
  // Of loops along the dimensions of the result, the one along several results of the block.
  const std::string& result_loop(const Names& loops) const {
    return loops[static_cast<std::size_t>(vector_dim_)];
  }

  void bind_loops() {
    blocks_ = fused(far_, name_ + ".far");
    kind(blocks_, LoopKind::kBlockX);
    kind(i_ + ".i", sum_.along_sum ? LoopKind::kThreadY : LoopKind::kThreadX);
    kind(k_ + ".t", sum_.along_sum ? LoopKind::kThreadX : LoopKind::kThreadY);
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
    kind(result, sum_.along_sum ? LoopKind::kThreadY : LoopKind::kThreadX);
    kind(parts, LoopKind::kUnrolled);
    if (!lane.empty()) kind(lane, LoopKind::kVectorized);
    place_maps(result, in_vectors());
  }

  void write_out() {
    kind(k_ + ".u", LoopKind::kUnrolled);
    kind(k_ + ".l", lanes() > 1 ? LoopKind::kVectorized : LoopKind::kUnrolled);
    if (in_vectors()) kind(i_ + ".l", LoopKind::kVectorized);
  }

  const ThreadSum& sum_;
  const ThreadSumSizes& sizes_;
  std::string i_, k_, block_, partial_;
  std::string blocks_;  // the loop that all of far_ became
  Names far_, inner_;   // loops of blocks, and those of a part of a sum
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

// Elements of a vector of 16 bytes, if all of them begin at multiples of that.
std::int64_t lanes_along(const ItemStage& stage, const ir::Read& read, int contiguous) {
  constexpr int kBytes = 16;
  const auto& source = stage.view->tensors[static_cast<std::size_t>(read.tensor)];
  const std::int64_t lanes = kBytes / size_of(source.dtype);
  // Parts of a sum may end within a vector: bounds of them are told element by element.
  const bool aligned = source.shape.back() % lanes == 0 && read.index.back().offset == 0 &&
                       read.index.back().terms.size() == 1;
  return aligned && stage.extent(contiguous) % lanes == 0 ? lanes : 1;
}

}  // namespace

ThreadSum thread_sum_of(const ItemStage& stage) {
  const te::Stage& of = stage.get();
  ThreadSum out;
  if (of.reduce == ir::ReduceOp::kNone || has_reuse(of) || !writes_plainly(*stage.view, of) ||
      reduced_by(of) < static_cast<double>(kTermsOfOneThread))
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
  ThreadSumBuilder(stage, sum, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
