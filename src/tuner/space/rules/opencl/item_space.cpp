#include "tuner/space/rules/opencl/item_space.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/analysis/recurrences.h"
#include "tuner/space/rules/scan/scan_grid.h"
#include "tuner/space/rules/scan/scan_loops.h"
#include "tuner/space/rules/scan/steps_grid.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

// Results in an item's registers at most: devices of OpenCL 1.2 do not tell how many they have.
constexpr std::int64_t kMostResults = 64;
// Of a stage without knobs, and where a search starts.
constexpr std::int64_t kItemsOfGroup = 64;
constexpr std::int64_t kPixelsAtStart = 4;
// A sum of so many terms with so few results is cut, in parts of so many terms.
constexpr std::int64_t kLongSum = 4096, kPart = 256;
constexpr double kFewSums = 4096;

std::int64_t at_most(const Values& values, std::int64_t most) {
  std::int64_t best = values[0];
  for (const std::int64_t v : values)
    if (v <= most) best = std::max(best, v);
  return best;
}

ItemStage stage_with_axes(const te::Workload& view, int stage) {
  ItemStage out{&view, stage, {}};
  const std::vector<Axes> axes = classify(view, stage);
  if (!axes.empty()) out.axes = axes[0];
  return out;
}

// Cuts the longest reduction of a stage with few results.
void cut_sum(Prepared& prepared, const te::Workload& view, const te::Stage& stage) {
  double results = 1;
  const te::Iterator* longest = nullptr;
  for (const te::Iterator& it : stage.iters) {
    if (it.kind == te::IterKind::kSpatial) results *= static_cast<double>(it.extent);
    else if (longest == nullptr || it.extent > longest->extent) longest = &it;
  }
  if (stage.reduce == ir::ReduceOp::kNone || longest == nullptr || longest->extent < kLongSum ||
      results > kFewSums)
    return;
  const std::string& block = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const std::string loop = longest->name;
  Prepared cut = prepared;
  if (try_step(cut.nest, cut.steps,
               schedule::Split{loop, kPart, loop + ".p", loop + ".q", ir::Tail::kPeel}, false) &&
      try_step(cut.nest, cut.steps, schedule::Rfactor{block, loop + ".p", block + ".part", 0},
               false))
    prepared = std::move(cut);
}

}  // namespace

Prepared prepare_for_grid(const te::Workload& workload, bool in_parts) {
  Prepared prepared = begin(workload, algebra::Repeated::kKept);
  merge_axes(prepared, workload);
  prepared.view = view_of(prepared.nest, workload);
  if (!in_parts) return prepared;
  const te::Workload whole = prepared.view;
  for (const te::Stage& stage : whole.stages) cut_sum(prepared, whole, stage);
  prepared.view = view_of(prepared.nest, workload);
  return prepared;
}

ItemProgram::ItemProgram(Prepared prepared, const Grids& grids, bool staged)
    : prepared_(std::make_shared<const Prepared>(std::move(prepared))),
      grids_(grids),
      staged_(staged) {
  main_ = stage_with_axes(prepared_->view, main_stage(prepared_->view));
}

void ItemProgram::list_knobs(const std::string& prefix, std::vector<Knob>& knobs) {
  KnobList list(knobs, prefix);
  const std::int64_t along = main_.extent(main_.axes.vector);
  const std::int64_t p0 = main_.extent(main_.pixel(0)), p1 = main_.extent(main_.pixel(1));
  std::vector<std::string> widths;
  for (const std::int64_t w : up_to({1, 2, 4, 8, 16}, grids_.lanes))
    widths.push_back(std::to_string(w));
  at_.width = list.choice("width", std::move(widths));
  at_.v = list.size("item.v", up_to({1, 2, 4}, along));
  if (main_.pixel(0) >= 0) at_.p0 = list.size("item.p0", up_to({1, 2, 3, 4, 5, 6, 7, 8, 16}, p0));
  if (main_.pixel(1) >= 0) at_.p1 = list.size("item.p1", up_to({1, 2, 4}, p1));
  at_.group_x = list.size("group.x", up_to({1, 2, 4, 8, 16, 32, 64, 128, 256}, grids_.most_items));
  if (main_.pixel(0) >= 0)
    at_.group_y = list.size("group.y", up_to({1, 2, 4, 8, 16, 32}, grids_.most_items));
  if (main_.axes.reduce >= 0)
    at_.unroll = list.size("unroll.k", up_to({1, 2, 4, 8}, main_.extent(main_.axes.reduce)));
  if (main_.axes.reduce >= 0 && !main_.axes.taps.empty())
    at_.reduce = list.choice("reduce",
                             std::vector{ReduceOrder::kChannelsOutside, ReduceOrder::kTapsOutside});
  if (has_strided_weights(main_))
    at_.pack = list.choice("pack.weights", std::vector{Packing::kNone, Packing::kWhole});
  if (staged_)
    at_.chunk = list.size("chunk.k", up_to({4, 8, 16, 32, 64}, main_.extent(main_.axes.reduce)));
}

