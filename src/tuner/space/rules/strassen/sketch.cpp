#include "tuner/space/rules/strassen/sketch.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/nest/nest.h"
#include "tuner/space/rules/shared/consumers.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {
namespace {

class StrassenBuilder : private Stepper {
 public:
  StrassenBuilder(const StrassenRule& rule, const std::vector<Knob>& knobs,
                  std::span<const std::int64_t> values, Sketch& sketch)
      : Stepper(sketch.nest, sketch.trace, rule.prepared.view.contract.free_layout),
        rule_(rule),
        sum_(rule.sum),
        knobs_(knobs),
        rows_outside_(
            rule.outer[static_cast<std::size_t>(values[static_cast<std::size_t>(rule.at.outer)])] ==
            OuterBlocks::kRows) {}

  void run() {
    for (const schedule::Layout& layout : rule_.layouts) step(layout);
    transpose_right();
    step(schedule::Strassen{sum_.block, sum_.row.iter, sum_.column.iter, sum_.term.iter});
    split_result();
    place_products();
    place_left();
    place_right();
    if (rule_.target.threads > 1) kind(outer_loop_, ir::LoopKind::kParallel);
    schedule_others();
  }

 private:
  using Items = std::vector<schedule::LayoutItem>;
  using Names = std::vector<std::string>;

  ir::SizeId size(int knob) {
    return nest_.sizes.knob(knob, knobs_[static_cast<std::size_t>(knob)].name);
  }
  ir::SizeId lanes() { return number(rule_.lanes); }
  ir::SizeId panel() { return times(size(rule_.at.tile_v), lanes()); }
  std::string stage(const char* what) const { return sum_.block + "." + what; }

  // Columns that lie apart in memory are brought together: lanes run along them.
  void transpose_right() {
    if (!sum_.columns_lie_apart || sum_.right_constant) return;
    Items items;
    for (int d = 0; d < sum_.right_dims; ++d)
      if (d != sum_.column.right_dim) items.push_back({d, std::int64_t{1}});
    items.push_back({sum_.column.right_dim, std::int64_t{1}});
    const std::string name = sum_.right + ".turned";
    if (!may_step(schedule::Cache{sum_.right, name, "", ir::Scope::kMemory, items, sum_.block}))
      return;
    // As many neighbours of each lane are copied with it: code generation transposes them.
    const auto loop = [&](int digit) { return fmt::format("{}.d{}", name, digit); };
    const int last = sum_.right_dims - 1;
    split(loop(last), lanes(), loop(last) + ".o", loop(last) + ".l");
    Names order;
    for (int d = 0; d + 1 < last; ++d) order.push_back(loop(d));
    order.push_back(loop(last) + ".o");
    if (last > 0) {
      split(loop(last - 1), lanes(), loop(last - 1) + ".o", loop(last - 1) + ".u");
      order.insert(order.end(), {loop(last - 1) + ".o", loop(last - 1) + ".u"});
    }
    order.push_back(loop(last) + ".l");
    step(schedule::Reorder{order});
    if (last > 0) unroll({loop(last - 1) + ".u"});
    kind(order.back(), ir::LoopKind::kVectorized);
    if (rule_.target.threads > 1) kind(order.front(), ir::LoopKind::kParallel);
  }

  // The loops of the result: blocks of rows and of columns, then rows, then vectors; the quarters
  // and the products inside.
  void split_result() {
    const std::string p = sum_.block + "." + sum_.row.iter, v = sum_.block + "." + sum_.column.iter;
    split(p + ".i", times(size(rule_.at.block_p), size(rule_.at.tile_p)), p + ".c", p + ".r");
    split(v + ".i", times(size(rule_.at.block_v), panel()), v + ".c", v + ".r");
    split(v + ".r", lanes(), v + ".o", v + ".l");
    Names order;
    for (const std::string& iter : sum_.result)
      if (iter != sum_.row.iter && iter != sum_.column.iter)
        order.push_back(sum_.block + "." + iter);
    outer_loop_ = rows_outside_ ? p + ".c" : v + ".c";
    meeting_ = rows_outside_ ? v + ".c" : p + ".c";
    quarter_loop_ = v + ".h";
    const Names written_out = {p + ".h", v + ".h",
                               sum_.block + "." + schedule::product_iter(sum_.result)};
    order.insert(order.end(), {outer_loop_, meeting_, p + ".r", v + ".o"});
    order.insert(order.end(), written_out.begin(), written_out.end());
    order.push_back(v + ".l");
    step(schedule::Reorder{order});
    unroll(written_out);
    kind(v + ".l", ir::LoopKind::kVectorized);
  }

