#include "compiler/schedule/steps/locate.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/steps/extreme_term.h"

namespace lathe::schedule {
namespace {

using ir::Affine;
using ir::BinaryOp;
using ir::BlockId;
using ir::BufferId;
using ir::Expr;
using ir::ReduceOp;

bool takes_extreme(ReduceOp op) { return op == ReduceOp::kMin || op == ReduceOp::kMax; }

Expr place_number(std::int64_t value, Dtype dtype = Dtype::kI64) {
  return ir::constant(static_cast<double>(value), dtype);
}

class Locator {
 public:
  Locator(ir::Nest& nest, const Locate& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    place_ = LATHE_TRY(block_named(nest_, step_.block));
    extreme_ = LATHE_TRY(block_named(nest_, step_.by));
    LATHE_TRY_STATUS(check_new_name(nest_, step_.name));
    LATHE_TRY_STATUS(find_parts());
    LATHE_TRY_STATUS(find_place());
    LATHE_TRY_STATUS(match_elements());
    LATHE_TRY_STATUS(check_order());
    add_start();
    LATHE_TRY_STATUS(make_parts_whole());
    return go_through_part();
  }

 private:
  const ir::Block& block(BlockId id) const { return nest_.blocks[static_cast<std::size_t>(id)]; }
  const ir::Buffer& buffer(BufferId id) const {
    return nest_.buffers[static_cast<std::size_t>(id)];
  }
  std::int64_t value_of(ir::SizeId size) const { return nest_.sizes.constant_value(size); }

  // The block that makes the extremes of parts: its reduction goes through parts of `length_`.
  StepResult<void> find_parts() {
    const ir::Block& all = block(extreme_);
    const auto* read = std::get_if<ir::Read>(&all.body->value);
    if (!takes_extreme(all.reduce) || read == nullptr || read->pad ||
        !has_first_loops(nest_, extreme_))
      return refuse(Refusal::kNotAnExtreme, step_.by);
    partial_ = read->tensor;
    const auto writers = analysis::writers_of(nest_, partial_);
    if (writers.size() != 1 || block(writers[0]).reduce != all.reduce ||
        buffer(partial_).dtype != buffer(all.writes).dtype || buffer(partial_).at != ir::kRoot ||
        buffer(all.writes).at != ir::kRoot)
      return refuse(Refusal::kNoParts, step_.by);
    part_ = writers[0];
    of_part_.assign(block(part_).iters.size(), std::nullopt);
    for (int i = 0; i < static_cast<int>(block(part_).iters.size()); ++i)
      if (block(part_).iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kReduce) {
        if (through_ >= 0) return refuse(Refusal::kNoParts, step_.by);
        through_ = i;
      }
    if (through_ < 0) return refuse(Refusal::kNoParts, step_.by);
    const ir::BlockIter& through = block(part_).iters[static_cast<std::size_t>(through_)];
    const auto plain = [](const ir::LoopDigit& digit) {
      return digit.div == ir::SizeId::kNone && digit.mod == ir::SizeId::kNone;
    };
    if (through.guard || through.offset != ir::SizeId::kNone || through.digits.size() != 2 ||
        !std::ranges::all_of(through.digits, plain) ||
        !nest_.sizes.is_constant(through.digits[0].weight) ||
        !is_one(nest_.sizes, through.digits[1].weight) || !nest_.sizes.is_constant(through.extent))
      return refuse(Refusal::kNoParts, step_.by);
    length_ = value_of(through.digits[0].weight);
    terms_ = value_of(through.extent);
    if (length_ > terms_) return refuse(Refusal::kNoParts, step_.by);
    return {};
  }

