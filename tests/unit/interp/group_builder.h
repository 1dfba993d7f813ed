// What random_groups builds its programs with.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "unit/interp/random_groups.h"

namespace lathe::testing {

flat::Expr number(std::int64_t value);
flat::Expr plus(const flat::Expr& a, const flat::Expr& b);
flat::Expr plus(const flat::Expr& a, std::int64_t b);
flat::Expr times(const flat::Expr& a, std::int64_t b);
flat::Expr over(const flat::Expr& a, std::int64_t b);
flat::Expr modulo(const flat::Expr& a, std::int64_t b);
flat::Expr below(const flat::Expr& a, std::int64_t b);
flat::Expr both(const flat::Expr& a, const flat::Expr& b);  // null is true
flat::Stmt when(const flat::Expr& condition, flat::Stmt body);
std::int64_t parts(std::int64_t whole, std::int64_t part);  // rounded up

// A matrix in memory, row by row.
struct Matrix {
  int buffer;
  std::int64_t rows, columns;
};

class GroupBuilder {
 public:
  GroupBuilder(std::uint64_t seed, const RandomGroupsOptions& options,
               std::optional<std::size_t> planted)
      : rng(seed), options(options), planted_(planted) {}

  Rng rng;
  RandomGroupsOptions options;
  flat::Program program;
  flat::Grid grid;
  std::vector<interp::Bytes> inputs;
  std::vector<std::vector<double>> values, want;  // of inputs, of outputs
  std::vector<FaultPlace> places;

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + rng.below(choices.size()));
  }
  // A place for a fault. True: it is planted here.
  bool faulty(Planted fault, std::set<std::string> buffers);

  int new_var(const char* hint);
  int new_reg(flat::Type type);
  Matrix input(const char* name, Dtype dtype, std::int64_t rows, std::int64_t columns);
  Matrix output(const char* name, Dtype dtype, std::int64_t rows, std::int64_t columns);
  // Of the kernel: those of others lie in the same place.
  int group_buffer(const char* name, Dtype dtype, std::int64_t size);
  int global_buffer(const char* name, Dtype dtype, std::int64_t size);
  const std::string& name_of(int buffer) const;
  flat::Type type_of(int buffer, int lanes) const;
  void set_grid(std::int64_t groups_x, std::int64_t groups_y, std::int64_t items_x,
                std::int64_t items_y);
  static flat::Expr index_of(const flat::Axis& axis);
  std::int64_t items() const { return grid.group_items(); }
  flat::Expr item_number() const;

  // variable = 0 ... count - 1
  using Body = std::function<flat::Stmt(const flat::Expr&)>;
  flat::Stmt loop(const char* hint, std::int64_t count, const Body& body);
  // It keeps apart what items do to these buffers, where they do.
  flat::Stmt barrier(bool needed, const std::set<std::string>& buffers);
  // A mask at the end of rows or columns; null where there is none, or a fault.
  flat::Expr tail(const flat::Expr& mask, int buffer);
  // The index of a vector without a mask; beside it, where there is a fault.
  flat::Expr vector_index(const flat::Expr& index, int buffer, int lanes);
  // The kernel of the grid that is set. Kernels run one after the other.
  void end_kernel(const char* name, flat::Stmt body);
  GroupProgram finish();

 private:
  Matrix border(const char* name, Dtype dtype, std::int64_t rows, std::int64_t columns,
                flat::Scope scope);
  int scratch(const char* name, Dtype dtype, std::int64_t size, flat::Scope scope,
              std::int64_t& bytes);

  std::optional<std::size_t> planted_;
  std::int64_t group_bytes_ = 0;  // of this kernel
};

}  // namespace lathe::testing
