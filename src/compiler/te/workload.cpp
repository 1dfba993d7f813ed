#include "compiler/te/workload.h"

#include <algorithm>

namespace lathe::te {
namespace {

// What is made of iterators alone is no floating-point arithmetic.
struct CountArithmetic {
  struct Count {
    double operations = 0;
    bool reads = false;
  };
  Count operator()(const ir::Expr& e) const { return std::visit(*this, e->value); }
  Count operator()(const ir::Const&) const { return {}; }
  Count operator()(const ir::IterValue&) const { return {}; }
  Count operator()(const ir::Read&) const { return {0, true}; }
  Count operator()(const ir::Lookup&) const { return {0, true}; }
  Count operator()(const ir::InRange&) const { return {}; }
  Count operator()(const ir::Unary& n) const {
    return with((*this)(n.x), ir::yields_bool(n.op) ? 0 : 1);
  }
  Count operator()(const ir::Binary& n) const {
    const Count a = (*this)(n.a), b = (*this)(n.b);
    return with({a.operations + b.operations, a.reads || b.reads},
                n.op >= ir::BinaryOp::kLt ? 0 : 1);
  }
  Count operator()(const ir::Select& n) const {
    const Count c = (*this)(n.condition), a = (*this)(n.then), b = (*this)(n.otherwise);
    return {c.operations + a.operations + b.operations, c.reads || a.reads || b.reads};
  }
  Count operator()(const ir::Cast& n) const { return (*this)(n.x); }

 private:
  static Count with(Count operands, double operations) {
    return {operands.reads ? operands.operations + operations : 0, operands.reads};
  }
};

std::vector<int> with_role(const Workload& workload, TensorRole role) {
  std::vector<int> out;
  for (std::size_t t = 0; t < workload.tensors.size(); ++t)
    if (workload.tensors[t].role == role) out.push_back(static_cast<int>(t));
  return out;
}

}  // namespace

std::vector<int> Workload::inputs() const { return with_role(*this, TensorRole::kInput); }
std::vector<int> Workload::outputs() const { return with_role(*this, TensorRole::kOutput); }

int Workload::find(std::string_view tensor_name) const {
  const auto found = std::ranges::find(tensors, tensor_name, &Tensor::name);
  return found == tensors.end() ? -1 : static_cast<int>(found - tensors.begin());
}

const Stage* Workload::writer(int tensor) const {
  const auto found = std::ranges::find(stages, tensor, &Stage::tensor);
  return found == stages.end() ? nullptr : &*found;
}

std::optional<std::vector<int>> merged_dims(const std::vector<std::int64_t>& shape,
                                            const std::vector<std::int64_t>& merged) {
  std::vector<int> dims;
  for (std::size_t m = 0; m < merged.size(); ++m) {
    std::int64_t product = 1;
    do {
      if (dims.size() == shape.size()) return std::nullopt;
      product *= shape[dims.size()];
      dims.push_back(static_cast<int>(m));
    } while (product < merged[m]);
    if (product != merged[m]) return std::nullopt;
  }
  while (!merged.empty() && dims.size() < shape.size() && shape[dims.size()] == 1)
    dims.push_back(static_cast<int>(merged.size()) - 1);
  if (dims.size() != shape.size()) return std::nullopt;
  return dims;
}

double flops(const Workload& workload) {
  double total = 0;
  for (const Stage& stage : workload.stages) {
    double iterations = 1;
    for (const Iterator& iter : stage.iters) iterations *= static_cast<double>(iter.extent);
    const double reduction = stage.reduce == ir::ReduceOp::kNone ? 0 : 1;
    total += iterations * (CountArithmetic{}(stage.body).operations + reduction);
  }
  return total;
}

namespace {

// The iterators that an index depends on, also through what it reads, tell so many places apart.
double positions_of(const ir::Lookup& lookup, const Stage& stage) {
  std::vector<bool> used(stage.iters.size());
  for (const ir::Expr& index : lookup.index)
    ir::for_each_node(index, [&](const ir::Expr& e) {
      if (const auto* value = std::get_if<ir::IterValue>(&e->value))
        used[static_cast<std::size_t>(value->iter)] = true;
      if (const auto* read = std::get_if<ir::Read>(&e->value))
        for (const ir::Affine& row : read->index)
          for (const ir::AffineTerm& term : row.terms)
            used[static_cast<std::size_t>(term.iter)] = true;
    });
  double positions = 1;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) positions *= static_cast<double>(stage.iters[i].extent);
  return positions;
}

// At most as many as the iterators of each read can tell apart: of A[k,k,i] only the diagonal.
double elements_read(const Workload& workload, int tensor) {
  double elements = 0;
  for (const Stage& stage : workload.stages) {
    for (const ir::Read* read : ir::reads_of(stage.body)) {
      if (read->tensor != tensor) continue;
      double positions = 1;
      for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
        const auto uses = [&](const ir::Affine& row) { return row.coef_of(i) != 0; };
        if (std::ranges::any_of(read->index, uses))
          positions *= static_cast<double>(stage.iters[static_cast<std::size_t>(i)].extent);
      }
      elements += positions;
    }
    for (const ir::Lookup* lookup : ir::lookups_of(stage.body))
      if (lookup->tensor == tensor) elements += positions_of(*lookup, stage);
  }
  return elements;
}

}  // namespace

double io_bytes(const Workload& workload) {
  double total = 0;
  for (int t = 0; t < static_cast<int>(workload.tensors.size()); ++t) {
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(t)];
    if (tensor.role != TensorRole::kInput && tensor.role != TensorRole::kOutput) continue;
    double elements = 1;
    for (const std::int64_t size : tensor.shape) elements *= static_cast<double>(size);
    if (tensor.role == TensorRole::kInput)
      elements = std::min(elements, elements_read(workload, t));
    total += elements * size_of(tensor.dtype);
  }
  return total;
}

}  // namespace lathe::te
