#include "unit/interp/group_families.h"
#include "unit/interp/group_tiles.h"

namespace lathe::testing {
namespace {

using namespace flat;
using enum flat::BinaryOp;

// Y[j,i] = X[i,j]: a group takes some tiles of its rows, one after the other.
class Transpose {
 public:
  explicit Transpose(GroupBuilder& builder) : b_(builder) {}

  GroupProgram run() {
    Staging staging(b_);
    const Dtype dtype =
        b_.pick({Dtype::kF32, Dtype::kF64, Dtype::kI8, Dtype::kF16, Dtype::kI32, Dtype::kU16});
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
    b_.end_kernel("run", std::move(body));
    return b_.finish();
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

}  // namespace

GroupProgram random_transpose(GroupBuilder& builder) { return Transpose(builder).run(); }

}  // namespace lathe::testing
