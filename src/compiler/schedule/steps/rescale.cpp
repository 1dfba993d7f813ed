#include "compiler/schedule/steps/rescale.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/steps/extreme_term.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BlockId;
using ir::BlockIter;
using ir::BufferId;
using ir::Expr;

// A block that reduces partial results, and the one that makes them. Both have an iterator for each
// dimension of the partial results.
struct Parts {
  BlockId all = -1, part = -1;
  BufferId partial = -1;
  std::size_t dim = 0;  // which tells the part
  std::vector<int> of_all, of_part;
};

class Rescaler {
 public:
  Rescaler(ir::Nest& nest, const Rescale& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    sum_ = LATHE_TRY(parts_of(step_.block));
    extreme_ = LATHE_TRY(parts_of(step_.by));
    const ir::ReduceOp op = block(extreme_.all).reduce;
    if (op != ir::ReduceOp::kMax && op != ir::ReduceOp::kMin)
      return refuse(Refusal::kNotAnExtreme, step_.by);
    LATHE_TRY_STATUS(check_places());
    LATHE_TRY_STATUS(find_rows());
    LATHE_TRY_STATUS(match_iters());
    return rewrite(op);
  }

 private:
  const ir::Block& block(BlockId id) const { return nest_.blocks[static_cast<std::size_t>(id)]; }
  const ir::Buffer& buffer(BufferId id) const {
    return nest_.buffers[static_cast<std::size_t>(id)];
  }
  const BlockIter& iter(BlockId id, int number) const {
    return block(id).iters[static_cast<std::size_t>(number)];
  }

  // The only block that writes the buffer, with all its digits; -1 if there are several.
  BlockId only_writer(BufferId id) const {
    const auto writers = analysis::writers_of(nest_, id);
    return writers.size() == 1 && !nest_.is_write_back(writers[0]) ? writers[0] : -1;
  }

  StepResult<Parts> parts_of(const std::string& name) const {
    Parts out;
    out.all = LATHE_TRY(block_named(nest_, name));
    const ir::Block& all = block(out.all);
    const auto* read = std::get_if<ir::Read>(&all.body->value);
    if (read == nullptr || read->pad || only_writer(all.writes) != out.all)
      return refuse(Refusal::kNoParts, name);
    out.partial = read->tensor;
    out.part = only_writer(out.partial);
    if (out.part < 0 || all.reduce == ir::ReduceOp::kNone) return refuse(Refusal::kNoParts, name);
    const ir::Block& part = block(out.part);
    if ((part.reduce != all.reduce && part.reduce != ir::ReduceOp::kNone) ||
        part.body->dtype != buffer(out.partial).dtype || part.body->dtype != all.body->dtype ||
        is_tensorized(nest_, part.parent))
      return refuse(Refusal::kNoParts, name);
    int over = 0;
    for (std::size_t d = 0; d < read->index.size(); ++d) {
      const int a = plain_iter(read->index[d]), p = plain_iter(part.index[d]);
      if (a < 0 || p < 0 || read->index[d].offset != 0 || part.index[d].offset != 0 ||
          std::ranges::count(out.of_all, a) > 0 || std::ranges::count(out.of_part, p) > 0)
        return refuse(Refusal::kNoParts, name);
      out.of_all.push_back(a);
      out.of_part.push_back(p);
      if (iter(out.all, a).kind != ir::IterKind::kReduce) continue;
      out.dim = d;
      ++over;
    }
    if (over != 1) return refuse(Refusal::kNoParts, name);
    return out;
  }

  // What the blocks read anew is there: all of it lives as long as what they have read so far, and
  // is complete before the parts of the sum begin.
  StepResult<void> check_places() const {
    const BufferId extreme = block(extreme_.all).writes;
    if (analysis::readers_of(nest_, sum_.partial) != std::vector<BlockId>{sum_.all})
      return refuse(Refusal::kMultipleConsumers, step_.block);
    const ir::LoopId home = buffer(extreme).at;
    if (sum_.all == extreme_.all || !analysis::reads(block(sum_.part), extreme))
      return refuse(Refusal::kNotAnExtreme, step_.block);
    if (buffer(extreme_.partial).at != home || buffer(sum_.partial).at != home ||
        !nest_.is_inside({ir::Item::Kind::kBlock, sum_.all}, home))
      return refuse(Refusal::kBreaksDependence, step_.block);
    const int place = analysis::child_with(nest_, home, sum_.part);
    for (const BlockId before : {extreme_.part, extreme_.all})
      if (analysis::child_with(nest_, home, before) >= place ||
          analysis::is_partial_at(nest_, before, home))
        return refuse(Refusal::kBreaksDependence, step_.block);
    return {};
  }

