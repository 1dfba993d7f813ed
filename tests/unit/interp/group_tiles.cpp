#include "unit/interp/group_tiles.h"

#include <algorithm>

namespace lathe::testing {

using namespace flat;
using enum flat::BinaryOp;

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Staging::Staging(GroupBuilder& builder) : b_(builder) {
  how_ = b_.options.copies
             ? b_.pick({How::kAtOnce, How::kThroughRegisters, How::kByCopies, How::kByCopies})
             : b_.pick({How::kAtOnce, How::kThroughRegisters});
  stages_ = static_cast<int>(b_.rng.between(1, how_ == How::kByCopies ? 4 : 2));
  ring_ = stages_;
}

int Staging::pick_lanes(Dtype dtype) {
  if (how_ != How::kByCopies) return b_.pick({1, 2, 3, 4});
  return std::max(b_.pick({4, 8, 16}) / size_of(dtype), 1);
}

// A place has a fault in all stages: in one alone it might do no harm. A mask that is dropped lets
// some item read behind the source: the last vector of the chunk over the end of the last row is
// there. A vector beside its place is misaligned wherever it is; those under masks may be anywhere.
void Staging::place(const char* name, Tile tile, int unit) {
  tile.pitch = rounded_up(tile.columns, unit) + unit * static_cast<std::int64_t>(b_.rng.below(2));
  const Dtype dtype = b_.type_of(tile.source.buffer, 1).dtype;
  tile.buffer = b_.group_buffer(name, dtype, stages_ * tile.rows * tile.pitch);
  names_.insert(name);
  const bool masked = tile.row_tail || tile.column_tail;
  const bool copied = how_ == How::kByCopies;
  const bool vector = tile.lanes > 1 && (tile.lanes & (tile.lanes - 1)) == 0;
  const std::set<std::string> both_names = {name, b_.name_of(tile.source.buffer)};
  if (masked) tile.unmasked = b_.faulty(Planted::kTailMaskDropped, both_names);
  if (vector) tile.place_beside = b_.faulty(Planted::kVectorShiftedByOne, both_names);
  if (vector && (copied || !masked))
    tile.source_beside = b_.faulty(Planted::kVectorShiftedByOne, both_names);
  if (how_ == How::kThroughRegisters)
    for (std::int64_t v = 0; v < tile.vectors(); v += b_.items())
      tile.regs.push_back(b_.new_reg({dtype, tile.lanes}));
  tiles_.push_back(std::move(tile));
}

Expr Staging::place_of(const Tile& tile, const Expr& stage, const Expr& row,
                       const Expr& column) const {
  const Expr line = plus(times(stage, tile.rows), row);
  return plus(times(line, tile.pitch), column);
}
Expr Staging::element(std::size_t tile, const Expr& stage, const Expr& row,
                      const Expr& column) const {
  return place_of(tiles_[tile], stage, row, column);
}

// Vectors go to the items in turn.
Stmt Staging::each_vector(const Tile& tile, const OnVector& body) {
  std::vector<Stmt> all;
  const std::int64_t per_row = tile.columns / tile.lanes;
  for (std::int64_t first = 0; first < tile.vectors(); first += b_.items()) {
    const Expr vector = plus(b_.item_number(), first);
    const bool last = first + b_.items() > tile.vectors();
    all.push_back(
        when(last ? below(vector, tile.vectors()) : nullptr,
             body(all.size(), over(vector, per_row), times(modulo(vector, per_row), tile.lanes))));
  }
  return seq(std::move(all));
}

Expr Staging::inside(const Tile& tile, const Expr& row, const Expr& column) const {
  if (tile.unmasked) return nullptr;
  return both(tile.row_tail ? below(row, tile.source.rows) : nullptr,
              tile.column_tail ? below(column, tile.source.columns) : nullptr);
}

namespace {

Expr source_index(const Tile& tile, const Expr& row, const Expr& column) {
  const Expr index = plus(times(row, tile.source.columns), column);
  return tile.source_beside ? plus(index, 1) : index;
}

}  // namespace

// Of the source.
Expr Staging::loaded(const Tile& tile, const Expr& row, const Expr& column) const {
  const Expr mask = inside(tile, row, column);
  return load(tile.source.buffer, source_index(tile, row, column),
              b_.type_of(tile.source.buffer, tile.lanes),
              mask ? broadcast(mask, tile.lanes) : nullptr);
}

Stmt Staging::fill(const Expr& chunk, const Expr& stage) {
  std::vector<Stmt> all;
  for (const Tile& tile : tiles_)
    all.push_back(each_vector(tile, [&](std::size_t, const Expr& row, const Expr& column) {
      const Expr place = place_of(tile, stage, row, column);
      return store(tile.buffer, tile.place_beside ? plus(place, 1) : place,
                   loaded(tile, plus(tile.row(chunk), row), plus(tile.column(chunk), column)));
    }));
  return seq(std::move(all));
}

Stmt Staging::load_regs(const Expr& chunk) {
  std::vector<Stmt> all;
  for (const Tile& tile : tiles_)
    all.push_back(each_vector(tile, [&](std::size_t v, const Expr& row, const Expr& column) {
      return reg_write(tile.regs[v],
                       loaded(tile, plus(tile.row(chunk), row), plus(tile.column(chunk), column)));
    }));
  return seq(std::move(all));
}

Stmt Staging::store_regs(const Expr& stage) {
  std::vector<Stmt> all;
  for (const Tile& tile : tiles_)
    all.push_back(each_vector(tile, [&](std::size_t v, const Expr& row, const Expr& column) {
      const Expr place = place_of(tile, stage, row, column);
      return store(tile.buffer, tile.place_beside ? plus(place, 1) : place,
                   reg_read(tile.regs[v], b_.type_of(tile.buffer, tile.lanes)));
    }));
  return seq(std::move(all));
}

Stmt Staging::copy(const Expr& chunk, const Expr& stage, const Expr& exists) {
  std::vector<Stmt> all;
  for (const Tile& tile : tiles_)
    all.push_back(each_vector(tile, [&](std::size_t, const Expr& in_row, const Expr& in_column) {
      const Expr row = plus(tile.row(chunk), in_row), column = plus(tile.column(chunk), in_column);
      const Expr place = place_of(tile, stage, in_row, in_column);
      return async_copy(tile.buffer, tile.place_beside ? plus(place, 1) : place, tile.source.buffer,
                        source_index(tile, row, column), tile.lanes,
                        both(exists, inside(tile, row, column)));
    }));
  return seq(std::move(all));
}

// Without it, or one batch short, the first chunk is used before it is there: its batch is the one
// that is awaited first.
Stmt Staging::await(int pending) {
  if (b_.faulty(Planted::kWaitRemoved, names_)) return seq({});
  return await_copies(b_.faulty(Planted::kOnePendingTooMany, names_) ? pending + 1 : pending);
}

// Of two places a barrier between filling and using is enough: between filling one again and its
// last use lies the other's barrier. With one place it is filled while it is used, in the same
// interval, which is a race where an item uses what another one fills, and there are two chunks.
Stmt Staging::run_at_once(std::int64_t chunks, const Use& use) {
  if (stages_ == 2 && chunks >= 2 && crosses_ && b_.faulty(Planted::kOneStageTooFew, names_))
    ring_ = 1;
  return b_.loop("c", chunks, [&](const Expr& c) {
    std::vector<Stmt> all = {fill(c, stage_of(c)), barrier(), use(c, stage_of(c))};
    if (stages_ == 1) all.push_back(barrier(chunks >= 2));
    return seq(std::move(all));
  });
}

Stmt Staging::run_through_registers(std::int64_t chunks, const Use& use) {
  const auto next = [&](const Expr& c, const Stmt& body) {
    return chunks == 1 ? seq({}) : if_then(below(plus(c, 1), chunks), body);
  };
  if (stages_ == 1) {
    const Stmt first = load_regs(number(0));
    return seq({first, b_.loop("c", chunks, [&](const Expr& c) {
                  const Stmt filled = seq({store_regs(number(0)), barrier()});
                  const Stmt ahead = next(c, load_regs(plus(c, 1)));
                  return seq({filled, ahead, use(c, number(0)), barrier(chunks >= 2)});
                })});
  }
  if (chunks >= 2 && crosses_ && b_.faulty(Planted::kOneStageTooFew, names_)) ring_ = 1;
  const Stmt first = seq({load_regs(number(0)), store_regs(number(0))});
  return seq({first, b_.loop("c", chunks, [&](const Expr& c) {
                const Stmt ahead = seq({barrier(), next(c, load_regs(plus(c, 1)))});
                return seq({ahead, use(c, stage_of(c)), next(c, store_regs(stage_of(plus(c, 1))))});
              })});
}

Stmt Staging::run_one_copied(std::int64_t chunks, const Use& use) {
  return b_.loop("c", chunks, [&](const Expr& c) {
    const Stmt there = seq({copy(c, number(0), nullptr), commit_copies(), await(0)});
    const Stmt seen = barrier();
    return seq({there, seen, use(c, number(0)), barrier(chunks >= 2)});
  });
}

// The copies of a chunk begin when the chunk before has been used: stages - 1 are on their way. In
// a ring of one place less they go over the chunk that is being used, where so many chunks exist.
Stmt Staging::run_copied(std::int64_t chunks, const Use& use) {
  if (stages_ == 1) return run_one_copied(chunks, use);
  if (chunks >= stages_ && crosses_ && b_.faulty(Planted::kOneStageTooFew, names_)) --ring_;
  const int ahead = stages_ - 1;
  const bool branches = b_.rng.chance(0.5), first_copies = b_.rng.chance(0.5);
  std::vector<Stmt> all;
  for (int s = 0; s < ahead; ++s) {
    if (s < chunks) all.push_back(copy(number(s), stage_of(number(s)), nullptr));
    all.push_back(commit_copies());
  }
  all.push_back(b_.loop("c", chunks, [&](const Expr& c) {
    const Expr next = plus(c, ahead), exists = below(next, chunks);
    const Stmt there = seq({await(ahead - 1), barrier()});
    const Stmt copies = seq({branches ? if_then(exists, copy(next, stage_of(next), nullptr))
                                      : copy(next, stage_of(next), exists),
                             commit_copies()});
    const Stmt used = use(c, stage_of(c));
    return first_copies ? seq({there, copies, used}) : seq({there, used, copies});
  }));
  return seq(std::move(all));
}

Stmt Staging::run(std::int64_t chunks, const Use& use) {
  switch (how_) {
    case How::kAtOnce: return run_at_once(chunks, use);
    case How::kThroughRegisters: return run_through_registers(chunks, use);
    case How::kByCopies: return run_copied(chunks, use);
  }
  return nullptr;
}

}  // namespace lathe::testing
