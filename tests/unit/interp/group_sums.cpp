#include "unit/interp/group_families.h"

namespace lathe::testing {
namespace {

using namespace flat;
using enum flat::BinaryOp;

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
    b_.end_kernel("run", std::move(body));
    return b_.finish();
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

// Y[j] = sum over i of X[i,j], in two kernels: the groups of the first sum stretches of rows, their
// items rows of a stretch, and those of the second sum these up.
class Columns {
 public:
  explicit Columns(GroupBuilder& builder) : b_(builder) {}

  GroupProgram run() {
    type_ = {b_.pick({Dtype::kF32, Dtype::kI32, Dtype::kF64}), 1};
    across_ = b_.pick({1, 3, 4, 8}), down_ = b_.pick({1, 2, 3, 5});
    turns_ = b_.rng.between(1, 3);
    m_ = b_.rng.between(1, 4 * turns_ * down_), n_ = b_.rng.between(1, 3 * across_);
    stretches_ = parts(m_, turns_ * down_);
    x_ = b_.input("X", type_.dtype, m_, n_);
    y_ = b_.output("Y", type_.dtype, 1, n_);
    sums_ = b_.global_buffer("W", type_.dtype, stretches_ * n_);
    sum_ = b_.new_reg(type_);
    b_.set_grid(stretches_, parts(n_, across_), across_, down_);
    b_.end_kernel("stretches", sum_stretches());
    across_ = b_.pick({1, 2, 5, 16});
    b_.set_grid(parts(n_, across_), 1, across_, 1);
    b_.end_kernel("all", sum_all());
    for (std::int64_t i = 0; i < m_ * n_; ++i)
      b_.want[0][static_cast<std::size_t>(i % n_)] += b_.values[0][static_cast<std::size_t>(i)];
    return b_.finish();
  }

 private:
  Expr sum() const { return reg_read(sum_, type_); }
  Stmt add(const Expr& value) const { return reg_write(sum_, plus(sum(), value)); }
  Expr column(const Axis& group, const Expr& inside) const {
    return plus(times(GroupBuilder::index_of(group), across_), inside);
  }
  Expr below_n(const Expr& column) const { return n_ % across_ != 0 ? below(column, n_) : nullptr; }

  // Items of one column are as many sums as there are rows of items: the first adds them.
  Stmt sum_stretches() {
    const Expr x = GroupBuilder::index_of(b_.grid.items[0]),
               y = GroupBuilder::index_of(b_.grid.items[1]),
               stretch = GroupBuilder::index_of(b_.grid.groups[0]);
    const Expr col = column(b_.grid.groups[1], x);
    const int s = b_.group_buffer("S", type_.dtype, across_ * down_);
    std::vector<Stmt> all = {reg_write(sum_, imm(0, type_))};
    all.push_back(b_.loop("r", turns_, [&](const Expr& r) {
      const Expr row = plus(times(plus(times(stretch, turns_), r), down_), y);
      const bool tail = m_ % (turns_ * down_) != 0;
      const Expr mask = b_.tail(both(tail ? below(row, m_) : nullptr, below_n(col)), x_.buffer);
      return add(load(x_.buffer, plus(times(row, n_), col), type_, mask));
    }));
    all.push_back(store(s, plus(times(y, across_), x), sum()));
    all.push_back(b_.barrier(down_ > 1, {"S"}));
    std::vector<Stmt> firsts = {reg_write(sum_, imm(0, type_))};
    for (std::int64_t d = 0; d < down_; ++d)
      firsts.push_back(add(load(s, plus(x, d * across_), type_)));
    firsts.push_back(
        store(sums_, plus(times(stretch, n_), col), sum(), b_.tail(below_n(col), sums_)));
    all.push_back(if_then(binary(kEq, y, number(0)), seq(std::move(firsts))));
    return seq(std::move(all));
  }
  // Each item stores what another one summed.
  Stmt sum_all() {
    const Expr x = GroupBuilder::index_of(b_.grid.items[0]);
    const Expr other = binary(kSub, number(across_ - 1), x);
    const Expr from = column(b_.grid.groups[0], x), to = column(b_.grid.groups[0], other);
    const int u = b_.group_buffer("U", type_.dtype, across_);
    std::vector<Stmt> all = {reg_write(sum_, imm(0, type_))};
    all.push_back(b_.loop("p", stretches_, [&](const Expr& p) {
      const Expr mask = b_.tail(below_n(from), sums_);
      return add(load(sums_, plus(times(p, n_), from), type_, mask));
    }));
    all.push_back(store(u, x, sum()));
    all.push_back(b_.barrier(across_ > 1, {"U"}));
    all.push_back(store(y_.buffer, to, load(u, other, type_), b_.tail(below_n(to), y_.buffer)));
    return seq(std::move(all));
  }

  GroupBuilder& b_;
  Type type_;
  std::int64_t across_ = 1, down_ = 1, turns_ = 1, stretches_ = 1, m_ = 1, n_ = 1;
  Matrix x_{}, y_{};
  int sums_ = -1, sum_ = -1;
};

}  // namespace

GroupProgram random_rows(GroupBuilder& builder) { return Rows(builder).run(); }
GroupProgram random_columns(GroupBuilder& builder) { return Columns(builder).run(); }

}  // namespace lathe::testing
