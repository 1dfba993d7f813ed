#include "tuner/space/rules/cuda/block_space.h"

#include <algorithm>
#include <bit>

#include "tuner/space/rules/cuda/block_start.h"
#include "tuner/space/rules/shared/choices.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr int kElement = 4;  // bytes of most programs' elements
// Of the second dimension of a grid.
constexpr std::int64_t kMostBlocks = 65'535;
// A thread has, beside sums and operands, addresses and counters.
constexpr std::int64_t kOtherRegisters = 44;
// Of the default space.
constexpr std::int64_t kFewestThreads = 64, kWarp = 32;
// Products that are written out; lowering refuses some times more.
constexpr std::int64_t kMostWritten = 1024, kMostWrittenWide = 4096;

std::int64_t rounded_up(std::int64_t extent) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)));
}

int add_size(BlockRule& rule, const char* name, Values values, std::int64_t most) {
  rule.knobs.push_back({name, up_to(std::move(values), most), {}, false});
  return static_cast<int>(rule.knobs.size()) - 1;
}

int add_choice(BlockRule& rule, const char* name, std::vector<std::string> labels) {
  Values numbers;
  for (std::size_t i = 0; i < labels.size(); ++i) numbers.push_back(static_cast<std::int64_t>(i));
  rule.knobs.push_back({name, std::move(numbers), std::move(labels), true});
  return static_cast<int>(rule.knobs.size()) - 1;
}

int add_under(BlockRule& rule, const char* name, Values values, std::int64_t most, int above) {
  const int number = add_size(rule, name, std::move(values), most);
  rule.knobs.back().under = above;
  rule.knobs.back().under_values = {1};
  return number;
}

void list_tile_knobs(BlockRule& rule) {
  const ItemStage& main = rule.main;
  const std::int64_t vectors =
      rounded_up((main.extent(main.axes.vector) + rule.width - 1) / rule.width);
  const std::int64_t p0 = main.extent(main.pixel(0)), p1 = main.extent(main.pixel(1));
  rule.at.v = add_size(rule, "item.v", {1, 2, 4}, vectors);
  rule.at.p0 = add_size(rule, "item.p0", {1, 2, 3, 4, 5, 6, 7, 8, 14, 16}, p0);
  if (main.pixel(1) >= 0) rule.at.p1 = add_size(rule, "item.p1", {1, 2, 3, 4, 7}, p1);
  rule.at.of_v = add_size(rule, "threads.v", {1, 2, 4, 8, 16, 32, 64}, vectors);
  rule.at.of_p0 = add_size(rule, "threads.p0", {1, 2, 4, 7, 8, 14, 16, 28, 32, 64}, rounded_up(p0));
  if (main.pixel(1) >= 0)
    rule.at.of_p1 = add_size(rule, "threads.p1", {1, 2, 4, 7, 8, 16}, rounded_up(p1));
}

void list_sum_knobs(BlockRule& rule) {
  const ItemStage& main = rule.main;
  const std::int64_t terms = main.extent(main.axes.reduce);
  Values chunks = {1, 2, 4, 8, 16, 32, 64};
  if (terms < chunks.back() && rounded_up(terms) != terms) chunks.push_back(terms);
  std::ranges::sort(chunks);
  rule.at.chunk = add_size(rule, "chunk", std::move(chunks), rounded_up(terms));
  rule.at.unroll = add_size(rule, "unroll.k", {1, 2, 4, 8}, rounded_up(terms));
  rule.at.has_groups = add_choice(rule, "sum", {"by a thread", "by groups"});
  rule.at.groups = add_under(rule, "sum.groups", {2, 4, 8, 16}, std::max<std::int64_t>(2, terms),
                             rule.at.has_groups);
  rule.at.has_parts = add_choice(rule, "grid", {"whole sums", "parts of sums"});
  rule.at.parts = add_under(rule, "grid.parts", {2, 4, 8, 16, 32}, std::max<std::int64_t>(2, terms),
                            rule.at.has_parts);
}

