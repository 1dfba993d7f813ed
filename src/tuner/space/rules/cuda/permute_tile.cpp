#include "tuner/space/rules/cuda/permute_tile.h"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/space/rules/cuda/card_builder.h"
#include "tuner/space/rules/cuda/other_stages.h"
#include "tuner/space/rules/shared/choices.h"

namespace lathe::space {
namespace {

using ir::LoopKind;

constexpr int kBytesOfCopy = 16;
// Elements after each row of a tile, so that a column's lie in different banks.
constexpr std::int64_t kColumnPad = 1;

int last_axis(const te::Stage& stage) {
  int last = -1;
  for (int i = 0; std::cmp_less(i, stage.iters.size()); ++i)
    if (stage.iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial) last = i;
  return last;
}

// The read along another axis; null: there is none, or several.
const ir::Read* permuted_read(const te::Stage& stage) {
  const int along = read_along(stage);
  const auto reads = ir::reads_of(stage.body);
  if (along < 0 || reads.size() != 1 || !all_plain(reads[0]->index) ||
      reads[0]->index.back() != ir::Affine::iter(along))
    return nullptr;
  return reads[0];
}

class PermuteBuilder : private CardBuilder {
 public:
  PermuteBuilder(const ItemStage& stage, const PermuteSizes& sizes, ir::Nest& nest,
                 schedule::Trace& trace, std::set<std::string>& placed)
      : CardBuilder(stage, sizes.width, last_axis(stage.get()), nest, trace, placed),
        sizes_(sizes) {}

  void run() {
    const std::string &v = loop(last_axis(stage_)), &p = loop(read_along(stage_));
    split(v, times(sizes_.written, width()), v + ".g", v + ".r");
    split(v + ".r", width(), v + ".i", v + ".l");
    split(p, sizes_.read, p + ".g", p + ".r");
    split(p + ".r", sizes_.threads, p + ".t", p + ".i");
    Names far;
    for (int i = 0; std::cmp_less(i, stage_.iters.size()); ++i)
      if (loop(i) != v && loop(i) != p) far.push_back(loop(i));
    far.push_back(p + ".g");
    far.push_back(v + ".g");
    Names order = far;
    order.insert(order.end(), {p + ".i", v + ".i", p + ".t", v + ".l"});
    step(schedule::Reorder{order});
    const std::string tile = fused(far, name_ + ".far");
    kind(tile, LoopKind::kBlockX);
    kind(p + ".i", LoopKind::kThreadY);
    kind(v + ".i", LoopKind::kThreadX);
    stage_tile(tile);
    kind(p + ".t", LoopKind::kUnrolled);
    kind(v + ".l", LoopKind::kVectorized);
    placed_.insert(name_);
  }

 private:
  void stage_tile(const std::string& at) {
    const ir::Read* read = permuted_read(stage_);
    const auto& source = of_.view->tensors[static_cast<std::size_t>(read->tensor)];
    const std::string name = source.name + ".shared";
    const std::int64_t fits = kBytesOfCopy / size_of(source.dtype);
    const std::int64_t lanes = source.shape.back() % fits == 0 ? fits : 1;
    const auto count = static_cast<int>(read->index.size());
    std::vector<schedule::LayoutItem> layout;
    for (int d = 0; d + 1 < count; ++d) layout.push_back({d, std::int64_t{1}});
    if (lanes > 1) layout.push_back({count - 1, lanes});
    layout.push_back({count - 1, std::int64_t{1}});
    step(schedule::Cache{source.name, name, at, ir::Scope::kGroup, layout});
    step(schedule::Layout{name, {}, kColumnPad});
    Names turns;
    for (std::size_t i = 0; i + (lanes > 1 ? 1 : 0) < layout.size(); ++i)
      turns.push_back(fmt::format("{}.d{}", name, i));
    kind(fused(turns, name + ".all"), LoopKind::kItems);
    if (lanes > 1) kind(fmt::format("{}.d{}", name, layout.size() - 1), LoopKind::kVectorized);
  }

