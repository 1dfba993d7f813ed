// Finds the classes of a contraction's axes and the order of dimensions that costs least copies.
#include "tuner/space/rules/matrices/matrices.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/reductions.h"

namespace lathe::space {
namespace {

using Iters = std::vector<int>;  // of the stage, outermost first

constexpr double kTurned = 2;  // costs a copy whose vectors lie apart, where another costs 1

// A tensor of the contraction: the iterators of its dimensions, -1 for one of extent 1.
struct Operand {
  int tensor;
  Iters dims;
  double elements;
  bool copied;
};

class Contraction {
 public:
  Contraction(const te::Workload& view, int stage) : view_(view), stage_(view.stages[stage]) {}

  // False if it is no sum over two tensors whose dimensions are iterators.
  bool find() {
    const auto reads = ir::reads_of(stage_.body);
    if (stage_.reduce == ir::ReduceOp::kNone || reads.size() != 2 ||
        reads[0]->tensor == reads[1]->tensor || view_.contract.free_layout)
      return false;
    if (!add(stage_.tensor, written_index(stage_))) return false;
    for (const ir::Read* read : reads)
      if (read->pad || !add(read->tensor, read->index)) return false;
    for (int i = 0; i < static_cast<int>(stage_.iters.size()); ++i)
      if (stage_.iters[i].extent > 1 && !sort_in(i)) return false;
    return std::ranges::any_of(classes_, [](const Iters& c) { return c.size() > 1; });
  }

  // Decides the order of axes within each class: that of one of the two tensors that have it.
  void choose_orders() {
    double least = 1e300;
    std::array<Iters, kClasses> best = classes_;
    for (int choice = 0; choice < 1 << kClasses; ++choice) {
      for (int c = 0; c < kClasses; ++c) order_as(c, holders(c)[(choice >> c) & 1]);
      const double cost = cost_of_copies();
      if (cost >= least) continue;
      least = cost;
      best = classes_;
    }
    classes_ = best;
  }

  // Operands that must be laid out anew, with the new order of their dimensions.
  schedule::Trace transposes() const {
    schedule::Trace out;
    const std::string block = name(stage_.tensor);
    for (const int o : {1, 2}) {
      const Operand& operand = operands_[static_cast<std::size_t>(o)];
      if (!lies_apart(operand)) continue;
      const std::string& tensor = name(operand.tensor);
      out.push_back(schedule::Transpose{tensor, tensor + ".t", new_order(operand), block});
    }
    if (lies_apart(operands_[0]))
      out.push_back(schedule::Transpose{block, block + ".t", new_order(operands_[0]), ""});
    return out;
  }
  schedule::Trace merges() const {
    schedule::Trace out;
    for (const Iters& axes : classes_) {
      if (axes.size() < 2) continue;
      schedule::Merge merge;
      for (const int i : axes) merge.loops.push_back(stage_.iters[i].name);
      out.push_back(std::move(merge));
    }
    return out;
  }
  bool turns_result() const { return lies_apart(operands_[0]); }
  // Operand number o gets a copy, wherever its axes lie.
  void demand_copy(int o) { operands_[static_cast<std::size_t>(o)].copied = true; }
  const std::string& result() const { return name(stage_.tensor); }

 private:
  static constexpr int kClasses = 3;  // rows and columns of the result, terms of the sum

  const std::string& name(int tensor) const { return view_.tensors[tensor].name; }

  bool add(int tensor, const std::vector<ir::Affine>& index) {
    if (index.size() != view_.tensors[tensor].shape.size() ||
        view_.tensors[tensor].role == te::TensorRole::kLiteral)
      return false;
    Operand operand{tensor, {}, 1, false};
    for (const ir::Affine& row : index) {
      const bool plain = row.offset == 0 && row.terms.size() == 1 && row.terms[0].coef == 1;
      const int iter = plain ? row.terms[0].iter : -1;
      const bool unit = iter < 0 || stage_.iters[iter].extent == 1;
      if (!plain && row != ir::Affine::constant(0)) return false;
      if (!unit && std::ranges::count(operand.dims, iter) > 0) return false;
      operand.dims.push_back(unit ? -1 : iter);
      if (!unit) operand.elements *= static_cast<double>(stage_.iters[iter].extent);
    }
    operands_[static_cast<std::size_t>(count_++)] = std::move(operand);
    return true;
  }

  bool has(int operand, int iter) const {
    return std::ranges::count(operands_[static_cast<std::size_t>(operand)].dims, iter) > 0;
  }

  // False for an axis that only one tensor has.
  bool sort_in(int iter) {
    const bool out = has(0, iter), a = has(1, iter), b = has(2, iter);
    if (out && a && b) return true;  // of the batch
    if (out + a + b != 2) return false;
    classes_[out && a ? 0 : out ? 1 : 2].push_back(iter);
    return true;
  }