  // Where in the extreme the terms find theirs.
  StepResult<void> find_rows() {
    const BufferId extreme = block(extreme_.all).writes;
    if (ir::looks_up(block(sum_.part).body, extreme))
      return refuse(Refusal::kNotAnExtreme, step_.block);
    for (const ir::Read* read : ir::reads_of(block(sum_.part).body)) {
      if (read->tensor != extreme) continue;
      if (read->pad || (found_ && rows_ != read->index))
        return refuse(Refusal::kNotAnExtreme, step_.block);
      found_ = true;
      rows_ = read->index;
    }
    for (std::size_t d = 0; d < rows_.size(); ++d) {
      const Affine& row = rows_[d];
      if (row == Affine::constant(0) && is_one(nest_.sizes, buffer(extreme).shape[d])) continue;
      const int i = plain_iter(row);
      const auto at = std::ranges::find(sum_.of_part, i);
      if (i < 0 || row.offset != 0 || at == sum_.of_part.end() ||
          at - sum_.of_part.begin() == static_cast<std::ptrdiff_t>(sum_.dim))
        return refuse(Refusal::kNotAnExtreme, step_.block);
    }
    // The dimension of the sum's partial results for each of the extreme's.
    for (std::size_t d = 0; d < extreme_.of_all.size(); ++d) {
      if (d == extreme_.dim) {
        dims_.push_back(sum_.dim);
        continue;
      }
      const auto& index = block(extreme_.all).index;
      const auto row = std::ranges::find_if(
          index, [&](const Affine& r) { return r == Affine::iter(extreme_.of_all[d]); });
      if (row == index.end()) return refuse(Refusal::kNoParts, step_.by);
      const int i = plain_iter(rows_[static_cast<std::size_t>(row - index.begin())]);
      if (i < 0) dims_.push_back(kOnlyOne);
      else
        dims_.push_back(
            static_cast<std::size_t>(std::ranges::find(sum_.of_part, i) - sum_.of_part.begin()));
    }
    return {};
  }

  // Each element of a part of the sum belongs to the same part of the extreme: the iterators
  // that are summed over take the same values in it.
  StepResult<void> match_iters() {
    const ir::Block &part = block(extreme_.part), &sum = block(sum_.part);
    of_extreme_.assign(part.iters.size(), {});
    for (std::size_t d = 0; d < dims_.size(); ++d)
      of_extreme_[static_cast<std::size_t>(extreme_.of_part[d])] = place_in(sum_.of_part, dims_[d]);
    std::vector<int> summed;
    for (int i = 0; i < static_cast<int>(sum.iters.size()); ++i)
      if (!iter(sum_.part, i).guard && std::ranges::count(sum_.of_part, i) == 0)
        summed.push_back(i);
    std::size_t next = 0;
    for (int i = 0; i < static_cast<int>(part.iters.size()); ++i) {
      if (iter(extreme_.part, i).guard) return refuse(Refusal::kOtherParts, step_.block);
      if (std::ranges::count(extreme_.of_part, i) > 0) continue;
      if (next == summed.size() || !same_values(i, summed[next]))
        return refuse(Refusal::kOtherParts, step_.block);
      of_extreme_[static_cast<std::size_t>(i)] = Affine::iter(summed[next++]);
    }
    if (next != summed.size()) return refuse(Refusal::kOtherParts, step_.block);
    const int e = extreme_.of_part[extreme_.dim], s = sum_.of_part[sum_.dim];
    if (!same_values(e, s)) return refuse(Refusal::kOtherParts, step_.block);
    return {};
  }

