// A program by hand that packs a literal in prepare, and what it computes.
#pragma once

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "unit/package/exported.h"

namespace lathe::package {

inline float weight_at(std::int64_t i) { return static_cast<float>(i % 31 - 11); }

// Y[i] = X[i] + P[i] + L[i], where prepare makes P[i] = 2 * W[i] in a loop on all threads. W, which
// prepare alone reads, and L are literals.
inline flat::Program packed_program(const Target& t, std::int64_t size) {
  using namespace flat;
  Program p = lowered(fmt::format("X: f32[{}]; Y[i] = X[i] + 1", size), t);
  const auto literal = [&](const char* name, double scale) {
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < size; ++i) numbers.push_back(scale * weight_at(i));
    p.buffers.push_back(
        {name, Dtype::kF32, size, Scope::kLiteral, 0, tensor::Data::of(Dtype::kF32, numbers)});
    return static_cast<int>(p.buffers.size()) - 1;
  };
  const int w = literal("W", 1), l = literal("L", 0.5);
  const int packed = static_cast<int>(p.buffers.size());
  p.buffers.push_back({"P", Dtype::kF32, size, Scope::kConstant, 64, {}});
  p.constant_bytes = 64 + size * 4;
  p.vars = {"i", "j"};
  const auto at = [](int buffer, int i) { return load(buffer, var(i), {}); };
  set_prepare(p, parallel_for(0, int_imm(0), int_imm(size),
                              store(packed, var(0), binary(BinaryOp::kAdd, at(w, 0), at(w, 0)))));
  const Expr sum =
      binary(BinaryOp::kAdd, binary(BinaryOp::kAdd, at(0, 1), at(packed, 1)), at(l, 1));
  set_run(p, for_loop(1, int_imm(0), int_imm(size), store(1, var(1), sum)));
  const Status fine = verify(p);
  EXPECT_TRUE(fine) << fine.error().text();
  return p;
}

// The sum of what a run makes of X[i] = i % 7; -1: it fails. All are whole numbers and halves.
inline double packed_sum(const Library& library, lathe_handle* handle, std::int64_t size) {
  std::vector<float> x(static_cast<std::size_t>(size)), y(x.size());
  for (std::int64_t i = 0; i < size; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<float>(i % 7);
  std::int64_t shape[1] = {size};
  const DLTensor x_view = view(x, shape, 1);
  DLTensor y_view = view(y, shape, 1);
  const DLTensor* inputs[] = {&x_view};
  DLTensor* outputs[] = {&y_view};
  if (library.run(handle, inputs, outputs) != LATHE_OK) return -1;
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i)
    sum += static_cast<double>(1 + i % 5) * y[static_cast<std::size_t>(i)];
  return sum;
}
inline double expected_sum(std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i)
    sum += static_cast<double>(1 + i % 5) *
           (static_cast<double>(i % 7) + 2.5 * static_cast<double>(weight_at(i)));
  return sum;
}
inline void expect_packed(const Library& library, lathe_handle* handle, std::int64_t size) {
  EXPECT_EQ(packed_sum(library, handle, size), expected_sum(size)) << library.message(handle);
}

}  // namespace lathe::package
