#include "tuner/measure/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <variant>

#include "base/dtype.h"

namespace lathe::measure {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::UnaryOp;

Dtype widened(Dtype dtype) { return is_float(dtype) ? Dtype::kF64 : dtype; }
Expr real(double value) { return ir::constant(value, Dtype::kF64); }
Expr add(Expr a, Expr b) { return ir::binary(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr mul(Expr a, Expr b) { return ir::binary(BinaryOp::kMul, std::move(a), std::move(b)); }
Expr div(Expr a, Expr b) { return ir::binary(BinaryOp::kDiv, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return ir::binary(BinaryOp::kMax, std::move(a), std::move(b)); }
Expr abs(Expr x) { return ir::unary(UnaryOp::kAbs, std::move(x)); }

// Rewrites bodies: the value in f64, and its magnitude.
class Rewriter {
 public:
  // magnitudes[t]: the tensor of t's magnitudes; -1 where it is |t|.
  Rewriter(const std::vector<int>& magnitudes) : magnitudes_(magnitudes) {}

  Expr value(const Expr& e) const {
    return std::visit([&](const auto& node) { return value_of(e, node); }, e->value);
  }
  Expr magnitude(const Expr& e) const {
    if (!is_float(e->dtype)) return abs(ir::cast(value(e), Dtype::kF64));
    return std::visit([&](const auto& node) { return magnitude_of(e, node); }, e->value);
  }

 private:
  Expr value_of(const Expr& e, const ir::Const& n) const { return ir::constant(n.value, widened(e->dtype)); }
  Expr value_of(const Expr& e, const ir::IterValue&) const { return e; }
  Expr value_of(const Expr& e, const ir::Read& n) const { return ir::read(n.tensor, n.index, widened(e->dtype), n.pad); }
  Expr value_of(const Expr&, const ir::Unary& n) const { return ir::unary(n.op, value(n.x)); }
  Expr value_of(const Expr&, const ir::Binary& n) const { return ir::binary(n.op, value(n.a), value(n.b)); }
  Expr value_of(const Expr&, const ir::Select& n) const {
    return ir::select(value(n.condition), value(n.then), value(n.otherwise));
  }
  Expr value_of(const Expr& e, const ir::Cast& n) const { return ir::cast(value(n.x), widened(e->dtype)); }
  Expr value_of(const Expr& e, const ir::InRange&) const { return e; }

  Expr magnitude_of(const Expr&, const ir::Const& n) const { return real(std::abs(n.value)); }
  Expr magnitude_of(const Expr& e, const ir::IterValue&) const { return abs(ir::cast(e, Dtype::kF64)); }
  Expr magnitude_of(const Expr& e, const ir::Read& n) const {
    if (magnitudes_[n.tensor] < 0) return abs(value(e));
    const auto pad = n.pad ? std::optional(std::abs(*n.pad)) : std::nullopt;
    return ir::read(magnitudes_[n.tensor], n.index, Dtype::kF64, pad);
  }
  Expr magnitude_of(const Expr& e, const ir::Unary& n) const {
    const Expr m = magnitude(n.x), size = abs(value(e));
    switch (n.op) {
      case UnaryOp::kNeg:
      case UnaryOp::kAbs: return m;
      case UnaryOp::kExp: return mul(size, add(real(2), m));                       // f' = f
      case UnaryOp::kLog: return add(size, div(m, abs(value(n.x))));               // f' = 1/x
      case UnaryOp::kSqrt: return div(m, max(size, real(1e-150)));                 // f' = f/2x
      case UnaryOp::kRsqrt: return mul(size, add(real(1), div(m, abs(value(n.x)))));
      case UnaryOp::kTanh:
      case UnaryOp::kErf:
      case UnaryOp::kSigmoid: return add(mul(real(2), size), mul(real(1.2), m));   // |f'| <= 1.13
      case UnaryOp::kFloor:
      case UnaryOp::kCeil: return m;
      case UnaryOp::kNot: return size;
    }
    broken_invariant(__FILE__, __LINE__, "unary operator out of range");
  }
  Expr magnitude_of(const Expr& e, const ir::Binary& n) const {
    const Expr a = magnitude(n.a), b = magnitude(n.b);
    switch (n.op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: return add(a, b);
      case BinaryOp::kMul: return mul(a, b);
      case BinaryOp::kDiv: return div(mul(a, b), mul(value(n.b), value(n.b)));
      case BinaryOp::kMod: return add(a, b);
      case BinaryOp::kMin:
      case BinaryOp::kMax: return max(a, b);
      case BinaryOp::kPow: {                                                       // x^y (1 + |y| dx/x + dy |ln x|)
        const Expr base = abs(value(n.a));
        const Expr by_base = mul(abs(value(n.b)), div(a, base));
        const Expr by_exponent = mul(b, abs(ir::unary(UnaryOp::kLog, base)));
        return mul(abs(value(e)), add(real(2), add(by_base, by_exponent)));
      }
      default: return abs(value(e));
    }
  }
  Expr magnitude_of(const Expr&, const ir::Select& n) const {
    return ir::select(value(n.condition), magnitude(n.then), magnitude(n.otherwise));
  }
  Expr magnitude_of(const Expr&, const ir::Cast& n) const { return magnitude(n.x); }
  Expr magnitude_of(const Expr& e, const ir::InRange&) const { return e; }

  const std::vector<int>& magnitudes_;
};

std::string magnitude_name(const te::Program& program, const std::string& tensor) {
  std::string name = tensor + "_magnitude";
  while (program.find(name) >= 0) name += "_";
  return name;
}

// Leaves out stages that no output needs: the magnitude of a tensor that only integers read.
void keep_needed(te::Program& program) {
  std::vector<bool> needed(program.tensors.size(), false);
  for (const int t : program.outputs()) needed[t] = true;
  for (std::size_t s = program.stages.size(); s-- > 0;) {
    if (!needed[program.stages[s].tensor]) continue;
    for (const ir::Read* read : ir::reads_of(program.stages[s].body)) needed[read->tensor] = true;
  }
  std::erase_if(program.stages, [&](const te::Stage& stage) { return !needed[stage.tensor]; });
  std::vector<int> moved(program.tensors.size(), -1);
  std::vector<te::Tensor> kept;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const te::TensorRole role = program.tensors[t].role;
    if (!needed[t] && role != te::TensorRole::kInput) continue;
    moved[t] = static_cast<int>(kept.size());
    kept.push_back(std::move(program.tensors[t]));
  }
  program.tensors = std::move(kept);
  for (te::Stage& stage : program.stages) {
    stage.tensor = moved[stage.tensor];
    stage.body = ir::rewrite_leaves(stage.body, [&](const Expr& leaf) {
      const auto* read = std::get_if<ir::Read>(&leaf->value);
      return read == nullptr ? leaf : ir::read(moved[read->tensor], read->index, leaf->dtype, read->pad);
    });
  }
}

}  // namespace

te::Program reference_program(const te::Program& program) {
  te::Program result;
  result.name = "reference";
  result.tensors = program.tensors;
  for (te::Tensor& tensor : result.tensors) {
    tensor.dtype = widened(tensor.dtype);
    tensor.constant = false;         // nothing is worth preparing for one run
  }
  std::vector<int> magnitudes(program.tensors.size(), -1);
  for (const te::Stage& stage : program.stages) {
    const te::Tensor& tensor = program.tensors[stage.tensor];
    if (!is_float(tensor.dtype)) continue;
    magnitudes[stage.tensor] = static_cast<int>(result.tensors.size());
    result.tensors.push_back({.name = magnitude_name(program, tensor.name), .dtype = Dtype::kF64,
                              .shape = tensor.shape, .role = tensor.role});
  }
  const Rewriter rewriter(magnitudes);
  for (const te::Stage& stage : program.stages) {
    te::Stage value = stage;
    value.accumulator = widened(stage.accumulator);
    value.body = rewriter.value(stage.body);
    result.stages.push_back(std::move(value));
    if (magnitudes[stage.tensor] < 0) continue;
    te::Stage magnitude = stage;
    magnitude.tensor = magnitudes[stage.tensor];
    magnitude.accumulator = Dtype::kF64;
    magnitude.body = rewriter.magnitude(stage.body);
    if (stage.reduce == ir::ReduceOp::kMin) magnitude.reduce = ir::ReduceOp::kMax;
    result.stages.push_back(std::move(magnitude));
  }
  keep_needed(result);
  return result;
}

std::vector<ReferenceNames> reference_names(const te::Program& program) {
  std::vector<ReferenceNames> names;
  for (const int t : program.outputs()) {
    const te::Tensor& tensor = program.tensors[t];
    const bool computed = program.writer(t) != nullptr && is_float(tensor.dtype);
    names.push_back({tensor.name, computed ? magnitude_name(program, tensor.name) : std::string()});
  }
  return names;
}

double error_factor(const te::Program& program) {
  double eps = 0, terms = 0;
  for (const te::Stage& stage : program.stages) {
    double own = 1;
    for (const te::Iterator& iter : stage.iters)
      if (iter.kind == te::IterKind::kReduce) own *= static_cast<double>(iter.extent);
    if (stage.reduce == ir::ReduceOp::kSum || stage.reduce == ir::ReduceOp::kProd) terms += own;
    terms += 1;
    eps = std::max({eps, epsilon_of(program.tensors[stage.tensor].dtype), epsilon_of(stage.accumulator)});
  }
  return eps * (16 + 2 * std::sqrt(terms));
}

double allowed_error(const te::Program& program) {
  double eps = 0;
  for (const te::Stage& stage : program.stages)
    eps = std::max({eps, epsilon_of(program.tensors[stage.tensor].dtype), epsilon_of(stage.accumulator)});
  const bool coarse = eps > epsilon_of(Dtype::kF32);
  return coarse ? std::max(program.contract.max_error, error_factor(program)) : program.contract.max_error;
}

Result<runner::Fd> reference_file(const Reference& reference) {
  std::vector<double> all;
  for (std::size_t o = 0; o < reference.values.size(); ++o) {
    all.insert(all.end(), reference.values[o].begin(), reference.values[o].end());
    all.insert(all.end(), reference.bounds[o].begin(), reference.bounds[o].end());
  }
  return runner::make_memory_file("lathe-reference", std::as_bytes(std::span(all)));
}

}  // namespace lathe::measure