  // Dimensions of the products: those of the result behind that of the products.
  int product_dim(const std::string& iter) const {
    return 1 + static_cast<int>(std::ranges::find(sum_.result, iter) - sum_.result.begin());
  }
  Items with_columns_inside() const {
    const int row = product_dim(sum_.row.iter), column = product_dim(sum_.column.iter);
    Items items;
    for (int d = 0; std::cmp_less_equal(d, sum_.result.size()); ++d)
      if (d != row && d != column) items.push_back({d, std::int64_t{1}});
    items.push_back({row, std::int64_t{1}});
    return items;
  }

  void place_products() {
    const std::string name = stage("product");
    step(schedule::ComputeAt{name, meeting_});
    const auto loop = [&](const std::string& iter) { return name + "." + iter + "@" + meeting_; };
    const std::string p = loop(sum_.row.iter + ".i"), v = loop(sum_.column.iter + ".i"),
                      k = loop(sum_.term.iter + ".i");
    split(v, panel(), v + ".t", v + ".i");
    split(v + ".i", lanes(), v + ".v", v + ".l");
    split(p, size(rule_.at.tile_p), p + ".t", p + ".i");
    split(k, lanes(), k + ".b", k + ".r");
    split(k + ".r", size(rule_.at.unroll), k + ".s", k + ".u");
    Names order;
    for (const std::string& iter : sum_.result)
      if (iter != sum_.row.iter && iter != sum_.column.iter) order.push_back(loop(iter));
    order.push_back(loop(schedule::product_iter(sum_.result)));
    order.insert(order.end(),
                 {v + ".t", p + ".t", k + ".b", k + ".s", k + ".u", p + ".i", v + ".v", v + ".l"});
    step(schedule::Reorder{order});
    keep_products(name, p + ".t");
    unroll({k + ".u", p + ".i", v + ".v"});
    kind(v + ".l", ir::LoopKind::kVectorized);
    reduction_loop_ = k + ".s";
  }