  // The two tensors that have the axes of a class.
  static std::array<int, 2> holders(int of_class) {
    if (of_class == 2) return {1, 2};
    return {0, of_class + 1};
  }
  void order_as(int of_class, int operand) {
    const Iters& dims = operands_[static_cast<std::size_t>(operand)].dims;
    std::ranges::sort(classes_[static_cast<std::size_t>(of_class)], {},
                      [&](int i) { return std::ranges::find(dims, i) - dims.begin(); });
  }

  // True if some class's axes do not follow each other, in their order, in the operand, or if it
  // gets a copy anyway.
  bool lies_apart(const Operand& operand) const {
    if (operand.copied) return true;
    for (const Iters& axes : classes_) {
      const auto at = std::ranges::find(operand.dims, axes.empty() ? -2 : axes[0]);
      if (at == operand.dims.end()) continue;
      const auto room = static_cast<std::size_t>(operand.dims.end() - at);
      if (room < axes.size() || !std::equal(axes.begin(), axes.end(), at)) return true;
    }
    return false;
  }

  // The classes of an operand. That with the last dimension stays last, so that a copy reads and
  // writes along it, if it can; else that with the last dimension of the result, where lanes run.
  std::vector<const Iters*> classes_of(const Operand& operand) const {
    std::vector<const Iters*> own;
    for (const Iters& axes : classes_)
      if (!axes.empty() && std::ranges::count(operand.dims, axes[0]) > 0) own.push_back(&axes);
    const auto bring_to_end = [&](int iter) {
      std::ranges::stable_sort(own, {},
                               [&](const Iters* c) { return std::ranges::count(*c, iter); });
    };
    if (own.empty()) return own;
    bring_to_end(operand.dims.back());
    if (own.back()->back() != operand.dims.back()) bring_to_end(operands_[0].dims.back());
    return own;
  }

  // Dimensions of the batch first, then those of the classes.
  std::vector<std::int64_t> new_order(const Operand& operand) const {
    const std::vector<const Iters*> own = classes_of(operand);
    std::vector<std::int64_t> order(operand.dims.size());
    std::iota(order.begin(), order.end(), 0);
    const auto place = [&](std::int64_t d) {
      const int iter = operand.dims[static_cast<std::size_t>(d)];
      std::ptrdiff_t before = 1;
      for (const Iters* axes : own) {
        const auto at = std::ranges::find(*axes, iter) - axes->begin();
        if (at < std::ssize(*axes)) return before + at;
        before += std::ssize(*axes);
      }
      return std::ptrdiff_t{0};
    };
    std::ranges::stable_sort(order, {}, place);
    return order;
  }

  double cost_of_copies() const {
    double cost = 0;
    for (const Operand& operand : operands_) {
      if (!lies_apart(operand)) continue;
      const bool along = new_order(operand).back() == std::ssize(operand.dims) - 1;
      cost += operand.elements * (along ? 1 : kTurned);
    }
    return cost;
  }

  const te::Workload& view_;
  const te::Stage& stage_;
  int count_ = 0;
  std::array<Operand, 3> operands_;  // the result, then what is read
  std::array<Iters, kClasses> classes_;
};

}  // namespace

namespace {

// Applies the steps that make it a product of matrices.
bool make_matrices(Prepared& prepared, const Contraction& contraction) {
  for (const schedule::Trace& steps : {contraction.transposes(), contraction.merges()})
    for (const schedule::Step& step : steps)
      if (!try_step(prepared.nest, prepared.steps, step, false)) return false;
  // What follows the contraction reads it where it lies now.
  if (contraction.turns_result())
    try_step(prepared.nest, prepared.steps, schedule::Inline{contraction.result()}, false);
  return true;
}

// Numbers of operands, as bits, that get a copy of their own because another stage goes through
// their axes one by one; the fewest first.
constexpr int kCopied[] = {0, 1, 2, 4, 3, 5, 6, 7};

}  // namespace

std::optional<Prepared> prepare_as_matrices(const te::Workload& workload, const CpuTarget& target,
                                            algebra::Repeated repeated) {
  const Prepared plain = prepare_plainly(workload, target, repeated);
  const te::Workload view = view_of(plain.nest, workload);
  Contraction found(view, main_stage(view));
  if (!found.find()) return std::nullopt;
  for (const int copied : kCopied) {
    Contraction contraction = found;
    for (int o = 0; o < 3; ++o)
      if ((copied >> o & 1) != 0) contraction.demand_copy(o);
    contraction.choose_orders();
    Prepared prepared = plain;
    if (!make_matrices(prepared, contraction)) continue;
    merge_axes(prepared, workload);
    split_reductions(prepared, workload, target, {});
    prepared.view = view_of(prepared.nest, workload);
    return prepared;
  }
  return std::nullopt;
}

}  // namespace lathe::space
