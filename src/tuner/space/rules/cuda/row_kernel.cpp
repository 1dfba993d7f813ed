#include "tuner/space/rules/cuda/row_kernel.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tuner/space/rules/rows/join_rows.h"

namespace lathe::space {
namespace {

using ir::LoopKind;
using Names = std::vector<std::string>;

// Sums of warps are loaded by so many at once.
constexpr std::int64_t kWarpsAtOnce = 4;

class RowKernelBuilder : private Stepper {
 public:
  RowKernelBuilder(const RowStages& rows, const RowSizes& sizes, ir::Nest& nest,
                   schedule::Trace& trace, std::set<std::string>& placed)
      : Stepper(nest, trace, false), of_(rows), sizes_(sizes), placed_(placed) {}

  void run() {
    if (!in_registers()) inline_maps();
    join_stages();
    for (const RowStage& each : of_.stages)
      if (is_there(each)) place(each);
    if (sizes_.kept != KeptRow::kMemory)
      for (const RowTensor& input : of_.inputs) keep_input(input);
    for (const RowStage& each : of_.stages) placed_.insert(name(each));
  }

 private:
  bool in_registers() const { return sizes_.kept == KeptRow::kRegisters; }
  bool has_lanes() const { return sizes_.lanes > 1; }
  bool has_warps() const { return sizes_.warps > 1; }
  std::int64_t of_warp() const { return sizes_.lanes * sizes_.width; }
  std::int64_t of_turn() const { return sizes_.warps * of_warp(); }
  LoopKind kind_of_rows() const {
    if (!has_lanes()) return LoopKind::kThreadX;
    return has_warps() ? LoopKind::kThreadZ : LoopKind::kThreadY;
  }
  const std::string& name(const RowStage& of) const { return of_.name(of_.stage(of).tensor); }
  const std::string& loop(const RowStage& of, int iter) const {
    return of_.stage(of).iters[static_cast<std::size_t>(iter)].name;
  }
  bool is_there(const RowStage& of) const { return nest_.find_block(name(of)) >= 0; }
  bool is_map(int tensor) const {
    return std::ranges::find(of_.maps, tensor, &RowTensor::tensor) != of_.maps.end();
  }
  bool is_read(int tensor) const {
    return std::ranges::any_of(of_.view->stages, [&](const te::Stage& stage) {
      return std::ranges::any_of(ir::reads_of(stage.body),
                                 [&](const ir::Read* read) { return read->tensor == tensor; });
    });
  }

  // Elements that are computed again wherever they are needed.
  void inline_maps() {
    for (const RowTensor& map : of_.maps) step(schedule::Inline{of_.name(map.tensor)});
  }

  // One loop over blocks of rows holds all stages.
  void join_stages() {
    std::vector<Names> axes(of_.stages[0].rows.size());
    for (const RowStage& each : of_.stages) {
      if (!is_there(each)) continue;
      Names order;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        std::string l = loop(each, each.rows[a]);
        if (a + 1 == axes.size()) {
          split(l, sizes_.rows, l + ".g", l + ".i");
          l += ".g";
        }
        axes[a].push_back(l);
        order.push_back(l);
      }
      order.push_back(loop(each, each.rows.back()) + ".i");
      for (const int i : each.along) order.push_back(loop(each, i));
      step(schedule::Reorder{order});
    }
    join_rows(axes, 1, nest_, trace_);
    Names joined;
    for (const Names& axis : axes)
      joined.push_back(*std::ranges::find_if(
          axis, [&](const std::string& l) { return nest_.find_loop(l) >= 0; }));
    home_ = fused(joined, "rows");
    kind(home_, LoopKind::kBlockX);
  }

  void place(const RowStage& of) {
    const te::Stage& stage = of_.stage(of);
    const bool sums = stage.reduce != ir::ReduceOp::kNone;
    const std::string row = loop(of, of.rows.back()) + ".i";
    if (!of.along.empty()) split_row(of, row);
    const bool keeps = sums || is_read(stage.tensor);
    if (keeps && is_map(stage.tensor)) keep_map(stage.tensor);
    else if (keeps) keep_value(of);
    if (sums && has_lanes()) share_sum(of);
    kind(row, kind_of_rows());
    if (!of.along.empty()) bind_row(of);
  }

  // k into k.o of turns, k.w of warps, k.l of lanes and k.v of a vector.
  void split_row(const RowStage& of, const std::string& row) {
    const std::string& k = loop(of, of.along.back());
    std::string rest = k;
    Names order = {row};
    split(rest, number(of_turn()), k + ".o", k + ".r");
    rest = k + ".r";
    if (has_warps()) {
      split(rest, number(of_warp()), k + ".w", k + ".q");
      order.push_back(k + ".w");
      rest = k + ".q";
    }
    if (has_lanes()) {
      split(rest, number(sizes_.width), k + ".l", k + ".v");
      order.push_back(k + ".l");
      vector_[of.stage] = k + ".v";
    } else {
      vector_[of.stage] = rest;
    }
    for (std::size_t a = 0; a + 1 < of.along.size(); ++a) order.push_back(loop(of, of.along[a]));
    if (in_registers()) {
      order.push_back(k + ".o");
    } else {
      split(k + ".o", sizes_.unroll, k + ".s", k + ".u");
      order.insert(order.end(), {k + ".s", k + ".u"});
    }
    order.push_back(vector_[of.stage]);
    step(schedule::Reorder{order});
  }

