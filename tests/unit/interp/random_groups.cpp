#include "unit/interp/random_groups.h"

#include <numeric>

#include "unit/interp/group_builder.h"
#include "unit/interp/group_tiles.h"

namespace lathe::testing {
namespace {

using namespace flat;
using enum flat::BinaryOp;

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

// C[m,n] = sum over k of A[m,k] * B[k,n]: a group computes a tile of C, an item a part of that in
// registers, as vectors along n.
class Product {
 public:
  explicit Product(GroupBuilder& builder) : b_(builder) {}

  GroupProgram run() {
    choose();
    Staging staging(b_);
    declare(staging);
    add_tiles(staging);
    std::vector<Stmt> all = clear();
    all.push_back(staging.run(chunks_, [&](const Expr&, const Expr& stage) {
      return b_.loop("k", chunk_, [&](const Expr& k) { return multiply(staging, stage, k); });
    }));
    all.push_back(store_all());
    compute();
    return b_.finish(seq(std::move(all)));
  }

 private:
  void choose() {
    dtype_ = b_.pick({Dtype::kF32, Dtype::kF32, Dtype::kI32, Dtype::kF64});
    items_x_ = b_.pick({1, 2, 3, 4, 7});
    items_y_ = b_.pick({1, 2, 3, 5});
    item_rows_ = b_.rng.between(1, 3);
    lanes_ = b_.pick({1, 2, 4});
    rows_ = items_y_ * item_rows_;
  }
  // Rows of A and B hold whole vectors.
  void declare(Staging& staging) {
    lanes_a_ = staging.pick_lanes(dtype_), lanes_b_ = staging.pick_lanes(dtype_);
    columns_ = std::lcm(items_x_ * lanes_, lanes_b_);
    item_vectors_ = columns_ / items_x_ / lanes_;
    chunk_ = lanes_a_ * b_.rng.between(1, 3);
    m_ = b_.rng.between(1, 2 * rows_ + 1);
    n_ = lanes_b_ * b_.rng.between(1, parts(2 * columns_, lanes_b_));
    k_ = lanes_a_ * b_.rng.between(1, 5 * chunk_ / lanes_a_);
    chunks_ = parts(k_, chunk_);
    a_ = b_.input("A", dtype_, m_, k_);
    bm_ = b_.input("B", dtype_, k_, n_);
    c_ = b_.output("C", dtype_, m_, n_);
    b_.set_grid(parts(n_, columns_), parts(m_, rows_), items_x_, items_y_);
  }
  void add_tiles(Staging& staging) {
    const Expr row = times(GroupBuilder::index_of(b_.grid.groups[1]), rows_);
    const Expr column = times(GroupBuilder::index_of(b_.grid.groups[0]), columns_);
    const auto along = [this](const Expr& chunk) { return times(chunk, chunk_); };
    const auto same = [](const Expr& first) { return [first](const Expr&) { return first; }; };
    staging.add("As",
                {.source = a_,
                 .rows = rows_,
                 .columns = chunk_,
                 .lanes = lanes_a_,
                 .row = same(row),
                 .column = along,
                 .row_tail = m_ % rows_ != 0,
                 .column_tail = k_ % chunk_ != 0},
                lanes_a_, [this](std::int64_t item, std::int64_t r, std::int64_t) {
                  return item / items_x_ == r / item_rows_;
                });
    staging.add("Bs",
                {.source = bm_,
                 .rows = chunk_,
                 .columns = columns_,
                 .lanes = lanes_b_,
                 .row = along,
                 .column = same(column),
                 .row_tail = k_ % chunk_ != 0,
                 .column_tail = n_ % columns_ != 0},
                std::lcm(lanes_b_, lanes_),
                [this](std::int64_t item, std::int64_t, std::int64_t c) {
                  return item % items_x_ == c / (item_vectors_ * lanes_);
                });
  }