  // They are summed in registers.
  void keep_products(const std::string& name, const std::string& loop) {
    const int column = product_dim(sum_.column.iter);
    Items stored = with_columns_inside(), held = stored;
    stored.push_back({column, std::int64_t{1}});
    step(schedule::Layout{name, stored, 0});
    held.push_back({column, std::int64_t{rule_.lanes}});
    held.push_back({column, std::int64_t{1}});
    const std::string registers = name + ".acc";
    step(schedule::Cache{name, registers, loop, ir::Scope::kRegister, held});
    for (std::size_t i = 0; i < held.size(); ++i)
      kind(fmt::format("{}.d{}", registers, i),
           i + 1 == held.size() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
  }

  // The loops of an operand's sums, vectors along `inside`. Every product's sum of a vector is made
  // together. Sums lie one vector after the other in the order of these loops: with `across`, along
  // the other axis.
  void order_sums(const std::string& name, const std::string& place, int dims, int outside,
                  int inside, bool across) {
    const auto loop = [&](const char* prefix, int d) {
      return fmt::format("{}.{}{}{}{}", name, prefix, d, place.empty() ? "" : "@", place);
    };
    const std::string lane = loop("d", inside);
    split(lane, lanes(), lane + ".o", lane + ".l");
    Names order;
    for (int d = 0; d < dims; ++d)
      if (d != outside && d != inside) order.push_back(loop("d", d));
    order.insert(order.end(), {loop("d", outside), lane + ".o"});
    if (across) std::swap(order[order.size() - 1], order[order.size() - 2]);
    const Names written_out = {name + ".q" + (place.empty() ? "" : "@" + place), loop("h", outside),
                               loop("h", inside)};
    const std::string first = order.front();
    order.insert(order.end(), written_out.begin(), written_out.end());
    order.push_back(lane + ".l");
    step(schedule::Reorder{order});
    unroll(written_out);
    kind(lane + ".l", ir::LoopKind::kVectorized);
    if (place.empty() && rule_.target.threads > 1) kind(first, ir::LoopKind::kParallel);
  }

  // Products first, then dimensions of batches.
  static Items outer_items(int dims, int one, int other) {
    Items items = {{0, std::int64_t{1}}};
    for (int d = 0; d < dims; ++d)
      if (d != one && d != other) items.push_back({d + 1, std::int64_t{1}});
    return items;
  }

  void place_left() {
    const std::string name = stage("left");
    const std::string place = rows_outside_ && !sum_.left_constant ? outer_loop_ : "";
    if (!place.empty()) step(schedule::ComputeAt{name, place});
    const int row = sum_.row.left_dim, term = sum_.term.left_dim;
    Items items = outer_items(sum_.left_dims, row, term);
    if (sum_.rows_lie_apart) {
      order_sums(name, place, sum_.left_dims, row, term, false);
      // A tile's rows lie together, a vector of terms each.
      items.push_back({row + 1, size(rule_.at.tile_p)});
      items.push_back({term + 1, lanes()});
      items.push_back({row + 1, std::int64_t{1}});
      items.push_back({term + 1, std::int64_t{1}});
    } else {
      order_sums(name, place, sum_.left_dims, term, row, false);
      items.push_back({term + 1, std::int64_t{1}});
      items.push_back({row + 1, std::int64_t{1}});
    }
    step(schedule::Layout{name, items, 0});
  }

  // In panels as wide as the register tile.
  void place_right() {
    const std::string name = stage("right");
    const std::string place = rows_outside_ || sum_.right_constant ? "" : outer_loop_;
    if (!place.empty()) step(schedule::ComputeAt{name, place});
    const int column = sum_.column.right_dim, term = sum_.term.right_dim;
    order_sums(name, place, sum_.right_dims, term, column, true);
    Items items = outer_items(sum_.right_dims, column, term);
    items.push_back({column + 1, panel()});
    items.push_back({term + 1, std::int64_t{1}});
    items.push_back({column + 1, std::int64_t{1}});
    step(schedule::Layout{name, items, 0});
    prefetch(reduction_loop_, name, size(rule_.at.prefetch));
  }

  // What reads the result element by element is computed for each vector of a quarter.
  void schedule_others() {
    const te::Workload& view = rule_.prepared.view;
    std::set<std::string> placed = {sum_.block};
    for (const te::Stage& other : view.stages) {
      const std::string& name = view.tensors[static_cast<std::size_t>(other.tensor)].name;
      if (placed.contains(name) || follow_quarter(name)) continue;
      schedule_plainly(view, other, rule_.target, nest_, trace_, placed);
    }
  }

  bool follow_quarter(const std::string& name) {
    const ir::Block& block = nest_.blocks[nest_.find_block(name)];
    const ir::BufferId result = nest_.find_buffer(sum_.block);
    if (block.reduce != ir::ReduceOp::kNone || !maps_element_by_element(nest_, block, result))
      return false;
    Names loops;
    for (const ir::BlockIter& iter : block.iters)
      loops.push_back(name + "." + iter.name + "@" + quarter_loop_);
    if (!may_step(schedule::ReverseComputeAt{name, quarter_loop_})) return false;
    const auto column = static_cast<std::size_t>(std::ranges::find(sum_.result, sum_.column.iter) -
                                                 sum_.result.begin());
    const std::string lane = loops[column];
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(column));
    write_out({}, loops, lane);
    return true;
  }

  const StrassenRule& rule_;
  const ProductSum& sum_;
  const std::vector<Knob>& knobs_;
  bool rows_outside_;
  std::string outer_loop_, meeting_, quarter_loop_, reduction_loop_;
};

}  // namespace

Result<Sketch> build_strassen_sketch(const StrassenRule& rule, const std::vector<Knob>& knobs,
                                     std::span<const std::int64_t> values) {
  return built_sketch<StrassenBuilder>(rule, knobs, values);
}

}  // namespace lathe::space
