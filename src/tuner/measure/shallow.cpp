#include "tuner/measure/shallow.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/te/limits.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"

namespace lathe::measure {
namespace {

using ir::Expr;

constexpr int kDeepest = 16;                 // depth of a part
constexpr double kMostIterations = 1 << 25;  // of a stage that is cut

class Cutter {
 public:
  Cutter(te::Workload& workload, const te::Stage& stage) : workload_(workload), stage_(stage) {}

  // The expression, with its deep parts cut off into stages of their own.
  Expr operator()(const Expr& e) { return cut(e).first; }

 private:
  using Cut = std::pair<Expr, int>;  // an expression and its depth

  Cut cut(const Expr& e) {
    struct Visitor {
      Cutter& self;
      const Expr& e;
      Cut leaf() const { return {e, 1}; }
      Cut operator()(const ir::Const&) const { return leaf(); }
      Cut operator()(const ir::IterValue&) const { return leaf(); }
      Cut operator()(const ir::Read&) const { return leaf(); }
      Cut operator()(const ir::InRange&) const { return leaf(); }
      Cut operator()(const ir::Lookup& n) const {
        std::vector<Expr> index;
        int deepest = 0;
        for (const Expr& row : n.index) {
          auto [x, depth] = self.part(row);
          index.push_back(std::move(x));
          deepest = std::max(deepest, depth);
        }
        return {ir::lookup(n.tensor, std::move(index), e->dtype, n.pad), deepest + 1};
      }
      Cut operator()(const ir::Unary& n) const {
        auto [x, depth] = self.part(n.x);
        return {ir::unary(n.op, x), depth + 1};
      }
      Cut operator()(const ir::Binary& n) const {
        auto [a, first] = self.part(n.a);
        auto [b, second] = self.part(n.b);
        return {ir::binary(n.op, a, b), std::max(first, second) + 1};
      }
      Cut operator()(const ir::Select& n) const {
        auto [c, first] = self.part(n.condition);
        auto [then, second] = self.part(n.then);
        auto [otherwise, third] = self.part(n.otherwise);
        return {ir::select(c, then, otherwise), std::max({first, second, third}) + 1};
      }
      Cut operator()(const ir::Cast& n) const {
        auto [x, depth] = self.part(n.x);
        return {ir::cast(x, e->dtype), depth + 1};
      }
    };
    return std::visit(Visitor{*this, e}, e->value);
  }

  Cut part(const Expr& e) {
    Cut out = cut(e);
    if (out.second < kDeepest || reads_itself(out.first)) return out;
    return {stage_of(std::move(out.first)), 1};
  }

  // What a scan reads of its own tensor is there in the scan alone.
  bool reads_itself(const Expr& e) const {
    return std::ranges::any_of(
        ir::reads_of(e), [&](const ir::Read* read) { return te::is_own_read(stage_, *read); });
  }

  // Makes a stage that computes e, and returns the read of its result.
  Expr stage_of(Expr e) {
    te::Tensor tensor{.dtype = e->dtype, .role = te::TensorRole::kIntermediate};
    te::Stage made = stage_;
    made.tensor = static_cast<int>(workload_.tensors.size());
    made.reduce = ir::ReduceOp::kNone;
    made.accumulator = e->dtype;
    std::vector<ir::Affine> index;
    for (te::Iterator& iter : made.iters) {
      iter.kind = te::IterKind::kSpatial;
      tensor.shape.push_back(iter.extent);
      index.push_back(ir::Affine::iter(static_cast<int>(index.size())));
    }
    const std::string base =
        workload_.tensors[static_cast<std::size_t>(stage_.tensor)].name + "_part";
    for (int i = 1; tensor.name.empty() || workload_.find(tensor.name) >= 0; ++i)
      tensor.name = base + std::to_string(i);
    workload_.tensors.push_back(std::move(tensor));
    Expr read = ir::read(made.tensor, std::move(index), e->dtype);
    made.body = std::move(e);
    workload_.stages.push_back(std::move(made));
    return read;
  }

  te::Workload& workload_;
  const te::Stage& stage_;
};

}  // namespace

te::Workload shallow(const te::Workload& workload) {
  te::Workload out = workload;
  out.stages.clear();
  for (const te::Stage& stage : workload.stages) {
    double iterations = 1;
    for (const te::Iterator& iter : stage.iters) iterations *= static_cast<double>(iter.extent);
    te::Stage cut = stage;
    if (iterations <= kMostIterations && stage.iters.size() <= te::kMaxRank)
      cut.body = Cutter(out, stage)(stage.body);
    out.stages.push_back(std::move(cut));
  }
  te::gather_recurrences(out);
  return out;
}

}  // namespace lathe::measure