  Expr item_row(std::int64_t i) const {
    return plus(times(GroupBuilder::index_of(b_.grid.items[1]), item_rows_), i);
  }
  Expr item_column(std::int64_t v) const {
    return plus(times(GroupBuilder::index_of(b_.grid.items[0]), item_vectors_ * lanes_),
                v * lanes_);
  }
  std::vector<Stmt> clear() {
    std::vector<Stmt> all;
    for (std::int64_t i = 0; i < item_rows_ * item_vectors_; ++i) {
      regs_.push_back(b_.new_reg({dtype_, lanes_}));
      all.push_back(reg_write(regs_.back(), imm(0, {dtype_, lanes_})));
    }
    return all;
  }
  Stmt multiply(const Staging& staging, const Expr& stage, const Expr& k) {
    const Type type{dtype_, lanes_};
    std::vector<Stmt> all;
    std::vector<Expr> b;
    const int bs = staging.tile(1).buffer;
    for (std::int64_t v = 0; v < item_vectors_; ++v)
      b.push_back(load(
          bs, b_.vector_index(staging.element(1, stage, k, item_column(v)), bs, lanes_), type));
    for (std::int64_t i = 0; i < item_rows_; ++i) {
      const Expr a =
          load(staging.tile(0).buffer, staging.element(0, stage, item_row(i), k), {dtype_, 1});
      for (std::int64_t v = 0; v < item_vectors_; ++v) {
        const int reg = regs_[static_cast<std::size_t>(i * item_vectors_ + v)];
        all.push_back(reg_write(
            reg, fma(broadcast(a, lanes_), b[static_cast<std::size_t>(v)], reg_read(reg, type))));
      }
    }
    return seq(std::move(all));
  }
  bool is_ragged() const { return n_ % columns_ != 0 && n_ % lanes_ != 0; }
  // Where rows of C hold no whole vectors, the mask is for each lane.
  Stmt store_all() {
    const Expr row0 = times(GroupBuilder::index_of(b_.grid.groups[1]), rows_);
    const Expr column0 = times(GroupBuilder::index_of(b_.grid.groups[0]), columns_);
    const bool tails = m_ % rows_ != 0 || n_ % columns_ != 0;
    const bool dropped = tails && !is_ragged() && b_.faulty(Planted::kTailMaskDropped, {"C"});
    std::vector<Stmt> all;
    for (std::int64_t i = 0; i < item_rows_; ++i)
      for (std::int64_t v = 0; v < item_vectors_; ++v) {
        const Expr row = plus(row0, item_row(i)), column = plus(column0, item_column(v));
        const Expr value =
            reg_read(regs_[static_cast<std::size_t>(i * item_vectors_ + v)], {dtype_, lanes_});
        all.push_back(store_vector(row, column, value, dropped));
      }
    return seq(std::move(all));
  }
  Stmt store_vector(const Expr& row, const Expr& column, const Expr& value, bool unmasked) {
    const Expr rows_inside = m_ % rows_ != 0 ? below(row, m_) : nullptr;
    const Expr index = plus(times(row, n_), column);
    if (!is_ragged()) {
      const Expr inside = both(rows_inside, n_ % columns_ != 0 ? below(column, n_) : nullptr);
      const bool masked = inside && !unmasked;
      return store(c_.buffer, index, value, masked ? broadcast(inside, lanes_) : nullptr);
    }
    Expr mask = binary(kLt, ramp(column, 1, lanes_), broadcast(number(n_), lanes_));
    if (rows_inside) mask = binary(kAnd, mask, broadcast(rows_inside, lanes_));
    return store(c_.buffer, index, value, mask);
  }
  void compute() {
    for (std::int64_t i = 0; i < m_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < k_; ++k)
          sum += b_.values[0][static_cast<std::size_t>(i * k_ + k)] *
                 b_.values[1][static_cast<std::size_t>(k * n_ + j)];
        b_.want[0][static_cast<std::size_t>(i * n_ + j)] = sum;
      }
  }

  GroupBuilder& b_;
  Dtype dtype_{};
  std::int64_t items_x_ = 1, items_y_ = 1, item_rows_ = 1, item_vectors_ = 1;
  int lanes_ = 1, lanes_a_ = 1, lanes_b_ = 1;
  std::int64_t rows_ = 1, columns_ = 1, chunk_ = 1, chunks_ = 1;  // of a group's tile
  std::int64_t m_ = 1, n_ = 1, k_ = 1;
  Matrix a_{}, bm_{}, c_{};
  std::vector<int> regs_;
};

// Y[j,i] = X[i,j]: a group takes some tiles of its rows, one after the other.
class Transpose {
 public:
  explicit Transpose(GroupBuilder& builder) : b_(builder) {}

