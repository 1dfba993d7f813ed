// Which exponents are known to be below the maximum that is subtracted, and which are not.
#include "compiler/te/softmax_exponents.h"

#include <gtest/gtest.h>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

// Whether a stage of it has an exponential of min(0, x).
bool bounds(const std::string& text) {
  const auto workload = parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text());
  bool any = false;
  for (const Stage& stage : workload->stages) {
    const ir::Expr body = bound_exponents(*workload, stage);
    ir::for_each_node(body, [&](const ir::Expr& e) {
      const auto* n = std::get_if<ir::Unary>(&e->value);
      if (n == nullptr || n->op != ir::UnaryOp::kExp) return;
      const auto* least = std::get_if<ir::Binary>(&n->x->value);
      any |= least != nullptr && least->op == ir::BinaryOp::kMin;
    });
  }
  return any;
}

TEST(SoftmaxExponents, AreBoundedWhereTheMaximumIsOfTheSameValues) {
  for (const char* text : {
           "X: f32[6,5]; Y[i,j] = exp(X[i,j] - (max(k) X[i,k]))",
           "X: f32[6,5]; M[i] = max(k) X[i,k]; Y[i] = sum(j) exp(X[i,j] - M[i])",
           "X: f32[6,5]; M[j] = max(k) X[k,j]; Y[i,j] = 1.0 / (1.0 + exp(X[i,j] - M[j]))",
           "X: f32[6,5]; Y[i,j] = exp(2.0 * X[i,j] - (max(k) 2.0 * X[i,k]))",
           "X: f32[6,5]; M[o:1] = max(i,j) X[i,j]; Y[i,j] = exp(X[i,j] - M[0])",
           "X: f32[6,5]; Y[i,j:3] = exp(X[i,j+2] - (max(k) X[i,k]))",
           "X: f16[6,5]; Y[i,j] = exp(X[i,j] - (max(k) X[i,k]))",
           "X: f16[6,5]; M[i] = max(k) f32(X[i,k]); Y[i,j] = exp(f32(X[i,j]) - M[i])",
           "A: i32[6,5]; M[i] = max(k) A[i,k]; Y[i,j] = exp(f32(A[i,j]) - f32(M[i]))",
           "X: f32[6,1]; Y[i,j] = exp(X[i,j] - (max(k) X[i,k]))",
           "X: f32[6,5]; Z: f32[5]; M[i] = max(k) X[i,k] * Z[k]\n"
           "Y[i,j] = exp(X[i,j] * Z[j] - M[i])",
       })
    EXPECT_TRUE(bounds(text)) << text;
}

TEST(SoftmaxExponents, AreNotBoundedElsewhere) {
  for (const char* text : {
           "X: f32[6,5]; Y[i,j] = exp(X[i,j])",
           "X: f32[6,5]; Y[i,j] = exp(X[i,j] - (min(k) X[i,k]))",
           "X: f32[6,5]; Y[i,j] = exp(X[i,j] - (sum(k) X[i,k]))",
           "X: f32[6,5]; Y[i,j] = exp((max(k) X[i,k]) - X[i,j])",
           "X: f32[6,5]; Z: f32[6,5]; Y[i,j] = exp(Z[i,j] - (max(k) X[i,k]))",
           "X: f32[6,5]; Y[i,j] = exp(2.0 * X[i,j] - (max(k) X[i,k]))",
           // Another row, and elements beyond those that the maximum is of.
           "X: f32[6,5]; M[i] = max(k) X[i,k]; Y[i:5,j] = exp(X[i,j] - M[i+1])",
           "X: f32[6,5]; M[i] = max(k:4) X[i,k]; Y[i,j] = exp(X[i,j] - M[i])",
           "X: f32[6,5]; M[i] = max(k:4) X[i,k+1]; Y[i,j] = exp(X[i,j] - M[i])",
           "X: f32[6,5]; M[i] = max(k) X[i,k] * f32(k); Y[i,j] = exp(X[i,j] * f32(j) - M[i])",
           // Conversions that wrap, and one that makes NaN 0.
           "A: i32[6,5]; M[i] = max(k) A[i,k]; Y[i,j] = exp(f32(i8(A[i,j])) - f32(i8(M[i])))",
           "A: i8[6,5]; M[i] = max(k) A[i,k]; Y[i,j] = exp(f32(u8(A[i,j])) - f32(u8(M[i])))",
           "A: i8[6,5]; M[i] = max(k) A[i,k]; Y[i,j] = exp(f32(bool(A[i,j])) - f32(bool(M[i])))",
           "X: f32[6,5]; M[i] = max(k) X[i,k]; Y[i,j] = exp(f32(i32(X[i,j])) - f32(i32(M[i])))",
           // Where the maximum is infinite, something else is subtracted.
           "X: f32[6,5]; M[i] = max(k) X[i,k]\n"
           "Y[i,j] = exp(X[i,j] - select(abs(M[i]) < inf, M[i], 0.0))",
       })
    EXPECT_FALSE(bounds(text)) << text;
}

}  // namespace
}  // namespace lathe::te
