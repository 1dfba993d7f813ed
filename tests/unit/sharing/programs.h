// Small flat programs of f32 buffers: "X" is an input, "Y" an output, "T" scratch of a thread.
#pragma once

#include "compiler/ir/flat/flat.h"

namespace lathe::sharing {

constexpr int kX = 0, kY = 1, kT = 2;
constexpr flat::Type kVector{Dtype::kF32, 8}, kScalar{Dtype::kF32, 1};

inline flat::Program program(std::int64_t x, std::int64_t y, std::int64_t t, int vars,
                             flat::Stmt run) {
  flat::Program p;
  const auto add = [&](const char* name, std::int64_t size, flat::Scope scope) {
    p.buffers.push_back({.name = name,
                         .dtype = Dtype::kF32,
                         .size = size,
                         .scope = scope,
                         .slot = 0,
                         .literal = {}});
    const flat::Border border{.name = name,
                              .dtype = Dtype::kF32,
                              .shape = {size},
                              .layout = {{0, 1, size, 1}},
                              .size = size};
    if (scope == flat::Scope::kInput) p.inputs.push_back(border);
    if (scope == flat::Scope::kOutput) p.outputs.push_back(border);
  };
  add("X", x, flat::Scope::kInput);
  add("Y", y, flat::Scope::kOutput);
  add("T", t, flat::Scope::kThread);
  p.thread_bytes = t * 4;
  for (int v = 0; v < vars; ++v) p.vars.push_back("v" + std::to_string(v));
  flat::set_run(p, std::move(run));
  return p;
}

inline flat::Expr at(std::int64_t i) { return flat::int_imm(i); }
inline flat::Expr plus(flat::Expr a, flat::Expr b) {
  return flat::binary(flat::BinaryOp::kAdd, std::move(a), std::move(b));
}
inline flat::Expr times(flat::Expr a, std::int64_t factor) {
  return flat::binary(flat::BinaryOp::kMul, std::move(a), at(factor));
}
// Of lanes from the index on: `to` gets a copy, a value plus 1, or what it has plus the square.
inline flat::Stmt copy(int to, flat::Expr to_index, int from, flat::Expr from_index,
                       flat::Type type = kVector) {
  return flat::store(to, std::move(to_index), flat::load(from, std::move(from_index), type));
}
inline flat::Stmt square_add(int to, flat::Expr to_index, int from, flat::Expr from_index,
                             flat::Type type = kVector) {
  const flat::Expr value = flat::load(from, std::move(from_index), type),
                   before = flat::load(to, to_index, type);
  return flat::store(to, std::move(to_index), flat::fma(value, value, before));
}

}  // namespace lathe::sharing