bool ItemProgram::has_shared_reads() const {
  return main_.axes.vector >= 0 && main_.axes.reduce >= 0 && main_.pixel(0) >= 0 &&
         has_reuse(main_.get());
}

// How many iterations along an iterator the items of a group go through at a time. The last tile is
// as long as the others, whatever is left.
ir::SizeId ItemProgram::staged_reach(int iter, Derived& derived) const {
  ir::Sizes& s = derived.sizes;
  const auto knob = [&](int number) { return size_given(number, derived); };
  if (iter == main_.axes.vector)
    return s.mul(s.mul(knob(at_.v), knob(at_.group_x)), s.constant(grids_.lanes));
  if (iter == main_.pixel(0)) return s.mul(knob(at_.p0), knob(at_.group_y));
  if (iter == main_.pixel(1)) return knob(at_.p1);
  if (iter == main_.axes.reduce) return knob(at_.chunk);
  return s.constant(std::ranges::count(main_.axes.taps, iter) > 0 ? main_.extent(iter) : 1);
}

// What they stage of a dimension of an operand for all of these reads of it.
ir::SizeId ItemProgram::staged_extent(const std::vector<const ir::Read*>& reads, std::size_t dim,
                                      Derived& derived) const {
  ir::Sizes& s = derived.sizes;
  const ir::Affine& first = reads[0]->index[dim];
  std::int64_t low = first.offset, high = first.offset;
  for (const ir::Read* read : reads) {
    const ir::Affine& row = read->index[dim];
    if (row.terms != first.terms) {
      const auto tensor = static_cast<std::size_t>(read->tensor);
      return s.constant(main_.view->tensors[tensor].shape[dim]);
    }
    low = std::min(low, row.offset), high = std::max(high, row.offset);
  }
  ir::SizeId extent = s.constant(high - low + 1);
  for (const ir::AffineTerm& term : first.terms)
    extent = s.add(extent, s.mul(s.constant(std::abs(term.coef)),
                                 s.add(staged_reach(term.iter, derived), s.constant(-1))));
  return extent;
}

void ItemProgram::constrain_staged(Derived& derived) const {
  constexpr int kAlignment = 64;
  ir::Sizes& s = derived.sizes;
  const auto rounded = [&](ir::SizeId size, std::int64_t unit) {
    return s.mul(s.ceildiv(size, s.constant(unit)), s.constant(unit));
  };
  std::map<int, std::vector<const ir::Read*>> operands;
  for (const ir::Read* read : ir::reads_of(main_.get().body))
    operands[read->tensor].push_back(read);
  ir::SizeId bytes = s.constant(0);
  for (const auto& [tensor, reads] : operands) {
    const Dtype dtype = main_.view->tensors[static_cast<std::size_t>(tensor)].dtype;
    const auto& index = reads[0]->index;
    // Vectors lie along one dimension, which is padded up to whole ones.
    const auto found = std::ranges::find_if(
        index, [&](const ir::Affine& row) { return row.coef_of(main_.axes.vector) != 0; });
    const auto along = found == index.end() ? std::ssize(index) - 1 : found - index.begin();
    ir::SizeId size = s.constant(size_of(dtype));
    for (std::size_t d = 0; d < index.size(); ++d) {
      const ir::SizeId extent = staged_extent(reads, d, derived);
      size = s.mul(size, std::cmp_equal(d, along) ? rounded(extent, grids_.lanes) : extent);
    }
    bytes = s.add(bytes, rounded(size, kAlignment));
  }
  derived.constraints.push_back(
      {"the group stages more than its memory holds", bytes, grids_.group_bytes});
}

