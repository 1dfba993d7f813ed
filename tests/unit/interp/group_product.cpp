#include <numeric>

#include "unit/interp/group_families.h"
#include "unit/interp/group_tiles.h"

namespace lathe::testing {
namespace {

using namespace flat;
using enum flat::BinaryOp;

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
    b_.end_kernel("run", seq(std::move(all)));
    return b_.finish();
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

}  // namespace

GroupProgram random_product(GroupBuilder& builder) { return Product(builder).run(); }

}  // namespace lathe::testing
