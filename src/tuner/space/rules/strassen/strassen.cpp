#include "tuner/space/rules/strassen/strassen.h"

#include <algorithm>

#include "compiler/cook_toom/matrices.h"
#include "compiler/te/saturation.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/strassen/sketch.h"
#include "tuner/space/rules/strassen/start.h"
#include "tuner/space/rules/tile/free_layouts.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// Longer sums of products are added up in parts (docs/expressions.md), which its products have not.
constexpr std::int64_t kLongestChain = 8192;
// The shortest axes that it is offered for. Sums of quarters cost as much as so many products.
constexpr std::int64_t kShortest = 512, kShortestWide = 128, kShortestOnDemand = 32;
// By how much it multiplies the error of a direct sum: bench/math/strassen measures it.
constexpr double kErrorGrowth = 1.6;

std::string iter_of(const te::Stage& stage, int iter) {
  const std::string& loop = stage.iters[static_cast<std::size_t>(iter)].name;
  return loop.substr(loop.find('.') + 1);
}

ProductAxis halved_axis(const te::Stage& stage, int iter, const ir::Read& left,
                        const ir::Read& right) {
  return {iter_of(stage, iter), stage.iters[static_cast<std::size_t>(iter)].extent,
          plain_dim(left.index, iter), plain_dim(right.index, iter)};
}

// The longest iterator of this kind that these operands have and no other; -1: there is none.
int longest_of(const te::Stage& stage, te::IterKind kind, const ir::Read& left,
               const ir::Read& right, bool in_right) {
  int best = -1;
  for (int i = 0; std::cmp_less(i, stage.iters.size()); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    if (iter.kind != kind || plain_dim(left.index, i) < 0 || touches(right.index, i) != in_right ||
        (in_right && plain_dim(right.index, i) < 0))
      continue;
    if (best < 0 || iter.extent > stage.iters[static_cast<std::size_t>(best)].extent) best = i;
  }
  return best;
}

std::optional<ProductSum> product_sum_of(const te::Workload& view, const te::Stage& stage,
                                         int column, const ir::Read& left, const ir::Read& right) {
  const int row = longest_of(stage, te::IterKind::kSpatial, left, right, false);
  const int term = longest_of(stage, te::IterKind::kReduce, left, right, true);
  if (row < 0 || term < 0 || touches(left.index, column) || plain_dim(right.index, column) < 0)
    return {};
  const te::Tensor& a = view.tensors[static_cast<std::size_t>(left.tensor)];
  const te::Tensor& b = view.tensors[static_cast<std::size_t>(right.tensor)];
  ProductSum sum;
  sum.block = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  sum.row = halved_axis(stage, row, left, right);
  sum.column = halved_axis(stage, column, left, right);
  sum.term = halved_axis(stage, term, left, right);
  for (int i = 0; std::cmp_less(i, stage.iters.size()); ++i) {
    const te::Iterator& iter = stage.iters[static_cast<std::size_t>(i)];
    if (iter.kind == te::IterKind::kSpatial) sum.result.push_back(iter_of(stage, i));
    else if (i != term) return {};  // taps
  }
  if (!all_plain(left.index) || !all_plain(right.index) || left.pad || right.pad) return {};
  for (const auto& [axis, read] : {std::pair(sum.row, &left), std::pair(sum.term, &left),
                                   std::pair(sum.term, &right), std::pair(sum.column, &right)}) {
    const int dim = read == &left ? axis.left_dim : axis.right_dim;
    const auto& shape = view.tensors[static_cast<std::size_t>(read->tensor)].shape;
    if (shape[static_cast<std::size_t>(dim)] != axis.extent) return {};
  }
  sum.left = a.name, sum.right = b.name;
  sum.left_dims = static_cast<int>(a.shape.size()),
  sum.right_dims = static_cast<int>(b.shape.size());
  sum.left_constant = a.constant, sum.right_constant = b.constant;
  sum.rows_lie_apart = sum.row.left_dim + 1 != sum.left_dims;
  sum.columns_lie_apart = sum.column.right_dim + 1 != sum.right_dims;
  return sum;
}

// True if another sum is worth a tile: it would get plain loops here.
bool has_other_sums(const te::Workload& view, const te::Stage& main) {
  return std::ranges::any_of(view.stages, [&](const te::Stage& stage) {
    return &stage != &main && stage.reduce != ir::ReduceOp::kNone &&
           !view.tensors[static_cast<std::size_t>(stage.tensor)].constant &&
           kWorthATile * work_of(stage) >= work_of(main);
  });
}

std::optional<ProductSum> find_product(const te::Workload& view) {
  const int number = main_stage(view);
  const te::Stage& stage = view.stages[static_cast<std::size_t>(number)];
  if (has_other_sums(view, stage)) return {};
  const auto* product = std::get_if<ir::Binary>(&stage.body->value);
  if (stage.reduce != ir::ReduceOp::kSum || product == nullptr ||
      product->op != ir::BinaryOp::kMul ||
      (stage.body->dtype != Dtype::kF32 && stage.body->dtype != Dtype::kF64))
    return {};
  const auto* a = std::get_if<ir::Read>(&product->a->value);
  const auto* b = std::get_if<ir::Read>(&product->b->value);
  const std::vector<Axes> axes = classify(view, number);
  if (a == nullptr || b == nullptr || axes.empty()) return {};
  const int column = axes[0].vector;
  if (touches(a->index, column)) std::swap(a, b);
  return product_sum_of(view, stage, column, *a, *b);
}

}  // namespace

std::string label_of(OuterBlocks outer) { return outer == OuterBlocks::kRows ? "rows" : "columns"; }

