// Tiles of matrices in the memory of a group, and how chunks of them come there, stage by stage.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "unit/interp/group_builder.h"

namespace lathe::testing {

// All items of the group fill a tile, vector by vector.
struct Tile {
  int buffer = -1;
  Matrix source;
  std::int64_t rows, columns, pitch = 0;
  int lanes = 1;                                                   // of the vectors
  std::vector<int> regs;                                           // for the vectors of an item
  std::function<flat::Expr(const flat::Expr& chunk)> row, column;  // where in the source it begins
  bool row_tail = false, column_tail = false;  // some chunk goes beyond the source there
  // Faults, in all stages alike.
  bool unmasked = false, source_beside = false, place_beside = false;

  std::int64_t vectors() const { return rows * columns / lanes; }
};

class Staging {
 public:
  enum class How { kAtOnce, kThroughRegisters, kByCopies };
  explicit Staging(GroupBuilder& builder);

  // Of the vectors that fill tiles of such elements.
  int pick_lanes(Dtype dtype);
  // `tile` has its source, sizes, lanes and tails. Its pitch is a multiple of `unit`. Whether an
  // item reads an element of it: reads(item, row, column).
  template <class Reads>
  void add(const char* name, Tile tile, int unit, const Reads& reads) {
    for (std::int64_t r = 0; r < tile.rows; ++r)
      for (std::int64_t c = 0; c < tile.columns; ++c)
        for (std::int64_t item = 0; item < b_.items(); ++item)
          crosses_ = crosses_ || (reads(item, r, c) && item != filler(tile, r, c));
    place(name, std::move(tile), unit);
  }
  const Tile& tile(std::size_t i) const { return tiles_[i]; }
  // The index of an element in the tile's buffer.
  flat::Expr element(std::size_t tile, const flat::Expr& stage, const flat::Expr& row,
                     const flat::Expr& column) const;

  // Brings chunk after chunk and calls use(chunk, stage) for each.
  using Use = std::function<flat::Stmt(const flat::Expr& chunk, const flat::Expr& stage)>;
  flat::Stmt run(std::int64_t chunks, const Use& use);

 private:
  std::int64_t filler(const Tile& tile, std::int64_t row, std::int64_t column) const {
    return (row * tile.columns + column) / tile.lanes % b_.items();
  }
  void place(const char* name, Tile tile, int unit);

  using OnVector = std::function<flat::Stmt(std::size_t number, const flat::Expr& row,
                                            const flat::Expr& column)>;
  flat::Stmt each_vector(const Tile& tile, const OnVector& body);
  flat::Expr inside(const Tile& tile, const flat::Expr& row, const flat::Expr& column) const;
  flat::Expr loaded(const Tile& tile, const flat::Expr& row, const flat::Expr& column) const;
  flat::Expr place_of(const Tile& tile, const flat::Expr& stage, const flat::Expr& row,
                      const flat::Expr& column) const;
  flat::Stmt fill(const flat::Expr& chunk, const flat::Expr& stage);
  flat::Stmt load_regs(const flat::Expr& chunk);
  flat::Stmt store_regs(const flat::Expr& stage);
  flat::Stmt copy(const flat::Expr& chunk, const flat::Expr& stage, const flat::Expr& exists);
  flat::Stmt await(int pending);
  flat::Stmt barrier(bool needed = true) { return b_.barrier(needed && crosses_, names_); }
  flat::Expr stage_of(const flat::Expr& chunk) const { return modulo(chunk, ring_); }

  flat::Stmt run_at_once(std::int64_t chunks, const Use& use);
  flat::Stmt run_through_registers(std::int64_t chunks, const Use& use);
  flat::Stmt run_one_copied(std::int64_t chunks, const Use& use);
  flat::Stmt run_copied(std::int64_t chunks, const Use& use);

  GroupBuilder& b_;
  How how_;
  int stages_, ring_;
  std::vector<Tile> tiles_;
  std::set<std::string> names_;
  bool crosses_ = false;  // some item reads what another one fills
};

}  // namespace lathe::testing