void list_choices(BlockRule& rule) {
  rule.at.weights = add_choice(rule, "stage.weights", {"shared", "cache"});
  rule.at.input = add_choice(rule, "stage.input", {"shared", "cache"});
  rule.at.stages = add_choice(rule, "stages", {"1", "2", "3", "4"});
  rule.at.lanes = add_choice(rule, "lanes", {"pixels", "vectors"});
  if (may_pad_rows(rule.main)) {
    constexpr std::int64_t kMostPad = 4;
    rule.at.pad = add_size(rule, "rows.pad", {0, 1, 2, 3, 4}, kMostPad);
  }
  if (!rule.main.axes.taps.empty())
    rule.at.taps = add_choice(rule, "taps", {"loops", "last written out", "written out"});
}

// Taps that may be written out.
std::int64_t taps_of(const ItemStage& main) {
  constexpr std::int64_t kMost = 128;
  std::int64_t taps = 1;
  for (const int t : main.axes.taps) taps *= main.extent(t);
  return std::min(taps, kMost);
}

}  // namespace

namespace {

class BlockBoxFinder {
 public:
  BlockBoxFinder(const BlockRule& rule, ir::Sizes& sizes)
      : rule_(rule), main_(rule.main), s_(sizes) {}

  BlockBoxes find() {
    const BlockKnobs& at = rule_.at;
    groups_ = shared_by(at.has_groups, at.groups);
    parts_ = shared_by(at.has_parts, at.parts);
    const ir::SizeId width = s_.constant(rule_.width);
    tile_v_ = s_.mul(s_.mul(width, knob(at.v)), knob(at.of_v));
    tile_p0_ = s_.mul(knob(at.p0), knob(at.of_p0));
    tile_p1_ = s_.mul(knob(at.p1), knob(at.of_p1));
    chunk_ = s_.mul(knob(at.chunk), groups_);
    BlockBoxes out;
    out.threads = s_.mul(s_.mul(knob(at.of_v), knob(at.of_p0)), s_.mul(knob(at.of_p1), groups_));
    const ir::SizeId pixels = s_.mul(knob(at.p0), knob(at.p1)), vectors = s_.mul(width, knob(at.v));
    out.sums = s_.mul(vectors, pixels);
    out.operands = s_.add(vectors, pixels);
    out.results = s_.mul(tile_v_, s_.mul(tile_p0_, tile_p1_));
    out.weights = bytes_of(main_.axes.weights, main_.axes.vector);
    out.input = bytes_of(main_.axes.input, main_.pixel(0));
    const ir::SizeId staged =
        s_.add(s_.mul(out.weights, is_first(at.weights)), s_.mul(out.input, is_first(at.input)));
    const ir::SizeId stages = s_.add(knob(at.stages), s_.constant(1));
    const ir::SizeId exchanged = s_.mul(s_.mul(groups_, knob(at.has_groups)),
                                        s_.mul(out.results, s_.constant(bytes_of_sum(main_))));
    out.shared = s_.add(s_.mul(staged, stages), exchanged);
    out.terms = s_.mul(chunk_, parts_);
    out.near = tiles(main_.axes.vector, tile_v_);
    out.far = s_.mul(tiles(main_.pixel(0), tile_p0_), tiles(main_.pixel(1), tile_p1_));
    for (const int b : main_.axes.batch) out.far = s_.mul(out.far, s_.constant(main_.extent(b)));
    out.beside = s_.add(s_.mul(beside(*main_.axes.weights), is_first(at.weights)),
                        s_.mul(beside(*main_.axes.input), is_first(at.input)));
    return out;
  }