  // The reduction that is to go through one part, and where it reads the extreme.
  StepResult<void> find_place() {
    const ir::Block& place = block(place_);
    if (!takes_extreme(place.reduce) || !has_first_loops(nest_, place_) ||
        buffer(place.writes).constant)
      return refuse(Refusal::kNotAnExtreme, step_.block);
    for (int i = 0; i < static_cast<int>(place.iters.size()); ++i)
      if (place.iters[static_cast<std::size_t>(i)].kind == ir::IterKind::kReduce) {
        if (along_ >= 0) return refuse(Refusal::kOtherParts, step_.block);
        along_ = i;
      }
    if (along_ < 0 || value_of(place.iters[static_cast<std::size_t>(along_)].extent) != terms_)
      return refuse(Refusal::kOtherParts, step_.block);
    const BufferId extreme = block(extreme_).writes;
    bool found = false;
    for (const ir::Read* read : ir::reads_of(place.body)) {
      if (read->tensor != extreme) continue;
      if (read->pad || (found && rows_ != read->index))
        return refuse(Refusal::kNotAnExtreme, step_.block);
      found = true;
      rows_ = read->index;
    }
    if (!found || ir::looks_up(place.body, extreme))
      return refuse(Refusal::kNotAnExtreme, step_.block);
    for (std::size_t d = 0; d < rows_.size(); ++d) {
      const int i = plain_iter(rows_[d]);
      const bool one =
          rows_[d] == Affine::constant(0) && is_one(nest_.sizes, buffer(extreme).shape[d]);
      if (!one && (i < 0 || rows_[d].offset != 0 || i == along_))
        return refuse(Refusal::kNotAnExtreme, step_.block);
    }
    return {};
  }

  // What each iterator of the parts is in those of the place.
  StepResult<void> match_iters() {
    const ir::Block &all = block(extreme_), &part = block(part_);
    const auto& read = std::get<ir::Read>(all.body->value);
    of_part_[static_cast<std::size_t>(through_)] = Affine::iter(along_);
    for (std::size_t x = 0; x < read.index.size(); ++x) {
      const int e = plain_iter(read.index[x]), p = plain_iter(part.index[x]);
      if (e < 0 || p < 0 || read.index[x].offset != 0 || part.index[x].offset != 0 ||
          of_part_[static_cast<std::size_t>(p)])
        return refuse(Refusal::kNoParts, step_.by);
      if (all.iters[static_cast<std::size_t>(e)].kind == ir::IterKind::kReduce) {
        const auto& digits = part.iters[static_cast<std::size_t>(p)].digits;
        const auto& through = part.iters[static_cast<std::size_t>(through_)].digits;
        if (counts_ >= 0 || digits.size() != 1 || digits[0].loop != through[0].loop ||
            !is_one(nest_.sizes, digits[0].weight))
          return refuse(Refusal::kNoParts, step_.by);
        counts_ = static_cast<int>(x);
        dims_.push_back(-1);
        continue;
      }
      const auto row = std::ranges::find(all.index, Affine::iter(e));
      if (row == all.index.end()) return refuse(Refusal::kNoParts, step_.by);
      dims_.push_back(static_cast<int>(row - all.index.begin()));
      of_part_[static_cast<std::size_t>(p)] = rows_[static_cast<std::size_t>(dims_.back())];
    }
    if (counts_ < 0) return refuse(Refusal::kNoParts, step_.by);
    return {};
  }

  // The place is that of the elements whose extreme the other block finds.
  StepResult<void> match_elements() {
    LATHE_TRY_STATUS(match_iters());
    bool plain = true;
    std::vector<Affine> values;
    for (const auto& value : of_part_) values.push_back(value.value_or(Affine::constant(0)));
    const Expr element = ir::rewrite_leaves(block(part_).body, [&](const Expr& leaf) {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      plain = plain && read != nullptr;
      if (read == nullptr) return leaf;
      std::vector<Affine> index;
      for (const Affine& row : read->index) {
        for (const ir::AffineTerm& term : row.terms)
          plain = plain && (of_part_[static_cast<std::size_t>(term.iter)] ||
                            is_one(nest_.sizes,
                                   block(part_).iters[static_cast<std::size_t>(term.iter)].extent));
        index.push_back(ir::substitute(row, values));
      }
      return ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
    });
    const BufferId extreme = block(extreme_).writes;
    const ir::Block& place = block(place_);
    const Expr all = ir::read(extreme, rows_, buffer(extreme).dtype);
    const auto term = plain ? extreme_term_of(place.body, place.reduce,
                                              {extreme, block(extreme_).reduce, element, all})
                            : std::nullopt;
    if (!term || term->exponential) return refuse(Refusal::kNotAnExtreme, step_.block);
    keeps_nan_ = term->keeps_nan;
    return {};
  }