Result<std::optional<StrassenRule>> strassen_rule(const CpuContext& context,
                                                  const std::vector<schedule::Layout>& layouts) {
  const te::Workload& workload = context.workload;
  const CpuTarget& target = context.target;
  const std::string& wanted = workload.contract.algorithm;
  const bool demanded = wanted == "strassen";
  if (workload.contract.level() < te::Numerics::kNormwise) return std::nullopt;
  if (!demanded && (!wanted.empty() || te::saturates(workload, te::Saturated::kSums)))
    return std::nullopt;
  StrassenRule rule;
  rule.may_be_direct = !demanded;
  rule.target = target;
  rule.layouts = layouts;
  rule.prepared = prepare_plainly(workload, target, context.repeated);
  rule.prepared.view = view_of(rule.prepared.nest, workload);
  auto sum = find_product(rule.prepared.view);
  const std::int64_t shortest = demanded                            ? kShortestOnDemand
                                : context.flavour == Flavour::kWide ? kShortestWide
                                                                    : kShortest;
  if (!sum || std::min({sum->row.extent, sum->column.extent, sum->term.extent}) < shortest) {
    if (demanded)
      return fail_at("algorithm", ErrorKind::kInvalidArgument,
                     "this workload has no strassen on this target; it is for products of two "
                     "matrices of f32 or f64 with at least {} rows, columns and terms",
                     kShortestOnDemand);
    return std::nullopt;
  }
  if (sum->term.half() > kLongestChain) {
    if (demanded)
      return fail_at("algorithm", ErrorKind::kInvalidArgument,
                     "strassen would add up {} terms one after the other, and no sum has more than "
                     "{}; name direct",
                     sum->term.half(), kLongestChain);
    return std::nullopt;
  }
  if (kErrorGrowth * cook_toom::direct_error(sum->term.extent) > workload.contract.max_error) {
    if (demanded)
      return fail_at("algorithm", ErrorKind::kInvalidArgument,
                     "strassen rounds too much for a largest error of {:g}; allow more with "
                     "--max-error, or name direct",
                     workload.contract.max_error);
    return std::nullopt;
  }
  rule.sum = std::move(*sum);
  const te::Stage& stage =
      rule.prepared.view.stages[static_cast<std::size_t>(main_stage(rule.prepared.view))];
  rule.lanes = std::max(1, target.lanes(size_of(stage.body->dtype)));
  rule.outer = {OuterBlocks::kRows, OuterBlocks::kColumns};
  return rule;
}

namespace {

// Adds the knobs after those of before; the first is the algorithm.
void list_halves_knobs(StrassenRule& rule, std::vector<Knob>& knobs) {
  KnobList list(knobs);
  const std::int64_t rows = rule.sum.row.half(), columns = rule.sum.column.half();
  const std::int64_t vectors = (columns + rule.lanes - 1) / rule.lanes;
  rule.at.algorithm = list.choice("algorithm", {"direct", "strassen"});
  rule.at.outer = list.choice("st.outer", rule.outer);
  rule.at.tile_v = list.size("st.tile.v", up_to({1, 2, 3, 4, 5, 6}, vectors));
  Values tiles;
  for (std::int64_t p = 1; p <= 28; ++p)
    if (p <= 16 || p % 2 == 0) tiles.push_back(p);
  rule.at.tile_p = list.size("st.tile.p", up_to(std::move(tiles), rows));
  rule.at.block_v = list.size("st.block.v", powers_and(vectors));
  rule.at.block_p = list.size("st.block.p", powers_and(rows));
  rule.at.unroll = list.size("st.unroll.k", up_to({1, 2, 4}, rule.sum.term.half()));
  rule.at.prefetch = list.size("st.prefetch", {0, 4096, 16384});
}

void constrain_halves(const StrassenRule& rule, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const auto size = [&](int knob) { return size_given(knob, derived); };
  const ir::SizeId v = size(rule.at.tile_v);
  derived.constraints.push_back({"the register tile of products spills",
                                 s.add(s.add(s.mul(size(rule.at.tile_p), v), v), s.constant(1)),
                                 rule.target.vector_registers});
}

class StrassenAlternatives : public Alternatives {
 public:
  explicit StrassenAlternatives(StrassenRule rule) : rule_(std::move(rule)) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    std::vector<Knob> knobs = before;
    list_halves_knobs(rule_, knobs);
    return {choice_of(std::move(knobs), before.size())};
  }
  void add_limits_and_starts(Derived& derived) override {
    constrain_halves(rule_, derived);
    set_starts(rule_, derived);
    knobs_ = derived.knobs;
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return build_strassen_sketch(rule_, knobs_, values);
  }

 private:
  StrassenRule rule_;
  std::vector<Knob> knobs_;  // of the space
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_strassen(const CpuContext& context) {
  const TileRule& direct = context.direct->main.rule;
  auto found = LATHE_TRY(strassen_rule(context, free_layouts_of(direct, direct.axes[0])));
  if (!found) return nullptr;
  return std::make_unique<StrassenAlternatives>(std::move(*found));
}

namespace {

constexpr Meaning kStrassenMeanings[] = {
    {"st.outer",
     "the outermost block loop, over rows or over columns of the halves; sums of the operand that "
     "has them are made for each block, those of the other whole before"},
    {"st.tile.v", "width of the products' register tile along the columns, in vectors"},
    {"st.tile.p", "height of it along the rows"},
    {"st.block.v", "columns whose products are kept until they are summed up, in register tiles"},
    {"st.block.p", "rows whose products are kept until they are summed up, in register tiles"},
    {"st.unroll.k", "steps of the products' reduction that the innermost loop writes out"},
    {"st.prefetch",
     "how far ahead the sums of the right operand are fetched into the cache, in bytes"},
};

}  // namespace

std::span<const Meaning> strassen_meanings() { return kStrassenMeanings; }

}  // namespace lathe::space