 private:
  ir::SizeId knob(int k) {
    return k < 0 ? s_.constant(1) : s_.knob(k, rule_.knobs[static_cast<std::size_t>(k)].name);
  }
  ir::SizeId is_first(int choice) {
    return s_.add(s_.constant(1), s_.mul(s_.constant(-1), knob(choice)));
  }
  // 1, or what the other knob says where the choice is its second value.
  ir::SizeId shared_by(int choice, int count) {
    const ir::SizeId others = s_.add(knob(count), s_.constant(-1));
    return s_.add(s_.constant(1), s_.mul(knob(choice), others));
  }
  ir::SizeId tiles(int iter, ir::SizeId tile) {
    return s_.ceildiv(s_.constant(main_.extent(iter)), tile);
  }
  // Of an iterator, what a block goes through in a chunk.
  ir::SizeId reach(int iter) {
    const ir::SizeId all = s_.constant(main_.extent(iter));
    if (iter == main_.axes.vector) return s_.min(tile_v_, all);
    if (iter == main_.pixel(0)) return s_.min(tile_p0_, all);
    if (iter == main_.pixel(1)) return s_.min(tile_p1_, all);
    if (iter == main_.axes.reduce) return s_.min(chunk_, all);
    return std::ranges::find(main_.axes.taps, iter) == main_.axes.taps.end() ? s_.constant(1) : all;
  }
  ir::SizeId extent_of(const ir::Affine& row) {
    ir::SizeId extent = s_.constant(1);
    for (const ir::AffineTerm& term : row.terms)
      extent = s_.add(extent, s_.mul(s_.constant(std::abs(term.coef)),
                                     s_.add(reach(term.iter), s_.constant(-1))));
    return extent;
  }
  // Of an operand that is copied in vectors, where it is not packed.
  ir::SizeId beside(const ir::Read& read) {
    const auto& source = main_.view->tensors[static_cast<std::size_t>(read.tensor)];
    const auto last = static_cast<int>(read.index.size()) - 1;
    const std::int64_t lanes = lanes_of_copy(main_, read, last);
    if (source.constant || lanes == 1) return s_.constant(0);
    const int iter = read.index.back().terms[0].iter;
    const auto after = [&](ir::SizeId length) {
      const ir::SizeId whole = s_.mul(s_.ceildiv(length, s_.constant(lanes)), s_.constant(lanes));
      return s_.add(whole, s_.mul(s_.constant(-1), length));
    };
    const ir::SizeId all = s_.constant(main_.extent(iter));
    if (iter != main_.axes.reduce) return after(reach(iter));
    return s_.add(after(reach(iter)), after(s_.ceildiv(all, parts_)));
  }
  // Rows are whole vectors; those along `axis` have gaps where they are not as they lie.
  ir::SizeId bytes_of(const ir::Read* read, int axis) {
    const auto& source = main_.view->tensors[static_cast<std::size_t>(read->tensor)];
    ir::SizeId bytes = s_.constant(size_of(source.dtype));
    for (const ir::Affine& row : read->index) {
      const bool last = &row == &read->index.back(), along = row.coef_of(axis) != 0;
      ir::SizeId extent = extent_of(row);
      if (last || along) {
        const ir::SizeId vector = s_.constant(kElement);
        extent = s_.mul(s_.ceildiv(extent, vector), vector);
      }
      if (along && !last) extent = s_.add(extent, s_.constant(kElement));
      if (last && read == main_.axes.input && rule_.at.pad >= 0)
        extent = s_.add(extent, knob(rule_.at.pad));
      bytes = s_.mul(bytes, extent);
    }
    return bytes;
  }

