#include "tuner/measure/uneven.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"

namespace lathe::measure {
namespace {

using ir::BinaryOp, ir::UnaryOp;

constexpr int kMostFactors = 3;  // of inputs in an output; more would leave the range of f32

bool is_wide(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF64; }

// How many inputs are multiplied with each other at most.
class Factors {
 public:
  explicit Factors(const te::Workload& workload) : of_tensor_(workload.tensors.size(), 0) {
    for (const int input : workload.inputs()) of_tensor_[static_cast<std::size_t>(input)] = 1;
    for (const te::Stage& stage : workload.stages)
      of_tensor_[static_cast<std::size_t>(stage.tensor)] = of(stage.body);
  }
  int most() const { return *std::ranges::max_element(of_tensor_); }

 private:
  int of(const ir::Expr& e) const {
    return std::visit([this](const auto& n) { return count(n); }, e->value);
  }
  int count(const ir::Const&) const { return 0; }
  int count(const ir::IterValue&) const { return 0; }
  int count(const ir::InRange&) const { return 0; }
  int count(const ir::Read& n) const { return of_tensor_[static_cast<std::size_t>(n.tensor)]; }
  int count(const ir::Lookup& n) const { return of_tensor_[static_cast<std::size_t>(n.tensor)]; }
  int count(const ir::Unary& n) const { return of(n.x); }
  int count(const ir::Cast& n) const { return of(n.x); }
  int count(const ir::Select& n) const { return std::max(of(n.then), of(n.otherwise)); }
  int count(const ir::Binary& n) const {
    const int a = of(n.a), b = of(n.b);
    return std::min(n.op == BinaryOp::kMul ? a + b : std::max(a, b), kMostFactors + 1);
  }

  std::vector<int> of_tensor_;
};

// Goes through the stages from the last to the first, with what their tensors may do.
class Freedoms {
 public:
  explicit Freedoms(const te::Workload& workload) {
    for (const te::Tensor& tensor : workload.tensors)
      out_.push_back({is_wide(tensor.dtype), std::vector<bool>(tensor.shape.size(), true)});
    // Elements of all steps meet, and in each step what else is summed up.
    for (const te::Recurrence& recurrence : te::recurrences_of(workload))
      for (std::size_t p = 0; p < recurrence.stages.size(); ++p) {
        Freedom& each = of(workload.stages[static_cast<std::size_t>(recurrence.stages[p])].tensor);
        each.scales = false;
        for (std::size_t d = 0; d < each.apart.size(); ++d)
          each.apart[d] = recurrence.element_wise && std::cmp_not_equal(d, recurrence.axes[p]);
      }
    for (auto stage = workload.stages.rbegin(); stage != workload.stages.rend(); ++stage) {
      stage_ = &*stage;
      if (const auto scan = te::scan_of(*stage)) join_along(*scan);
      const bool keeps = stage->reduce != ir::ReduceOp::kProd && of(stage->tensor).scales;
      walk(stage->body, keeps);
    }
  }
  std::vector<Freedom> take() { return std::move(out_); }

 private:
  Freedom& of(int tensor) { return out_[static_cast<std::size_t>(tensor)]; }

  // Slices along a scan are added up with those behind them. Other recurrences than sums and
  // extremes make long chains of products.
  void join_along(const te::Scan& scan) {
    Freedom& own = of(stage_->tensor);
    own.apart[static_cast<std::size_t>(scan.iter)] = false;
    ir::for_each_node(stage_->body, [&](const ir::Expr& e) {
      const auto* binary = std::get_if<ir::Binary>(&e->value);
      if (binary != nullptr && (binary->op == BinaryOp::kMul || binary->op == BinaryOp::kDiv) &&
          (reads_itself(binary->a) || reads_itself(binary->b)))
        own.scales = false;
    });
  }
  bool reads_itself(const ir::Expr& e) const {
    return std::ranges::any_of(
        ir::reads_of(e), [&](const ir::Read* read) { return te::is_own_read(*stage_, *read); });
  }