void ItemProgram::constrain(Flavour flavour, Derived& derived) const {
  ir::Sizes& s = derived.sizes;
  const auto size = [&](int knob) { return size_given(knob, derived); };
  derived.constraints.push_back({"the group has more items than the device takes",
                                 s.mul(size(at_.group_x), size(at_.group_y)), grids_.most_items});
  if (staged_) constrain_staged(derived);
  if (flavour == Flavour::kWide) return;
  const ir::SizeId tile = s.mul(size(at_.v), s.mul(size(at_.p0), size(at_.p1)));
  derived.constraints.push_back({"an item has more results than registers",
                                 s.mul(tile, s.constant(grids_.lanes)), kMostResults});
}

void ItemProgram::set_start(const std::vector<Knob>& knobs, Values& start) const {
  const auto set = [&](int knob, std::int64_t most) {
    if (knob < 0) return;
    const auto k = static_cast<std::size_t>(knob);
    start[k] = at_most(knobs[k].values, most);
  };
  const bool reuses = has_reuse(main_.get());
  const std::int64_t along = main_.extent(main_.axes.vector);
  const std::int64_t vectors = (along + grids_.lanes - 1) / grids_.lanes;
  set(at_.width, std::ssize(knobs[static_cast<std::size_t>(at_.width)].values) - 1);
  set(at_.v, 1);
  set(at_.p0, reuses ? kPixelsAtStart : 1);
  set(at_.p1, 1);
  set(at_.group_x, std::min(vectors, at_.group_y < 0 ? kItemsOfGroup : kItemsOfGroup / 4));
  const std::int64_t beside = start[static_cast<std::size_t>(at_.group_x)];
  set(at_.group_y, std::min<std::int64_t>(4, grids_.most_items / beside));
  set(at_.unroll, 4);
  set(at_.reduce, 1);
  set(at_.pack, 1);
  set(at_.chunk, 16);
}

ItemSizes ItemProgram::sizes_of_main(const std::vector<Knob>& knobs,
                                     std::span<const std::int64_t> values, ir::Nest& nest) const {
  const auto size = [&](int knob) {
    return knob < 0 ? nest.sizes.constant(1)
                    : nest.sizes.knob(knob, knobs[static_cast<std::size_t>(knob)].name);
  };
  ItemSizes out;
  const auto width = static_cast<std::size_t>(at_.width);
  out.width = std::stoll(knobs[width].labels[static_cast<std::size_t>(values[width])]);
  out.v = size(at_.v), out.p0 = size(at_.p0), out.p1 = size(at_.p1);
  out.group_x = size(at_.group_x), out.group_y = size(at_.group_y);
  out.unroll = size(at_.unroll);
  const auto chosen = [&](int knob) {
    return knob < 0 ? 0 : values[static_cast<std::size_t>(knob)];
  };
  out.order = chosen(at_.reduce) == 0 ? ReduceOrder::kChannelsOutside : ReduceOrder::kTapsOutside;
  // Of programs that share knobs one may have nothing to copy.
  const bool copies = chosen(at_.pack) != 0 && has_strided_weights(main_);
  out.copying = std::min(kItemsOfGroup, grids_.most_items);
  out.weights = copies ? Packing::kWhole : Packing::kNone;
  out.staged = staged_;
  if (staged_) out.chunk = size(at_.chunk);
  return out;
}

