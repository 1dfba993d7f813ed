#include "unit/interp/group_builder.h"

#include <algorithm>

namespace lathe::testing {

using namespace flat;
using enum flat::BinaryOp;

Expr number(std::int64_t value) { return int_imm(value); }
Expr plus(const Expr& a, const Expr& b) { return binary(kAdd, a, b); }
Expr plus(const Expr& a, std::int64_t b) { return binary(kAdd, a, number(b)); }
Expr times(const Expr& a, std::int64_t b) { return binary(kMul, a, number(b)); }
Expr over(const Expr& a, std::int64_t b) { return binary(kDiv, a, number(b)); }
Expr modulo(const Expr& a, std::int64_t b) { return binary(kMod, a, number(b)); }
Expr below(const Expr& a, std::int64_t b) { return binary(kLt, a, number(b)); }
Expr both(const Expr& a, const Expr& b) { return !a ? b : !b ? a : binary(kAnd, a, b); }
Stmt when(const Expr& condition, Stmt body) {
  return condition ? if_then(condition, std::move(body)) : body;
}

std::int64_t parts(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

bool GroupBuilder::faulty(Planted fault, std::set<std::string> buffers) {
  places.push_back({fault, std::move(buffers)});
  return planted_ == places.size() - 1;
}

int GroupBuilder::new_var(const char* hint) {
  program.vars.emplace_back(hint);
  return static_cast<int>(program.vars.size()) - 1;
}

int GroupBuilder::new_reg(Type type) {
  program.regs.push_back(type);
  return static_cast<int>(program.regs.size()) - 1;
}

Matrix GroupBuilder::border(const char* name, Dtype dtype, std::int64_t rows, std::int64_t columns,
                            Scope scope) {
  auto& borders = scope == Scope::kInput ? program.inputs : program.outputs;
  const std::int64_t size = rows * columns;
  program.buffers.push_back({.name = name,
                             .dtype = dtype,
                             .size = size,
                             .scope = scope,
                             .slot = static_cast<std::int64_t>(borders.size())});
  borders.push_back({.name = name,
                     .dtype = dtype,
                     .shape = {rows, columns},
                     .layout = {{0, 1, rows, columns}, {1, 1, columns, 1}},
                     .size = size});
  return {static_cast<int>(program.buffers.size()) - 1, rows, columns};
}

// Sums of so small numbers are exact in any order.
Matrix GroupBuilder::input(const char* name, Dtype dtype, std::int64_t rows, std::int64_t columns) {
  const Matrix matrix = border(name, dtype, rows, columns, Scope::kInput);
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    all.push_back(static_cast<double>(rng.between(is_unsigned(dtype) ? 0 : -4, 4)));
  inputs.push_back(interp::to_storage(program.inputs.back(), all));
  values.push_back(std::move(all));
  return matrix;
}

Matrix GroupBuilder::output(const char* name, Dtype dtype, std::int64_t rows,
                            std::int64_t columns) {
  want.emplace_back(static_cast<std::size_t>(rows * columns));
  return border(name, dtype, rows, columns, Scope::kOutput);
}

int GroupBuilder::scratch(const char* name, Dtype dtype, std::int64_t size, Scope scope,
                          std::int64_t& bytes) {
  constexpr std::int64_t kAlign = 64;
  program.buffers.push_back(
      {.name = name, .dtype = dtype, .size = size, .scope = scope, .slot = bytes});
  bytes += (size * size_of(dtype) + kAlign - 1) / kAlign * kAlign;
  return static_cast<int>(program.buffers.size()) - 1;
}

int GroupBuilder::group_buffer(const char* name, Dtype dtype, std::int64_t size) {
  const int buffer = scratch(name, dtype, size, Scope::kGroup, group_bytes_);
  program.group_bytes = std::max(program.group_bytes, group_bytes_);
  return buffer;
}

int GroupBuilder::global_buffer(const char* name, Dtype dtype, std::int64_t size) {
  return scratch(name, dtype, size, Scope::kGlobal, program.global_bytes);
}

const std::string& GroupBuilder::name_of(int buffer) const {
  return program.buffers[static_cast<std::size_t>(buffer)].name;
}
Type GroupBuilder::type_of(int buffer, int lanes) const {
  return {program.buffers[static_cast<std::size_t>(buffer)].dtype, lanes};
}

// A direction of one point has a variable or none. Some direction of items has one.
void GroupBuilder::set_grid(std::int64_t groups_x, std::int64_t groups_y, std::int64_t items_x,
                            std::int64_t items_y) {
  const auto axis = [&](const char* hint, std::int64_t count, bool always) {
    return Axis{.count = count, .var = count > 1 || always ? new_var(hint) : -1};
  };
  grid.groups = {axis("gx", groups_x, rng.chance(0.5)), axis("gy", groups_y, rng.chance(0.5)), {}};
  grid.items = {axis("ix", items_x, true), axis("iy", items_y, rng.chance(0.5)), {}};
}
Expr GroupBuilder::index_of(const Axis& axis) { return axis.var < 0 ? number(0) : var(axis.var); }
Expr GroupBuilder::item_number() const {
  return plus(times(index_of(grid.items[1]), grid.items[0].count), index_of(grid.items[0]));
}

Stmt GroupBuilder::loop(const char* hint, std::int64_t count, const Body& body) {
  if (count == 1) return body(number(0));
  const int v = new_var(hint);
  return for_loop(v, number(0), number(count), body(var(v)));
}

Stmt GroupBuilder::barrier(bool needed, const std::set<std::string>& buffers) {
  const bool gone = needed && faulty(Planted::kBarrierRemoved, buffers);
  return gone ? seq({}) : flat::barrier();
}

Expr GroupBuilder::tail(const Expr& mask, int buffer) {
  return mask && faulty(Planted::kTailMaskDropped, {name_of(buffer)}) ? nullptr : mask;
}

Expr GroupBuilder::vector_index(const Expr& index, int buffer, int lanes) {
  const bool vector = lanes > 1 && (lanes & (lanes - 1)) == 0;
  return vector && faulty(Planted::kVectorShiftedByOne, {name_of(buffer)}) ? plus(index, 1) : index;
}

void GroupBuilder::end_kernel(const char* name, Stmt body) {
  program.run.push_back(static_cast<int>(program.kernels.size()));
  program.kernels.push_back({.name = name, .body = std::move(body), .grid = grid});
  group_bytes_ = 0;
}

GroupProgram GroupBuilder::finish() {
  return {std::move(program), std::move(inputs), std::move(want), std::move(places)};
}

}  // namespace lathe::testing