  const PermuteSizes& sizes_;
};

struct PermuteProgram {
  ItemStage main;
  std::int64_t width;
  OtherStages others;
  std::vector<Knob> knobs;

  Result<Sketch> build() const {
    return others.sketch([&](Sketch& sketch, std::set<std::string>& placed) {
      const auto size = [&](int knob) {
        return sketch.nest.sizes.knob(knob, knobs[static_cast<std::size_t>(knob)].name);
      };
      put_permute_on_blocks(main, {width, size(0), size(1), size(2)}, sketch.nest, sketch.trace,
                            placed);
    });
  }
};

constexpr Meaning kPermuteMeanings[] = {
    {"tile.written", "vectors of a tile along the axis that is written along"},
    {"tile.read", "elements of a tile along the axis that is read along"},
    {"threads.read", "threads of a block along that"},
};

void limit_permutes(const CudaContext& context, Derived& derived, std::int64_t width) {
  ir::Sizes& s = derived.sizes;
  const auto knob = [&](int k) {
    return s.knob(k, derived.knobs[static_cast<std::size_t>(k)].name);
  };
  const auto demand = [&](const char* why, ir::SizeId size, std::int64_t most) {
    derived.constraints.push_back({why, size, most});
  };
  constexpr int kElementBytes = 8;  // of the widest type
  demand("the block has more threads than the card takes", s.mul(knob(0), knob(2)),
         context.target.block_threads);
  demand("the block needs more shared memory than the card has",
         s.mul(s.mul(knob(0), s.constant(width * kElementBytes)),
               s.add(knob(1), s.constant(kBytesOfCopy))),
         context.target.block_bytes);
  // A thread along the read axis has an element, at least.
  demand("a tile has fewer elements than threads", s.ceildiv(knob(2), knob(1)), 1);
}

}  // namespace

std::span<const Meaning> permute_meanings() { return kPermuteMeanings; }

void put_permute_on_blocks(const ItemStage& stage, const PermuteSizes& sizes, ir::Nest& nest,
                           schedule::Trace& trace, std::set<std::string>& placed) {
  PermuteBuilder(stage, sizes, nest, trace, placed).run();
}

std::optional<Derived> derive_permutes(const std::shared_ptr<const Prepared>& prepared,
                                       const CudaContext& context) {
  const te::Workload& view = prepared->view;
  const ItemStage main{&view, main_stage(view), {}};
  if (permuted_read(main.get()) == nullptr || !writes_plainly(view, main.get())) return {};
  const std::int64_t written = main.extent(last_axis(main.get()));
  const std::int64_t read = main.extent(read_along(main.get()));
  const auto& result = view.tensors[static_cast<std::size_t>(main.get().tensor)];
  const std::int64_t lanes = kBytesOfCopy / size_of(result.dtype);
  const std::int64_t width = written % lanes == 0 ? lanes : 1;
  Derived derived;
  derived.knobs = {
      {"tile.written", up_to({4, 8, 16, 32, 64}, std::max<std::int64_t>(4, written)), {}},
      {"tile.read", up_to({8, 16, 32, 64, 128}, std::max<std::int64_t>(8, read)), {}},
      {"threads.read", {4, 8, 16, 32}, {}}};
  limit_permutes(context, derived, width);
  constexpr std::int64_t kTile = 32;
  const auto nearest = [&](std::size_t knob, std::int64_t wanted) {
    return derived.knobs[knob].values[derived.knobs[knob].nearest(wanted)];
  };
  derived.starts = {{nearest(0, kTile / width), nearest(1, kTile), 8}};
  derived.build = [program = std::make_shared<const PermuteProgram>(PermuteProgram{
                       main, width, {prepared, main.stage, context}, derived.knobs})](
                      std::span<const std::int64_t>) { return program->build(); };
  return derived;
}

}  // namespace lathe::space