namespace {

ItemSizes fixed_sizes(const ItemStage& stage, const Grids& grids, ir::Nest& nest) {
  const std::int64_t along = stage.extent(stage.axes.vector);
  const std::int64_t width = at_most({1, 2, 4}, std::min<std::int64_t>(along, grids.lanes));
  const auto number = [&](std::int64_t value) { return nest.sizes.constant(value); };
  const std::int64_t items =
      std::min({(along + width - 1) / width, kItemsOfGroup, grids.most_items});
  return {width,
          number(1),
          number(1),
          number(1),
          number(items),
          number(1),
          number(std::min<std::int64_t>(4, stage.extent(stage.axes.reduce)))};
}

}  // namespace

void put_others_on_grid(const te::Workload& view, const Grids& grids, ir::Nest& nest,
                        schedule::Trace& trace, std::set<std::string>& placed) {
  for (const bool reduce : {true, false})  // sums first: maps may follow them
    for (int s = 0; std::cmp_less(s, view.stages.size()); ++s) {
      const te::Stage& stage = view.stages[static_cast<std::size_t>(s)];
      if ((stage.reduce != ir::ReduceOp::kNone) != reduce ||
          placed.contains(view.tensors[static_cast<std::size_t>(stage.tensor)].name))
        continue;
      const std::string& tensor = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
      const auto items = nest.sizes.constant(std::min(kItemsOfGroup, grids.most_items));
      const ir::BlockId block = nest.find_block(tensor);
      if (analysis::goes_along_axis(nest, block)) {
        placed.merge(companions_along(nest, tensor));
        put_scan_on_grid(tensor, items, nest, trace);
        continue;
      }
      if (analysis::is_in_steps(nest, block)) {
        placed.merge(companions_in_steps(nest, tensor));
        put_steps_on_grid(tensor, items, nest, trace);
        continue;
      }
      const ItemStage other = stage_with_axes(view, s);
      if (other.axes.vector >= 0)  // else one item computes it
        put_on_grid(other, fixed_sizes(other, grids, nest), nest, trace, placed);
    }
}

Result<Sketch> sketch_on_grid(const Prepared& prepared, const Grids& grids,
                              const LeadOnGrid& lead) {
  Sketch sketch{prepared.nest, prepared.steps};
  std::set<std::string> placed;
  try {
    lead(sketch, placed);
    put_others_on_grid(prepared.view, grids, sketch.nest, sketch.trace, placed);
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
  return sketch;
}

Result<Sketch> ItemProgram::build(const std::vector<Knob>& knobs,
                                  std::span<const std::int64_t> values) const {
  return sketch_on_grid(*prepared_, grids_, [&](Sketch& sketch, std::set<std::string>& placed) {
    put_on_grid(main_, sizes_of_main(knobs, values, sketch.nest), sketch.nest, sketch.trace,
                placed);
  });
}

Result<Derived> derive_items(const GridContext& context) {
  const te::Workload& workload = context.workload;
  if (workload.stages.empty())
    return fail(ErrorKind::kInvalidArgument, "the workload computes nothing");
  auto program = std::make_shared<ItemProgram>(prepare_for_grid(workload, false), context.grids);
  if (!program->has_axes())
    return fail(ErrorKind::kUnsupported,
                "{} has no axis but reductions: give it a dimension of size 1", workload.name);
  Derived derived;
  program->list_knobs("", derived.knobs);
  program->constrain(context.flavour, derived);
  derived.starts = {first_values(derived.knobs)};
  program->set_start(derived.knobs, derived.starts[0]);
  derived.build = [program, knobs = derived.knobs](std::span<const std::int64_t> values) {
    return program->build(knobs, values);
  };
  return derived;
}

namespace {

class TreeAlternatives : public Alternatives {
 public:
  explicit TreeAlternatives(ItemProgram program, Flavour flavour)
      : program_(std::move(program)), flavour_(flavour) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    std::vector<Knob> knobs = before;
    KnobList(knobs).choice("sums", {"whole", "in parts"});
    program_.list_knobs("parts.", knobs);
    return {choice_of(std::move(knobs), at_)};
  }
  void add_limits_and_starts(Derived& derived) override {
    program_.constrain(flavour_, derived);
    knobs_ = derived.knobs;
    Values other = first_values(knobs_);
    other[at_] = 1;
    program_.set_start(knobs_, other);
    derived.starts.insert(derived.starts.begin(), std::move(other));
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return program_.build(knobs_, values);
  }

 private:
  ItemProgram program_;
  Flavour flavour_;
  std::vector<Knob> knobs_;  // of the space
  std::size_t at_ = 0;       // the number of the knob
};

class StageAlternatives : public Alternatives {
 public:
  StageAlternatives(ItemProgram program, Flavour flavour)
      : program_(std::move(program)), flavour_(flavour) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    std::vector<Knob> knobs = before;
    knobs.push_back({"stage", {0, 1}, {"none", "group"}, true});
    program_.list_knobs("staged.", knobs);
    return {choice_of(std::move(knobs), at_)};
  }
  // Whether it is worth it is for measurements to say: the direct program stays the first start.
  void add_limits_and_starts(Derived& derived) override {
    program_.constrain(flavour_, derived);
    knobs_ = derived.knobs;
    Values start = first_values(knobs_);
    start[at_] = 1;
    program_.set_start(knobs_, start);
    derived.starts.push_back(std::move(start));
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return program_.build(knobs_, values);
  }

 private:
  ItemProgram program_;
  Flavour flavour_;
  std::vector<Knob> knobs_;  // of the space
  std::size_t at_ = 0;       // the number of the knob
};

