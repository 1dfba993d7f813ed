// Elements at computed places. An index is an affine form, which may differ from lane to lane, and
// a rest, which often does not: then lanes read consecutive elements as they do of any tensor.
//
// Whatever numbers index tensors hold, no load leaves its buffer: what is not known to lie inside
// from loops and tables alone is brought inside.
#include <algorithm>
#include <limits>
#include <span>

#include "compiler/lower/expand/block_emitter.h"
#include "compiler/lower/expand/lanes.h"

namespace lathe::lower {

// One index of a Lookup at this place of the code.
struct BlockEmitter::Row {
  ir::Affine affine;
  flat::Expr rest;  // null: none
  std::int64_t size;
  Range affine_range, rest_range;  // of the iterations that run
  std::int64_t lane = 0;           // how far the affine part goes from lane to lane

  bool stays_inside() const {
    const __int128 low = static_cast<__int128>(affine_range.min) + rest_range.min;
    const __int128 high = static_cast<__int128>(affine_range.max) + rest_range.max;
    return low >= 0 && high < size;
  }
  bool differs() const { return lane != 0 || (rest && rest->type.lanes > 1); }
};

namespace {

flat::Expr number(std::int64_t value, int lanes) {
  const flat::Expr one = flat::int_imm(value);
  return lanes == 1 ? one : flat::broadcast(one, lanes);
}

flat::Expr sum(const flat::Expr& a, const flat::Expr& b) {
  const int lanes = std::max(a->type.lanes, b->type.lanes);
  return flat::binary(flat::BinaryOp::kAdd, widen(a, lanes), widen(b, lanes));
}

}  // namespace

ir::IndexRange BlockEmitter::range_here(const BlockPlan& plan, const ir::Expr& e) const {
  const auto of_iter = [&](int iter) {
    const Range r = place_.iter_range(plan, iter, true);
    return ir::IndexRange{std::min(r.min, r.max), r.max};
  };
  // Nobody keeps callers from giving other numbers than they promise: only tables are known.
  const auto of_tensor = [&](int tensor, Dtype dtype) {
    return ir::range_of_elements(nest_.buffers[tensor].literal, dtype);
  };
  return ir::range_of(e, {of_iter, of_tensor});
}

BlockEmitter::Row BlockEmitter::row_of(const Instance& at, const ir::Expr& index,
                                       std::int64_t size) {
  const ir::AffineAndRest parts = ir::affine_and_rest(index);
  Row row{parts.affine, nullptr, size, {}, {}, 0};
  const ir::IndexRange affine = range_here(*at.plan, ir::value_of(parts.affine));
  row.affine_range = {affine.low, affine.high};
  row.lane = place_.affine_lin(*at.plan, parts.affine.terms, parts.affine.offset).lane;
  if (!parts.rest) return row;
  row.rest = translate(at, parts.rest);
  const ir::IndexRange rest = range_here(*at.plan, parts.rest);
  row.rest_range = {rest.low, rest.high};
  return row;
}

// Makes the affine part a part of the rest.
void BlockEmitter::join_row(const Instance& at, Row& row) const {
  const Lin lin = place_.affine_lin(*at.plan, row.affine.terms, row.affine.offset);
  const flat::Expr affine = vector_expr(lin, at.lanes);
  row.rest = row.rest ? sum(row.rest, affine) : affine;
  row.affine = {};
  row.affine_range = {};
  row.rest_range = {std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max()};
  row.lane = 0;
}

// Brings the index inside where it may not be. Of the rest alone, if that is enough: lanes go on
// reading consecutive elements. It is not where only some iterations are reached: the others may
// make the range of the affine part larger.
void BlockEmitter::keep_inside(const Instance& at, Row& row) const {
  if (row.stays_inside()) return;
  const std::int64_t spread = row.affine_range.max - row.affine_range.min;
  if (!row.rest || spread >= row.size || (at.reached && spread > 0)) join_row(at, row);
  const std::int64_t least = -row.affine_range.min, most = row.size - 1 - row.affine_range.max;
  const int lanes = row.rest->type.lanes;
  if (row.rest_range.min < least)
    row.rest = flat::binary(flat::BinaryOp::kMax, row.rest, number(least, lanes));
  if (row.rest_range.max > most)
    row.rest = flat::binary(flat::BinaryOp::kMin, row.rest, number(most, lanes));
}

// Null: it always is.
flat::Expr BlockEmitter::is_inside(const Instance& at, const Row& row) const {
  if (row.stays_inside()) return nullptr;
  Row whole = row;
  join_row(at, whole);
  const int lanes = whole.rest->type.lanes;
  return both(flat::binary(flat::BinaryOp::kLe, number(0, lanes), whole.rest),
              flat::binary(flat::BinaryOp::kLt, whole.rest, number(row.size, lanes)));
}

flat::Expr BlockEmitter::lookup_element(const Instance& at, const ir::Lookup& lookup) {
  const ir::Buffer& buffer = nest_.buffers[lookup.tensor];
  if (plan_.storage[lookup.tensor].is_register)
    refuse(ErrorKind::kIllegalSchedule,
           "{} is in registers and read at a computed place: keep it in memory", buffer.name);
  count_access();
  std::vector<Row> rows;
  for (std::size_t d = 0; d < lookup.index.size(); ++d)
    rows.push_back(row_of(at, lookup.index[d], plan_.sized[buffer.shape[d]]));
  const auto others = std::span(rows).first(rows.size() - 1);
  const bool consecutive = rows.back().lane == 1 &&
                           !(rows.back().rest && rows.back().rest->type.lanes > 1) &&
                           std::ranges::none_of(others, &Row::differs);
  flat::Expr inside, mask = at.reached;
  for (Row& row : rows) {
    flat::Expr test = lookup.pad ? is_inside(at, row) : nullptr;
    inside = both(inside, test);
    // Lanes that lie side by side are masked where they leave the tensor; others read what they
    // may and forget it.
    if (test && consecutive && &row == &rows.back()) {
      mask = both(mask, test);
      continue;
    }
    if (test) join_row(at, row);  // the sum is inside or not, whatever its parts are
    keep_inside(at, row);
  }
  std::vector<ir::Affine> index;
  std::vector<flat::Expr> rests;
  for (Row& row : rows) {
    index.push_back(std::move(row.affine));
    rests.push_back(std::move(row.rest));
  }
  flat::Expr value =
      load_element(at, lookup.tensor, address(at, lookup.tensor, index, rests), mask, 0);
  if (!inside) return value;
  const int lanes = std::max(inside->type.lanes, value->type.lanes);
  return flat::select(widen(inside, lanes), widen(value, lanes),
                      flat::imm(*lookup.pad, {buffer.dtype, lanes}));
}

}  // namespace lathe::lower