  const BlockRule& rule_;
  const ItemStage& main_;
  ir::Sizes& s_;
  ir::SizeId groups_{}, parts_{}, tile_v_{}, tile_p0_{}, tile_p1_{}, chunk_{};
};

void limit_blocks(const BlockRule& rule, Flavour flavour, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const BlockBoxes boxes = boxes_of(rule, s);
  const auto demand = [&](const char* why, ir::SizeId size, std::int64_t most) {
    derived.constraints.push_back({why, size, most});
  };
  const auto knob = [&](int k) {
    return k < 0 ? s.constant(1) : s.knob(k, rule.knobs[static_cast<std::size_t>(k)].name);
  };
  const bool wide = flavour == Flavour::kWide;
  demand("the block has more threads than the card takes", boxes.threads,
         rule.target.block_threads);
  demand("the block needs more shared memory than the card has", boxes.shared,
         rule.target.block_bytes - 2 * kWarp * kElement);
  demand("the grid has more blocks along y than cards take", boxes.near, kMostBlocks);
  const ir::SizeId written =
      s.mul(s.mul(boxes.sums, s.constant(taps_of(rule.main))), knob(rule.at.unroll));
  demand("too many products are written out", written, wide ? kMostWrittenWide : kMostWritten);
  const ir::SizeId words = s.constant(bytes_of_sum(rule.main) / kElement);
  const ir::SizeId own =
      s.add(s.mul(words, s.add(boxes.sums, boxes.operands)), s.constant(kOtherRegisters));
  demand("a thread needs more registers than the card has", own, rule.target.thread_registers);
  demand("threads need more registers than the card has", s.mul(own, boxes.threads),
         rule.target.registers);
  if (wide) return;
  demand("a chunk and its parts are more than the sum has", boxes.terms,
         rounded_up(rule.main.extent(rule.main.axes.reduce)));
  demand("copies are no whole vectors", boxes.beside, 0);
  const ir::SizeId warps = s.ceildiv(boxes.threads, s.constant(kWarp));
  demand("threads are no whole warps",
         s.add(s.mul(warps, s.constant(kWarp)), s.mul(boxes.threads, s.constant(-1))), 0);
  demand("a block has few threads", s.ceildiv(s.constant(kFewestThreads), boxes.threads), 1);
}

// `size`: of a knob, which may be -1.
template <class Size>
BlockSizes block_sizes(const BlockRule& rule, std::span<const std::int64_t> values, Size size) {
  const BlockKnobs& at = rule.at;
  const auto chosen = [&](int knob) {
    return knob < 0 ? 0 : values[static_cast<std::size_t>(knob)];
  };
  BlockSizes out;
  out.width = rule.width;
  out.v = size(at.v), out.p0 = size(at.p0), out.p1 = size(at.p1);
  out.of_v = size(at.of_v), out.of_p0 = size(at.of_p0), out.of_p1 = size(at.of_p1);
  out.chunk = size(at.chunk), out.unroll = size(at.unroll);
  out.groups = size(at.groups), out.parts = size(at.parts);
  out.pad = size(at.pad), out.has_pad = at.pad >= 0;
  out.has_groups = chosen(at.has_groups) != 0;
  out.has_parts = chosen(at.has_parts) != 0;
  out.weights = static_cast<Staging>(chosen(at.weights));
  out.input = static_cast<Staging>(chosen(at.input));
  out.stages = static_cast<int>(chosen(at.stages)) + 1;
  out.lanes = static_cast<LaneOrder>(chosen(at.lanes));
  out.taps = static_cast<WrittenTaps>(chosen(at.taps));
  return out;
}

// A space of which the main stage goes on blocks.
struct BlockProgram {
  BlockProgram(BlockRule own, OtherStages beside)
      : rule(std::move(own)), others(std::move(beside)) {}

  BlockRule rule;
  OtherStages others;

