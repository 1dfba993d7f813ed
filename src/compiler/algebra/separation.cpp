#include "compiler/algebra/separation.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "compiler/algebra/algebra.h"
#include "compiler/algebra/contraction_order.h"
#include "compiler/schedule/parts.h"

namespace lathe::algebra {
namespace {

using ir::Expr;

// A window goes along one dimension first where it takes so many times the operations else.
constexpr double kSeparationPays = 1.6;

// Of a term, with its addition. That is one with a product.
double operations_in_reduction(const Expr& term) {
  return std::max(1.0, algebra::operations_of(term));
}

// Operations if the block goes over this iterator first; infinity: it cannot.
double operations_separated(const ir::Nest& nest, const ir::Block& block, int first) {
  const auto reduces = [](const ir::BlockIter& iter) { return iter.kind == ir::IterKind::kReduce; };
  const ir::BlockIter& iter = block.iters[static_cast<std::size_t>(first)];
  const double length = extent_of(nest, iter);
  if (!reduces(iter) || length < 2 || std::ranges::count_if(block.iters, reduces) < 2)
    return std::numeric_limits<double>::infinity();
  std::vector<Expr> inside, outside;
  if (block.reduce != ir::ReduceOp::kSum) inside.push_back(block.body);
  else
    for (const Expr& factor : schedule::factors_of(block.body))
      (schedule::iters_of(factor).contains(first) ? inside : outside).push_back(factor);
  if (inside.empty()) return std::numeric_limits<double>::infinity();
  const Expr part = schedule::product_of(inside);
  const double values = schedule::elements_of(schedule::value_axes(nest, block, part, {first}));
  double apart = 1;  // values that the part has if neighbours share none
  for (const int i : schedule::iters_of(part))
    if (i != first) apart *= extent_of(nest, block.iters[static_cast<std::size_t>(i)]);
  if (values >= apart) return std::numeric_limits<double>::infinity();
  double rest = std::max<double>(1, static_cast<double>(outside.size()));
  for (const Expr& factor : outside) rest += algebra::operations_of(factor);
  return values * (length * operations_in_reduction(part) + kPerValueKept) +
         points_of(nest, block) / length * rest + kPerPass;
}

}  // namespace

double extent_of(const ir::Nest& nest, const ir::BlockIter& iter) {
  return static_cast<double>(nest.sizes.constant_value(iter.extent));
}

double points_of(const ir::Nest& nest, const ir::Block& block) {
  double points = 1;
  for (const ir::BlockIter& iter : block.iters) points *= extent_of(nest, iter);
  return points;
}

std::string goes_first(const ir::Nest& nest, const ir::Block& block) {
  if (block.reduce == ir::ReduceOp::kNone) return "";
  double least = points_of(nest, block) * operations_in_reduction(block.body) / kSeparationPays;
  std::string best;
  for (int i = 0; i < static_cast<int>(block.iters.size()); ++i) {
    const double operations = operations_separated(nest, block, i);
    if (operations >= least) continue;
    least = operations;
    best = block.iters[static_cast<std::size_t>(i)].name;
  }
  return best;
}

}  // namespace lathe::algebra