  GroupProgram run() {
    Staging staging(b_);
    const Dtype dtype = b_.pick({Dtype::kF32, Dtype::kF64, Dtype::kI8, Dtype::kF16, Dtype::kI32});
    const int lanes = staging.pick_lanes(dtype);
    const std::int64_t rows = b_.rng.between(1, 7), columns = lanes * b_.rng.between(1, 3);
    const std::int64_t chunks = b_.rng.between(1, 5), m = b_.rng.between(1, 2 * rows + 1),
                       n = lanes * b_.rng.between(1, 2 * chunks * columns / lanes);
    x_ = b_.input("X", dtype, m, n);
    y_ = b_.output("Y", dtype, n, m);
    b_.set_grid(parts(n, chunks * columns), parts(m, rows), b_.pick({1, 2, 5, 8, 13}),
                b_.pick({1, 1, 2, 3}));
    const std::int64_t items = b_.items();
    const Expr row = times(GroupBuilder::index_of(b_.grid.groups[1]), rows);
    const Expr first = times(GroupBuilder::index_of(b_.grid.groups[0]), chunks * columns);
    const auto column = [=](const Expr& chunk) { return plus(first, times(chunk, columns)); };
    const Tile tile{.source = x_,
                    .rows = rows,
                    .columns = columns,
                    .lanes = lanes,
                    .row = [row](const Expr&) { return row; },
                    .column = column,
                    .row_tail = m % rows != 0,
                    .column_tail = n % (chunks * columns) != 0};
    staging.add("T", tile, lanes, [=](std::int64_t item, std::int64_t r, std::int64_t c) {
      return (c * rows + r) % items == item;
    });
    Stmt body = staging.run(chunks, [&](const Expr& chunk, const Expr& stage) {
      return store_tile(staging, chunk, stage);
    });
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        b_.want[0][static_cast<std::size_t>(j * m + i)] =
            b_.values[0][static_cast<std::size_t>(i * n + j)];
    return b_.finish(std::move(body));
  }

 private:
  Stmt store_tile(const Staging& staging, const Expr& chunk, const Expr& stage) {
    const Tile& tile = staging.tile(0);
    const std::int64_t all = tile.rows * tile.columns, items = b_.items();
    return b_.loop("e", parts(all, items), [&](const Expr& turn) {
      const Expr e = plus(times(turn, items), b_.item_number());
      const Expr r = modulo(e, tile.rows), c = over(e, tile.rows);
      const Expr row = plus(tile.row(chunk), r), column = plus(tile.column(chunk), c);
      const Expr inside = b_.tail(both(tile.row_tail ? below(row, x_.rows) : nullptr,
                                       tile.column_tail ? below(column, x_.columns) : nullptr),
                                  y_.buffer);
      const Stmt stored = store(
          y_.buffer, plus(times(column, x_.rows), row),
          load(tile.buffer, staging.element(0, stage, r, c), b_.type_of(tile.buffer, 1)), inside);
      return when(all % items != 0 ? below(e, all) : nullptr, stored);
    });
  }

  GroupBuilder& b_;
  Matrix x_{}, y_{};
};

// Y[i,j] = X[i,j] - sum over k of X[i,k]: a group takes some rows; its items' sums are added as a
// tree in its memory, or in registers of a warp and then there.
class Rows {
 public:
  explicit Rows(GroupBuilder& builder) : b_(builder) {}

  GroupProgram run() {
    type_ = {b_.pick({Dtype::kF32, Dtype::kI32, Dtype::kF64}), 1};
    const bool warps = b_.options.exchanges && b_.rng.chance(0.4);
    const std::int64_t items =
        warps ? kWarpItems * b_.rng.between(1, 3) : b_.pick({2, 4, 8, 16, 32});
    m_ = b_.rng.between(1, 7), n_ = b_.rng.between(1, 3 * items);
    rows_ = b_.rng.between(1, 3);
    x_ = b_.input("X", type_.dtype, m_, n_);
    y_ = b_.output("Y", type_.dtype, m_, n_);
    const bool along_y = items % 4 == 0 && b_.rng.chance(0.3);
    b_.set_grid(parts(m_, rows_), 1, along_y ? items / 4 : items, along_y ? 4 : 1);
    sums_ = b_.group_buffer("S", type_.dtype, warps ? items / kWarpItems : items);
    sum_ = b_.new_reg(type_), other_ = b_.new_reg(type_);
    Stmt body = b_.loop("r", rows_, [&](const Expr& r) {
      const Expr row = plus(times(GroupBuilder::index_of(b_.grid.groups[0]), rows_), r);
      const Stmt summed = seq({sum_items(row), warps ? add_warps() : add_tree()});
      const Expr total = warps ? sum_of_warps() : load(sums_, number(0), type_);
      const Stmt all = seq({summed, reg_write(other_, total), store_row(row),
                            b_.barrier(rows_ >= 2 && m_ >= 2, {"S"})});
      return when(m_ % rows_ != 0 ? below(row, m_) : nullptr, all);
    });
    compute();
    return b_.finish(std::move(body));
  }