  void walk(const ir::Expr& e, bool scales) {
    std::visit([&](const auto& n) { visit(n, e->dtype, scales); }, e->value);
  }
  void visit(const ir::Const&, Dtype, bool) {}
  void visit(const ir::IterValue&, Dtype, bool) {}
  void visit(const ir::InRange&, Dtype, bool) {}
  void visit(const ir::Read& n, Dtype, bool scales) {
    Freedom& read = of(n.tensor);
    read.scales = read.scales && scales;
    for (std::size_t d = 0; d < n.index.size(); ++d)
      read.apart[d] = read.apart[d] && stays_apart(n.index[d]);
  }
  // Elements of any slice may meet, unless an iterator alone is the index.
  void visit(const ir::Lookup& n, Dtype, bool scales) {
    Freedom& read = of(n.tensor);
    read.scales = read.scales && scales;
    for (std::size_t d = 0; d < n.index.size(); ++d) {
      const ir::AffineAndRest parts = ir::affine_and_rest(n.index[d]);
      read.apart[d] = read.apart[d] && !parts.rest && stays_apart(parts.affine);
      walk(n.index[d], false);
    }
  }
  void visit(const ir::Unary& n, Dtype, bool scales) {
    walk(n.x, scales && (n.op == UnaryOp::kNeg || n.op == UnaryOp::kAbs));
  }
  void visit(const ir::Cast& n, Dtype to, bool scales) { walk(n.x, scales && is_wide(to)); }
  void visit(const ir::Select& n, Dtype, bool scales) {
    walk(n.condition, false);
    walk(n.then, scales);
    walk(n.otherwise, scales);
  }
  void visit(const ir::Binary& n, Dtype, bool scales) {
    const bool keeps = n.op == BinaryOp::kAdd || n.op == BinaryOp::kSub || n.op == BinaryOp::kMul ||
                       n.op == BinaryOp::kMin || n.op == BinaryOp::kMax;
    walk(n.a, scales && (keeps || n.op == BinaryOp::kDiv));
    walk(n.b, scales && keeps);
  }

  // True if an iterator of the result is in the row, along whose dimension slices stay apart.
  bool stays_apart(const ir::Affine& row) {
    return std::ranges::any_of(row.terms, [&](const ir::AffineTerm& term) {
      const auto iter = static_cast<std::size_t>(term.iter);
      return stage_->iters[iter].kind == te::IterKind::kSpatial && of(stage_->tensor).apart[iter];
    });
  }

  std::vector<Freedom> out_;
  const te::Stage* stage_ = nullptr;
};

// Different slices, one for each change as far as there are enough: most stay as they are.
std::vector<std::size_t> slices_of(std::size_t extent, Rng& rng) {
  constexpr std::size_t kChanges = 4;
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(kChanges, extent / 2)) {
    const std::size_t slice = rng.below(extent);
    if (std::ranges::find(chosen, slice) == chosen.end()) chosen.push_back(slice);
  }
  return chosen;
}

// What each of the chosen slices becomes. None is large, and products of two means are not either:
// the largest output must go on showing the errors of most others.
double changed(std::size_t change, double value) {
  constexpr double kSmall = 0x1p-20, kSmaller = 0x1p-10, kMean = 64, kShare = 1.0 / 1024;
  switch (change) {
    case 0: return value * kSmall;
    case 1: return 0;
    case 2: return (value + kMean) * kShare;
    default: return value * kSmaller;
  }
}

}  // namespace

std::vector<Freedom> freedoms_of(const te::Workload& workload) {
  std::vector<Freedom> out = Freedoms(workload).take();
  if (Factors(workload).most() > kMostFactors)
    for (Freedom& each : out) each.scales = false;
  return out;
}

void make_uneven(const te::Tensor& tensor, const Freedom& freedom, std::vector<double>& values,
                 Rng& rng) {
  constexpr double kZeros = 1.0 / 64;
  for (double& value : values)
    if (rng.chance(kZeros)) value = 0;
  auto inner = values.size();
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const auto extent = static_cast<std::size_t>(tensor.shape[d]);
    inner /= extent;
    if (extent < 2 || !freedom.apart[d]) continue;
    const std::vector<std::size_t> chosen = slices_of(extent, rng);
    for (std::size_t change = 0; change < chosen.size(); ++change)
      for (std::size_t at = chosen[change] * inner; at < values.size(); at += extent * inner)
        for (std::size_t i = at; i < at + inner; ++i) values[i] = changed(change, values[i]);
  }
  if (tensor.dtype == Dtype::kF32)
    for (double& value : values) value = static_cast<float>(value);
}

}  // namespace lathe::measure
