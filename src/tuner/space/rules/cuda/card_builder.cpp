#include "tuner/space/rules/cuda/card_builder.h"

#include <fmt/format.h>

#include "tuner/space/rules/shared/consumers.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

// Threads of a block that only adds up parts of sums.
constexpr std::int64_t kPlainThreads = 128;

}  // namespace

CardBuilder::CardBuilder(const ItemStage& stage, std::int64_t width, int vector, ir::Nest& nest,
                         schedule::Trace& trace, std::set<std::string>& placed)
    : Stepper(nest, trace, false),
      of_(stage),
      stage_(stage.get()),
      placed_(placed),
      name_(tensor(stage_.tensor)),
      width_(width),
      vector_dim_(plain_dim(written_index(stage_), vector)),
      dims_(of_.view->tensors[static_cast<std::size_t>(stage_.tensor)].shape.size()) {}

CardBuilder::Names CardBuilder::loops_of(const std::string& block, const std::string& at) const {
  Names out;
  const ir::LoopId above = at.empty() ? ir::kRoot : nest_.find_loop(at);
  for (const ir::LoopId l : nest_.loops_around(nest_.find_block(block)))
    if (l != above && nest_.is_inside({ir::Item::Kind::kLoop, l}, above))
      out.push_back(nest_.loops[l].name);
  return out;
}

std::string CardBuilder::bind_plainly(const std::string& block, Names loops) {
  Names threads;
  for (std::int64_t left = kPlainThreads; left > 1 && !loops.empty();) {
    const std::string l = loops.back();
    const std::int64_t extent = nest_.sizes.constant_value(nest_.loops[nest_.find_loop(l)].extent);
    loops.pop_back();
    if (extent > left) {
      split(l, number(left), l + ".g", l + ".i");
      loops.push_back(l + ".g");
    }
    threads.insert(threads.begin(), extent > left ? l + ".i" : l);
    left /= extent;
  }
  if (!loops.empty()) kind(fused(loops, block + ".g"), LoopKind::kBlockX);
  const std::string turn = fused(threads, block + ".i");
  kind(turn, LoopKind::kThreadX);
  return turn;
}

std::vector<schedule::LayoutItem> CardBuilder::dims_in_order(std::size_t before,
                                                             bool in_vectors) const {
  std::vector<schedule::LayoutItem> layout;
  const int vector = in_vectors ? vector_dim_ + static_cast<int>(before) : -1;
  for (int d = 0; std::cmp_less(d, dims_ + before); ++d)
    if (d != vector) layout.push_back({d, std::int64_t{1}});
  if (!in_vectors) return layout;
  layout.push_back({vector, width_});
  layout.push_back({vector, std::int64_t{1}});
  return layout;
}

void CardBuilder::keep(const std::string& buffer, const std::string& name, const std::string& at,
                       std::size_t before, bool in_vectors) {
  const auto layout = dims_in_order(before, in_vectors);
  step(schedule::Cache{buffer, name, at, ir::Scope::kRegister, layout});
  for (std::size_t i = 0; i < layout.size(); ++i)
    kind(fmt::format("{}.d{}", name, i),
         in_vectors && i + 1 == layout.size() ? LoopKind::kVectorized : LoopKind::kUnrolled);
}

std::string CardBuilder::split_lanes(Names& loops) {
  if (!stores_vectors()) return "";
  const std::string last = loops.back();
  split(last, width(), last + ".v", last + ".l");
  loops.back() = last + ".v";
  return last + ".l";
}

void CardBuilder::place_maps(const std::string& at, bool in_vectors) {
  for (const te::Stage& consumer : of_.view->stages) {
    const std::string& name = tensor(consumer.tensor);
    if (consumer.reduce != ir::ReduceOp::kNone || placed_.contains(name)) continue;
    const ir::BlockId id = nest_.find_block(name);
    if (id < 0 || !maps_element_by_element(nest_, nest_.blocks[id], nest_.find_buffer(name_)) ||
        !may_step(schedule::ReverseComputeAt{name, at}))
      continue;
    placed_.insert(name);
    Names loops = loops_of(name, at);
    if (!in_vectors) {
      unroll(loops);
      continue;
    }
    const std::string lane = loops[static_cast<std::size_t>(vector_dim_)];
    loops.erase(loops.begin() + vector_dim_);
    split(lane, width(), lane + ".v", lane + ".l");
    loops.push_back(lane + ".v");
    write_out({}, loops, lane + ".l");
  }
}

}  // namespace lathe::space