  // Loops that tell the part correspond, and so do those inside it, which nothing else drives.
  bool same_values(int e, int s) const {
    const BlockIter &a = iter(extreme_.part, e), &b = iter(sum_.part, s);
    return a.extent == b.extent && a.offset == ir::SizeId::kNone && b.offset == ir::SizeId::kNone &&
           std::ranges::equal(a.digits, b.digits, [&](const auto& x, const auto& y) {
             const bool same = x.weight == y.weight && x.div == y.div && x.mod == y.mod &&
                               nest_.loops[x.loop].extent == nest_.loops[y.loop].extent;
             return same && tells_part(extreme_, x.loop) == tells_part(sum_, y.loop) &&
                    (tells_part(sum_, y.loop) ||
                     (drives_no_index(extreme_, x.loop) && drives_no_index(sum_, y.loop)));
           });
  }
  bool tells_part(const Parts& parts, ir::LoopId loop) const {
    const auto& digits = iter(parts.part, parts.of_part[parts.dim]).digits;
    return std::ranges::find(digits, loop, &ir::LoopDigit::loop) != digits.end();
  }
  bool drives_no_index(const Parts& parts, ir::LoopId loop) const {
    return std::ranges::none_of(parts.of_part, [&](int i) {
      const auto& digits = iter(parts.part, i).digits;
      return std::ranges::find(digits, loop, &ir::LoopDigit::loop) != digits.end();
    });
  }

  static Affine place_in(const std::vector<int>& iters, std::size_t dim) {
    return dim == kOnlyOne ? Affine::constant(0) : Affine::iter(iters[dim]);
  }

  // An access of a block of the sum: of the extreme's partial results, by `iters` for the
  // dimensions of the sum's.
  Expr own_extreme(const std::vector<int>& iters) const {
    std::vector<Affine> index;
    for (const std::size_t d : dims_) index.push_back(place_in(iters, d));
    return ir::read(extreme_.partial, std::move(index), buffer(extreme_.partial).dtype);
  }

  StepResult<void> rewrite(ir::ReduceOp op) {
    const BufferId whole = block(extreme_.all).writes;
    if (buffer(whole).dtype != buffer(extreme_.partial).dtype)
      return refuse(Refusal::kNotAnExtreme, step_.by);
    bool plain = true;
    const Expr element = ir::rewrite_leaves(block(extreme_.part).body, [&](const Expr& leaf) {
      if (const auto* read = std::get_if<ir::Read>(&leaf->value)) {
        std::vector<Affine> index;
        for (const Affine& row : read->index) index.push_back(ir::substitute(row, of_extreme_));
        return ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
      }
      plain = false;
      return leaf;
    });
    const auto term = plain ? extreme_term_of(block(sum_.part).body, block(sum_.all).reduce,
                                              {whole, op, element, own_extreme(sum_.of_part)})
                            : std::nullopt;
    if (!term) return refuse(Refusal::kNotAnExtreme, step_.block);
    std::vector<Affine> rows;
    for (const Affine& row : rows_) {
      const auto d = std::ranges::find(sum_.of_part, plain_iter(row)) - sum_.of_part.begin();
      const bool one = row.terms.empty();
      rows.push_back(one ? row : Affine::iter(sum_.of_all[static_cast<std::size_t>(d)]));
    }
    ir::Block& all = nest_.blocks[static_cast<std::size_t>(sum_.all)];
    all.body = contribution(*term, op, all.body, own_extreme(sum_.of_all),
                            ir::read(whole, std::move(rows), buffer(whole).dtype));
    nest_.blocks[static_cast<std::size_t>(sum_.part)].body = term->body;
    return {};
  }

  ir::Nest& nest_;
  const Rescale& step_;
  Parts sum_, extreme_;
  bool found_ = false;
  std::vector<Affine> rows_;  // of the extreme, as the parts of the sum read it
  static constexpr auto kOnlyOne = static_cast<std::size_t>(-1);  // of one element: always at 0
  std::vector<std::size_t> dims_;                                 // see find_rows()
  // The iterators of the extreme's parts, in those of the sum's.
  std::vector<Affine> of_extreme_;
};

}  // namespace

std::string Rescale::text() const { return fmt::format("rescale {} by {}", block, by); }

StepResult<void> apply_step(ir::Nest& nest, const Rescale& step) {
  return Rescaler(nest, step).run();
}

}  // namespace lathe::schedule