  // Elements further along have larger places, and any other element counts as one that is worse
  // than all of them. So nothing outside of the first (or last) part that has the extreme counts.
  StepResult<void> check_order() const {
    const ir::Block& place = block(place_);
    const auto& chosen = std::get<ir::Select>(place.body->value);
    Expr then = chosen.then;
    while (const auto* cast = std::get_if<ir::Cast>(&then->value)) then = cast->x;
    if (then->dtype != Dtype::kI64) return refuse(Refusal::kNotAnExtreme, step_.block);
    const ir::AffineAndRest parts = ir::affine_and_rest(then);
    if (parts.rest || parts.affine.coef_of(along_) <= 0)
      return refuse(Refusal::kNotAnExtreme, step_.block);
    std::int64_t low = parts.affine.offset, high = low;
    for (const ir::AffineTerm& t : parts.affine.terms) {
      const std::int64_t most =
          t.coef * (value_of(place.iters[static_cast<std::size_t>(t.iter)].extent) - 1);
      low += std::min<std::int64_t>(0, most);
      high += std::max<std::int64_t>(0, most);
    }
    const double other = std::get<ir::Const>(chosen.otherwise->value).value;
    const bool worse = place.reduce == ReduceOp::kMin ? other >= static_cast<double>(high)
                                                      : other <= static_cast<double>(low);
    if (!worse) return refuse(Refusal::kNotAnExtreme, step_.block);
    return {};
  }

  // The block that finds the part.
  void add_start() {
    const BufferId extreme = block(extreme_).writes;
    const ReduceOp op = block(place_).reduce;
    const int position = analysis::child_with(nest_, ir::kRoot, place_);
    ir::Buffer start;
    start.name = step_.name;
    start.dtype = Dtype::kI32;
    start.shape = buffer(extreme).shape;
    const std::vector<ir::SizeId> shape = start.shape;
    const ir::SizeId count = buffer(partial_).shape[static_cast<std::size_t>(counts_)];
    nest_.buffers.push_back(std::move(start));
    start_ = static_cast<BufferId>(nest_.buffers.size() - 1);
    ir::Block finder;
    finder.name = step_.name;
    finder.writes = start_;
    finder.reduce = op;
    ir::LoopId parent = ir::kRoot;
    const auto add = [&](const std::string& name, ir::SizeId extent, ir::IterKind kind) {
      parent = *add_loop(nest_, step_.name + "." + name, extent, parent,
                         parent == ir::kRoot ? position : -1);
      ir::BlockIter iter;
      iter.name = name;
      iter.extent = extent;
      iter.kind = kind;
      iter.digits = {{parent, nest_.sizes.constant(1)}};
      finder.iters.push_back(std::move(iter));
    };
    for (std::size_t d = 0; d < shape.size(); ++d) {
      add(fmt::format("d{}", d), shape[d], ir::IterKind::kSpatial);
      finder.index.push_back(Affine::iter(static_cast<int>(d)));
    }
    const auto which = static_cast<int>(shape.size());
    add("p", count, ir::IterKind::kReduce);
    std::vector<Affine> index;
    for (const int d : dims_) index.push_back(Affine::iter(d < 0 ? which : d));
    const Expr own = ir::read(partial_, std::move(index), buffer(partial_).dtype),
               all = ir::read(extreme, finder.index, buffer(extreme).dtype);
    Expr has = ir::binary(BinaryOp::kEq, own, all);
    if (keeps_nan_) has = ir::binary(BinaryOp::kOr, has, ir::binary(BinaryOp::kNe, own, own));
    const std::int64_t otherwise = op == ReduceOp::kMin ? value_of(count) - 1 : 0;
    finder.body = ir::select(has, ir::cast(ir::iter_value(which), Dtype::kI32),
                             place_number(otherwise, Dtype::kI32));
    add_block(nest_, std::move(finder), parent);
  }