 private:
  Expr sum() const { return reg_read(sum_, type_); }
  Stmt add(const Expr& value) const { return reg_write(sum_, plus(sum(), value)); }

  Stmt sum_items(const Expr& row) {
    const Stmt none = reg_write(sum_, imm(0, type_));
    return seq({none, b_.loop("u", parts(n_, b_.items()), [&](const Expr& u) {
                  const Expr k = plus(times(u, b_.items()), b_.item_number());
                  const bool tail = n_ % b_.items() != 0;
                  const Expr mask = b_.tail(tail ? below(k, n_) : nullptr, x_.buffer);
                  return add(load(x_.buffer, plus(times(row, n_), k), type_, mask));
                })});
  }
  // Each level reads what others stored in the one before, and at last all read what one stored.
  Stmt add_tree() {
    const Expr item = b_.item_number();
    std::vector<Stmt> all = {store(sums_, item, sum()), b_.barrier(true, {"S"})};
    for (std::int64_t step = b_.items() / 2; step > 0; step /= 2) {
      const Expr two = plus(load(sums_, item, type_), load(sums_, plus(item, step), type_));
      all.push_back(if_then(below(item, step), store(sums_, item, two)));
      all.push_back(b_.barrier(true, {"S"}));
    }
    return seq(std::move(all));
  }
  Stmt add_warps() {
    const Expr item = b_.item_number();
    std::vector<Stmt> all;
    for (int mask = kWarpItems / 2; mask > 0; mask /= 2) {
      all.push_back(exchange(other_, sum(), mask));
      all.push_back(add(reg_read(other_, type_)));
    }
    const Expr is_first = binary(kEq, modulo(item, kWarpItems), number(0));
    all.push_back(if_then(is_first, store(sums_, over(item, kWarpItems), sum())));
    all.push_back(b_.barrier(true, {"S"}));
    return seq(std::move(all));
  }
  Expr sum_of_warps() const {
    Expr total = imm(0, type_);
    for (std::int64_t w = 0; w < b_.items() / kWarpItems; ++w)
      total = plus(total, load(sums_, number(w), type_));
    return total;
  }
  Stmt store_row(const Expr& row) {
    return b_.loop("w", parts(n_, b_.items()), [&](const Expr& w) {
      const Expr k = plus(times(w, b_.items()), b_.item_number());
      const bool tail = n_ % b_.items() != 0;
      const Expr inside = tail ? below(k, n_) : nullptr;
      const Expr place = plus(times(row, n_), k);
      const Expr value =
          binary(kSub, load(x_.buffer, place, type_, inside), reg_read(other_, type_));
      return store(y_.buffer, place, value, b_.tail(inside, y_.buffer));
    });
  }
  void compute() {
    for (std::int64_t i = 0; i < m_; ++i) {
      const auto row = static_cast<std::size_t>(i * n_);
      double total = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(n_); ++k) total += b_.values[0][row + k];
      for (std::size_t k = 0; k < static_cast<std::size_t>(n_); ++k)
        b_.want[0][row + k] = b_.values[0][row + k] - total;
    }
  }

  GroupBuilder& b_;
  Type type_;
  std::int64_t m_ = 1, n_ = 1, rows_ = 1;
  Matrix x_{}, y_{};
  int sums_ = -1, sum_ = -1, other_ = -1;
};

}  // namespace

GroupProgram random_groups(std::uint64_t seed, const RandomGroupsOptions& options,
                           std::optional<std::size_t> planted) {
  GroupBuilder builder(seed, options, planted);
  switch (builder.rng.below(3)) {
    case 0: return Product(builder).run();
    case 1: return Transpose(builder).run();
    default: return Rows(builder).run();
  }
}

}  // namespace lathe::testing