constexpr Meaning kItemMeanings[] = {
    {"width", "elements of the vectors in which an item loads, computes and stores"},
    {"item.v", "width of an item's tile along the vector axis, in vectors"},
    {"item.p0", "height of an item's tile along the innermost pixel axis, in elements"},
    {"item.p1", "height of an item's tile along the next pixel axis, in elements"},
    {"group.x", "items of a work group along the vector axis"},
    {"group.y", "items of a work group along the innermost pixel axis"},
};
constexpr Meaning kTreeMeanings[] = {
    {"sums",
     "whole: an item sums all terms of its results; in parts: a kernel sums parts of long sums, "
     "and "
     "another one these. Then the knobs parts.* have an effect"},
};

constexpr Meaning kStageMeanings[] = {
    {"stage",
     "none: each item reads the operands itself; group: the items of a group bring them into its "
     "local memory, chunk by chunk of the sum. Then the knobs staged.* have an effect"},
    {"staged.width", "elements of the vectors of an item whose operands are staged"},
    {"staged.item.v", "width of its tile along the vector axis, in vectors"},
    {"staged.item.p0", "height of its tile along the innermost pixel axis"},
    {"staged.item.p1", "height of its tile along the next pixel axis"},
    {"staged.group.x", "items of a work group that stages, along the vector axis"},
    {"staged.group.y", "items of a work group that stages, along the innermost pixel axis"},
    {"staged.chunk.k", "steps of the reduction whose operands are staged at a time"},
};

}  // namespace

std::span<const Meaning> item_meanings() { return kItemMeanings; }
std::span<const Meaning> tree_meanings() { return kTreeMeanings; }
std::span<const Meaning> stage_meanings() { return kStageMeanings; }

Result<std::unique_ptr<Alternatives>> offer_stage(const GridContext& context) {
  ItemProgram program(prepare_for_grid(context.workload, false), context.grids, true);
  if (!program.has_shared_reads() || context.grids.group_bytes == 0) return nullptr;
  std::vector<Knob> knobs;
  ItemProgram tried = program;
  tried.list_knobs("", knobs);
  if (!tried.build(knobs, first_values(knobs))) return nullptr;
  return std::make_unique<StageAlternatives>(std::move(program), context.flavour);
}

Result<std::unique_ptr<Alternatives>> offer_tree(const GridContext& context) {
  Prepared prepared = prepare_for_grid(context.workload, true);
  if (prepared.steps.size() == prepare_for_grid(context.workload, false).steps.size())
    return nullptr;
  ItemProgram program(std::move(prepared), context.grids);
  if (!program.has_axes()) return nullptr;
  return std::make_unique<TreeAlternatives>(std::move(program), context.flavour);
}

}  // namespace lathe::space