  // Where a part begins. The last one begins earlier where it would be shorter than the others: of
  // the part before it has nothing that counts, or nothing that is better.
  Expr first_of(const Expr& part) const {
    Expr first = ir::binary(BinaryOp::kMul, part, place_number(length_));
    if (terms_ % length_ == 0 && std::holds_alternative<ir::IterValue>(part->value)) return first;
    return ir::binary(BinaryOp::kMin, first, place_number(terms_ - length_));
  }

  // An iterator of the block goes through `length_` elements from `first` on.
  StepResult<void> go_from(BlockId id, int along, const Expr& first, const std::string& subject) {
    ir::Block& changed = nest_.blocks[static_cast<std::size_t>(id)];
    std::vector<Expr> values;
    for (int i = 0; i < static_cast<int>(changed.iters.size()); ++i)
      values.push_back(ir::iter_value(i));
    Expr& value = values[static_cast<std::size_t>(along)];
    value = ir::binary(BinaryOp::kAdd, first, value);
    const auto body = ir::with_iterators(changed.body, values);
    if (!body) return refuse(Refusal::kNotAnExtreme, subject);
    changed.body = *body;
    changed.iters[static_cast<std::size_t>(along)].extent = nest_.sizes.constant(length_);
    return {};
  }

  // All parts are as long, so that loops over them and in them know nothing of each other.
  StepResult<void> make_parts_whole() {
    ir::Block& part = nest_.blocks[static_cast<std::size_t>(part_)];
    auto& digits = part.iters[static_cast<std::size_t>(through_)].digits;
    const ir::LoopId inside = digits[1].loop;
    if (nest_.loops[static_cast<std::size_t>(inside)].extent != nest_.sizes.constant(length_))
      return refuse(Refusal::kNoParts, step_.by);
    digits.erase(digits.begin());
    const int which = plain_iter(part.index[static_cast<std::size_t>(counts_)]);
    return go_from(part_, through_, first_of(ir::iter_value(which)), step_.by);
  }

  StepResult<void> go_through_part() {
    const Expr part = ir::cast(ir::read(start_, rows_, Dtype::kI32), Dtype::kI64);
    LATHE_TRY_STATUS(go_from(place_, along_, first_of(part), step_.block));
    const ir::BlockIter& iter =
        nest_.blocks[static_cast<std::size_t>(place_)].iters[static_cast<std::size_t>(along_)];
    nest_.loops[static_cast<std::size_t>(iter.digits[0].loop)].extent = iter.extent;
    return {};
  }

  ir::Nest& nest_;
  const Locate& step_;
  BlockId place_ = -1, extreme_ = -1, part_ = -1;
  BufferId partial_ = -1, start_ = -1;
  int through_ = -1;  // the iterator of the parts that goes through the elements
  int along_ = -1;    // that of the place
  int counts_ = -1;   // the dimension of the partial results that tells the part
  std::int64_t length_ = 0, terms_ = 0;
  bool keeps_nan_ = false;
  std::vector<Affine> rows_;                    // of the extreme, as the place reads it
  std::vector<int> dims_;                       // of the extreme, by dimension of its parts
  std::vector<std::optional<Affine>> of_part_;  // its iterators, in those of the place
};

}  // namespace

std::string Locate::text() const {
  return fmt::format("locate {} by parts of {}, {}", block, by, name);
}

StepResult<void> apply_step(ir::Nest& nest, const Locate& step) {
  return Locator(nest, step).run();
}

}  // namespace lathe::schedule