  Result<Sketch> build(std::span<const std::int64_t> values) const {
    return others.sketch([&](Sketch& sketch, std::set<std::string>& placed) {
      ir::Sizes& sizes = sketch.nest.sizes;
      const auto size = [&](int knob) {
        return knob < 0 ? sizes.constant(1)
                        : sizes.knob(knob, rule.knobs[static_cast<std::size_t>(knob)].name);
      };
      put_on_blocks(rule.main, block_sizes(rule, values, size), sketch.nest, sketch.trace, placed);
    });
  }
};

constexpr Meaning kBlockMeanings[] = {
    {"threads.v", "threads of a block along the vector axis"},
    {"threads.p0", "threads of a block along the innermost pixel axis"},
    {"threads.p1", "threads of a block along the next pixel axis"},
    {"chunk", "terms of the sum that a thread adds up between two barriers"},
    {"sum",
     "by a thread: a result is summed by one thread of the block; by groups: by several, "
     "whose sums are added up in shared memory"},
    {"sum.groups", "groups of a block's threads that share the sum"},
    {"grid",
     "whole sums: one block computes a result; parts of sums: several do, and a second "
     "kernel adds up"},
    {"grid.parts", "blocks that share the sum"},
    {"stage.weights",
     "shared: the block copies a chunk of the operand read in vectors into shared memory; cache: "
     "threads read it where it lies"},
    {"stage.input",
     "shared: the block copies what it needs of the operand that is read along pixels, or in "
     "windows, into shared memory; cache: threads read it where it lies"},
    {"stages", "chunks that shared memory has room for: copies run ahead by one less"},
    {"rows.pad",
     "elements between rows of the input in shared memory, so that threads that read several rows "
     "at once read from different banks"},
    {"lanes", "neighbouring threads have neighbouring pixels, or neighbouring vectors"},
    {"taps", "which reductions beside the blocked one are written out"},
};

}  // namespace

std::int64_t bytes_of_sum(const ItemStage& stage) {
  return std::max<std::int64_t>(kElement, size_of(stage.get().accumulator));
}

BlockBoxes boxes_of(const BlockRule& rule, ir::Sizes& sizes) {
  return BlockBoxFinder(rule, sizes).find();
}

std::span<const Meaning> block_meanings() { return kBlockMeanings; }

std::optional<BlockRule> block_rule(std::shared_ptr<const Prepared> prepared, int stage,
                                    const CudaTarget& target) {
  const te::Workload& view = prepared->view;
  const std::vector<Axes> axes = axes_of_blocks(view, stage);
  if (axes.empty()) return {};
  BlockRule rule{.prepared = std::move(prepared),
                 .main = {&view, stage, axes[0]},
                 .target = target,
                 .at = {},
                 .knobs = {}};
  const std::int64_t lanes = target.lanes(kElement);
  while (rule.width * 2 <= std::min(lanes, rule.main.extent(rule.main.axes.vector)))
    rule.width *= 2;
  list_tile_knobs(rule);
  list_sum_knobs(rule);
  list_choices(rule);
  return rule;
}

std::vector<std::int64_t> first_block_start(const BlockRule& rule, Flavour flavour) {
  Derived derived;
  derived.knobs = rule.knobs;
  limit_blocks(rule, flavour, derived);
  auto starts = block_starts(rule, derived);
  return starts.empty() ? std::vector<std::int64_t>() : std::move(starts[0]);
}

BlockSizes fixed_block_sizes(const BlockRule& rule, std::span<const std::int64_t> values,
                             ir::Nest& nest) {
  return block_sizes(rule, values, [&](int knob) {
    return nest.sizes.constant(knob < 0 ? 1 : values[static_cast<std::size_t>(knob)]);
  });
}

std::optional<Derived> derive_blocks(const std::shared_ptr<const Prepared>& prepared,
                                     const CudaContext& context) {
  const int main = main_stage(prepared->view);
  auto rule = block_rule(prepared, main, context.target);
  if (!rule) return {};
  Derived derived;
  derived.knobs = rule->knobs;
  limit_blocks(*rule, context.flavour, derived);
  derived.starts = block_starts(*rule, derived);
  if (derived.starts.empty()) return {};
  const auto program =
      std::make_shared<const BlockProgram>(std::move(*rule), OtherStages(prepared, main, context));
  derived.build = [program](std::span<const std::int64_t> values) {
    return program->build(values);
  };
  return derived;
}

}  // namespace lathe::space