  void bind_row(const RowStage& of) {
    const std::string& k = loop(of, of.along.back());
    if (has_warps()) kind(k + ".w", LoopKind::kThreadY);
    if (has_lanes()) kind(k + ".l", LoopKind::kThreadX);
    if (in_registers())
      for (std::size_t a = 0; a + 1 < of.along.size(); ++a)
        kind(loop(of, of.along[a]), LoopKind::kUnrolled);
    kind(k + (in_registers() ? ".o" : ".u"), LoopKind::kUnrolled);
    kind(vector_[of.stage], sizes_.width > 1 ? LoopKind::kVectorized : LoopKind::kUnrolled);
  }

  // The threads' own sums in registers; a warp's in shared memory, which each thread adds up.
  void share_sum(const RowStage& of) {
    const std::string &k = loop(of, of.along.back()), &result = name(of);
    const std::string of_warps = result + ".warps", of_lanes = result + ".lanes";
    if (has_warps()) step(schedule::Rfactor{result, k + ".w", of_warps, -1, ir::Scope::kGroup});
    const std::string& whole = has_warps() ? of_warps : result;
    step(schedule::Rfactor{whole, k + ".l", of_lanes, -1, ir::Scope::kLanes});
    const auto row = static_cast<std::size_t>(of.rows.back());
    const Names sums = own_loops(whole);
    kind(sums[row], kind_of_rows());
    if (!has_warps()) return;
    kind(sums[sums.size() - 2], LoopKind::kThreadY);
    const Names loops = own_loops(result);
    kind(loops[row], kind_of_rows());
    const std::string& parts = loops.back();
    split(parts, number(kWarpsAtOnce), parts + ".o", parts + ".v");
    kind(parts + ".o", LoopKind::kUnrolled);
    kind(parts + ".v", LoopKind::kVectorized);
  }
  // The loops of the block inside the one over blocks of rows.
  Names own_loops(const std::string& block) const {
    Names out;
    const ir::LoopId home = nest_.find_loop(home_);
    for (const ir::LoopId l : nest_.loops_around(nest_.find_block(block)))
      if (l != home && nest_.is_inside({ir::Item::Kind::kLoop, l}, home))
        out.push_back(nest_.loops[l].name);
    return out;
  }

  // One value of each row, which all its threads have.
  void keep_value(const RowStage& of) {
    const std::string copy = name(of) + ".own";
    step(schedule::Cache{name(of), copy, home_, ir::Scope::kLanes, {}});
    // The dimensions of the result are its first iterators.
    kind(fmt::format("{}.d{}", copy, of.rows.back()), kind_of_rows());
  }

  // What a thread has of rows.
  void keep_map(int tensor) {
    keep_row(*std::ranges::find(of_.maps, tensor, &RowTensor::tensor), ".own");
  }
  void keep_input(const RowTensor& input) {
    if (in_registers() && input.alone) return keep_row(input, ".row");
    const auto dims = static_cast<int>(shape_of(input.tensor).size());
    std::vector<schedule::LayoutItem> layout;
    for (int d = 0; d < dims; ++d)
      layout.push_back({d, d + 1 == dims ? sizes_.width : std::int64_t{1}});
    if (sizes_.width > 1) layout.push_back({dims - 1, std::int64_t{1}});
    const std::string copy = of_.name(input.tensor) + ".shared";
    step(schedule::Cache{of_.name(input.tensor), copy, home_, ir::Scope::kGroup, layout});
    Names turns;
    for (int d = 0; d < dims; ++d) turns.push_back(fmt::format("{}.d{}", copy, d));
    kind(fused(turns, copy + ".all"), LoopKind::kItems);
    if (sizes_.width > 1) kind(fmt::format("{}.d{}", copy, dims), LoopKind::kVectorized);
  }
  const std::vector<std::int64_t>& shape_of(int tensor) const {
    return of_.view->tensors[static_cast<std::size_t>(tensor)].shape;
  }

  void keep_row(const RowTensor& of, const char* suffix) {
    const std::string copy = of_.name(of.tensor) + suffix;
    const auto dims = static_cast<int>(shape_of(of.tensor).size());
    std::vector<schedule::LayoutItem> layout;
    std::vector<LoopKind> kinds;
    const auto add = [&](int dim, std::int64_t weight, LoopKind k) {
      layout.push_back({dim, weight});
      kinds.push_back(k);
    };
    for (int d = 0; d + 1 < dims; ++d)
      add(d, 1, d == of.row_dim ? kind_of_rows() : LoopKind::kUnrolled);
    add(dims - 1, of_turn(), LoopKind::kUnrolled);
    if (has_warps()) add(dims - 1, of_warp(), LoopKind::kThreadY);
    if (has_lanes()) add(dims - 1, sizes_.width, LoopKind::kThreadX);
    if (sizes_.width > 1 || has_lanes())
      add(dims - 1, 1, sizes_.width > 1 ? LoopKind::kVectorized : LoopKind::kUnrolled);
    step(schedule::Cache{of_.name(of.tensor), copy, home_, ir::Scope::kLanes, layout});
    for (std::size_t i = 0; i < kinds.size(); ++i) kind(fmt::format("{}.d{}", copy, i), kinds[i]);
  }

  const RowStages& of_;
  const RowSizes& sizes_;
  std::set<std::string>& placed_;
  std::string home_;                   // the loop over blocks of rows
  std::map<int, std::string> vector_;  // by stage: the loop of a vector's elements
};

}  // namespace

void put_rows_on_blocks(const RowStages& rows, const RowSizes& sizes, ir::Nest& nest,
                        schedule::Trace& trace, std::set<std::string>& placed) {
  RowKernelBuilder(rows, sizes, nest, trace, placed).run();
}

}  // namespace lathe::space
