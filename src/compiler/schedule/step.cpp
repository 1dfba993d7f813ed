// What all steps and traces do: they are applied, become concrete and print.
#include "compiler/schedule/step.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/scans.h"

namespace lathe::schedule {
namespace {

const char* reason_of_intrinsic(Refusal refusal) {
  switch (refusal) {
    case Refusal::kIntrinsicMismatch:
      return "the loops do not compute what the intrinsic does; it takes a sum of products of two "
             "elements, with the loops that docs/steps.md lists";
    case Refusal::kIntrinsicTypes:
      return "the tensors have other element types than the intrinsic takes; docs/steps.md lists "
             "them";
    case Refusal::kIntrinsicExtents:
      return "the loops have other extents than the intrinsic's; split them to those that "
             "docs/steps.md lists";
    case Refusal::kIntrinsicTail:
      return "some of the iterations may lie beyond an extent or outside a tensor, and the "
             "intrinsic leaves out none; split by sizes that divide, and read without padding";
    default: return "the step names too few loops";  // kTooFewLoops
  }
}

// Of steps that want a certain form of a reduction.
const char* reason_of_reduction(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoBound:
      return "this needs a reduction of select(condition, terms, neutral element), where one "
             "comparison bounds the iterator by what the terms do not depend on";
    case Refusal::kNoWindow:
      return "this needs a reduction of select(condition, terms, neutral element), where "
             "comparisons bound the iterator so that every window is shorter than the loop";
    case Refusal::kNoTerms:
      return "this needs a reduction of several portions, as the terms of a sum are, or of one "
             "that does not need all iterators, and a name for each portion that reduces";
    case Refusal::kNoScan:
      return "this needs a scan that adds, multiplies or takes extremes: each element is one of "
             "these of the one before it and terms; it is cut once, and not of f16 or bf16";
    case Refusal::kNothingInCommon:
      return "no other term of the block has that factor; docs/steps.md tells how they are "
             "numbered";
    default: return reason_of_intrinsic(refusal);
  }
}

// Of steps that want a certain form of the program.
const char* reason_of_form(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoNeighbours:
      return "this needs a sum over products of an input at result + tap or stride*result + tap, "
             "with pad 0 if any, and a filter at the tap";
    case Refusal::kNotAsWritten:
      return "this is for a block whose loops are as the program has them; let this step come "
             "first";
    case Refusal::kBadTile:
      return "there is one tile for each tap, of at least 1 result, and tile and taps (with a "
             "stride "
             "those of a residue) are at most 14 together";
    case Refusal::kNotOneAxis:
      return "to become one, loops must be as the program has them and go through the same "
             "neighbouring dimensions, whole ones but the first, in everything that touches these";
    case Refusal::kFreeBorder:
      return "where layouts are free, inputs and outputs keep their dimensions; this is for the "
             "plain layout mode";
    case Refusal::kNotAlike:
      return "it cannot be joined with the first loop: joined loops follow each other in this "
             "order, have as many iterations, and are all serial or all parallel, not prefetching";
    case Refusal::kNotAnOrder:
      return "the order names every dimension of the buffer once, from 0 on";
    case Refusal::kReadAgain:
      return "only an output that the program does not read again can be stored past the caches; "
             "cache it first where it is a sum";
    case Refusal::kNoProduct:
      return "this needs a sum of products of two reads with pad 0 if any, one with the rows, one "
             "with the columns, both with the terms, each of these axes of at least 2 elements and "
             "read one by one from 0";
    case Refusal::kTooLong:
      return "a loop of the step would have far more iterations than there is work for; use a "
             "smaller size";
    case Refusal::kTooLarge: return "the copy would have more than 2^40 elements";
    case Refusal::kNoParts:
      return "it does not just reduce partial results that one other block makes; use rfactor "
             "first";
    case Refusal::kNotAnExtreme:
      return "this needs a max or min of elements, and a sum of exp(element - max) or a selection "
             "of the elements that equal it, each with partial results";
    case Refusal::kOtherParts:
      return "its parts are not those of the extreme; split and rfactor both alike";
    case Refusal::kBindFirst:
      return "the memory of a group holds what all its items need: bind the loops of items before "
             "it is filled there";
    case Refusal::kBreaksScan:
      return "it reads elements that it has written before, or that a later block has: keep the "
             "loops along that axis serial or unrolled, in their order, around all of these blocks "
             "and without shifted tails, and what is read whole in memory";
    case Refusal::kBadDimension:
      return "partial results have the dimensions of the result and one more; there is no such "
             "place for it";
    default: return reason_of_reduction(refusal);
  }
}

const char* reason(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoSuchLoop:
      return "there is no loop of this name; print the nest to see those there are";
    case Refusal::kNoSuchBlock:
      return "there is no block of this name; print the nest to see those there are";
    case Refusal::kNoSuchBuffer:
      return "there is no buffer of this name; print the nest to see those there are";
    case Refusal::kNameTaken: return "the name is empty or taken; choose another";
    case Refusal::kBadFactor:
      return "the size does not divide the loop, as it must here; use one that does";
    case Refusal::kNotPositive: return "the size must be at least 1";
    case Refusal::kNotNested:
      return "something else is inside the same loops; move or reorder before placing it there";
    case Refusal::kNotOnOnePath:
      return "the loops are not nested in one another; name loops of one path";
    case Refusal::kFusesKinds:
      return "a reduction loop cannot be fused with another; fuse loops of one kind";
    case Refusal::kBreaksDependence:
      return "a value would be used before it is computed, or written twice at a time";
    case Refusal::kNotAReduction:
      return "this needs a block that reduces and a loop of its reduction";
    case Refusal::kIsAReduction:
      return "this is for blocks that do not reduce, or for what has all that it sums up there; "
             "compute_at moves reductions";
    case Refusal::kNotElementwise:
      return "an access is not one iterator a dimension; only such blocks can be moved so";
    case Refusal::kIsOutput:
      return "an output must be computed completely, at the top of the program";
    case Refusal::kNotUsedThere: return "nothing in that loop uses it; choose a loop around a use";
    case Refusal::kPlainBorder:
      return "inputs and outputs keep their declared layout; cache it, or use the free layout mode";
    case Refusal::kBadLayout:
      return "the layout needs every dimension, weights that divide each other and end with 1, and "
             "a box without holes";
    case Refusal::kReductionInParallel:
      return "iterations of a reduction loop depend on each other; use rfactor first";
    case Refusal::kAlreadyBound:
      return "the loop, or one around or inside it, is annotated already; make it serial first";
    case Refusal::kShiftRepeatsReduction:
      return "shifting the last tile back would add to a sum twice; use peel or mask";
    case Refusal::kPadNeedsOwnStorage:
      return "there is no storage with room past the end; cache the buffer first";
    case Refusal::kNotInnermost: return "other loops are inside; only innermost loops can be this";
    case Refusal::kBadScope: return "the buffer cannot live there";
    case Refusal::kBadNumber: return "a number of the step is negative or too large";
    case Refusal::kNamedTwice: return "the step names it twice";
    case Refusal::kThereAlready: return "the block is inside this loop already; name another";
    case Refusal::kMultipleConsumers:
      return "it is used or written in several places; inline it or choose a loop around all";
    default: return reason_of_form(refusal);
  }
}

StepResult<void> dispatch(ir::Nest& nest, const Step& step, bool free_layout) {
  return std::visit(
      [&](const auto& s) -> StepResult<void> {
        if constexpr (requires { apply_step(nest, s, free_layout); })
          return apply_step(nest, s, free_layout);
        else return apply_step(nest, s);
      },
      step);
}

// Buffers that nothing uses any more live at no loop.
void release_unused(ir::Nest& nest) {
  for (std::size_t i = 0; i < nest.buffers.size(); ++i) {
    ir::Buffer& buffer = nest.buffers[i];
    const auto id = static_cast<ir::BufferId>(i);
    if (buffer.at == ir::kRoot || !nest.loops[static_cast<std::size_t>(buffer.at)].dead) continue;
    if (analysis::readers_of(nest, id).empty() && analysis::writers_of(nest, id).empty())
      buffer.at = ir::kRoot;
  }
}

// Marks what lowering may put into prepare(): top-level items whose blocks read only constants and
// what the item itself computes.
void mark_constants(ir::Nest& nest) {
  std::vector<int> item_of(nest.blocks.size(), -1);
  std::vector<std::vector<ir::BlockId>> items;
  for (const ir::Item& item : nest.root) {
    if (item.kind == ir::Item::Kind::kLoop) items.push_back(nest.blocks_in(item.id));
    else items.push_back({item.id});
    for (const ir::BlockId id : items.back()) item_of[id] = static_cast<int>(items.size()) - 1;
  }
  const auto written_only_in = [&](ir::BufferId buffer, int item) {
    const auto writers = analysis::writers_of(nest, buffer);
    return !writers.empty() &&
           std::ranges::all_of(writers, [&](ir::BlockId id) { return item_of[id] == item; });
  };
  for (int item = 0; item < static_cast<int>(items.size()); ++item) {
    const bool constant = std::ranges::all_of(items[item], [&](ir::BlockId id) {
      const ir::Block& block = nest.blocks[id];
      return nest.buffers[block.writes].scope != ir::Scope::kOutput &&
             written_only_in(block.writes, item) &&
             std::ranges::all_of(ir::tensors_of(block.body), [&](ir::BufferId read) {
               return nest.buffers[read].constant || written_only_in(read, item);
             });
    });
    for (const ir::BlockId id : items[item])
      nest.buffers[nest.blocks[id].writes].constant = constant;
  }
}

}  // namespace

std::string StepError::text() const {
  const std::string where = step < 0 ? "" : fmt::format("step {}: ", step);
  return fmt::format("{}{}: {}", where, subject, reason(refusal));
}

StepResult<void> apply(ir::Nest& nest, const Step& step, bool free_layout) {
  ir::Nest copy = nest;
  if (auto done = dispatch(copy, step, free_layout); !done) return done;
  if (!std::holds_alternative<Scan>(step) && !std::holds_alternative<CutScan>(step))  // make some
    if (auto kept = check_scans(nest, copy); !kept) return kept;
  if (auto kept = check_recurrences(nest, copy); !kept) return kept;
  release_unused(copy);
  mark_constants(copy);
#ifndef NDEBUG
  const Status status = ir::verify(copy);
  LATHE_CHECK(status.has_value(), "after {}: {}\n{}", print(step), status.error().message,
              ir::print(copy));
#endif
  nest = std::move(copy);
  return {};
}

StepResult<void> apply(ir::Nest& nest, const Trace& trace, bool free_layout) {
  ir::Nest copy = nest;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    auto done = apply(copy, trace[i], free_layout);
    if (done) continue;
    done.error().step = static_cast<int>(i);
    return done;
  }
  nest = std::move(copy);
  return {};
}

Trace concretize(const Trace& trace, const ir::SizedNest& sizes) {
  const auto fix = [&](auto& value) {
    using T = std::decay_t<decltype(value)>;
    const auto number = [&](Size& size) {
      if (const auto* id = std::get_if<ir::SizeId>(&size)) size = sizes[*id];
    };
    if constexpr (std::is_same_v<T, Size>) number(value);
    if constexpr (std::is_same_v<T, std::vector<LayoutItem>>)
      for (LayoutItem& item : value) number(item.weight);
  };
  Trace out = trace;
  for (Step& step : out)
    std::visit(
        [&](auto& s) {
          each_field<std::decay_t<decltype(s)>>([&](const auto& field) { fix(s.*field.member); });
        },
        step);
  return out;
}

std::string text_of(const Size& size) {
  if (const auto* number = std::get_if<std::int64_t>(&size)) return std::to_string(*number);
  return fmt::format("size{}", static_cast<int>(std::get<ir::SizeId>(size)));
}

std::string text_of(const std::vector<LayoutItem>& layout) {
  std::string out = "(";
  for (std::size_t i = 0; i < layout.size(); ++i)
    out += fmt::format("{}{}/{}", i ? ", " : "", layout[i].dim, text_of(layout[i].weight));
  return out + ")";
}

std::string print(const Step& step) {
  return std::visit([](const auto& s) { return s.text(); }, step);
}

std::string print(const Trace& trace) {
  std::string out;
  for (const Step& step : trace) out += print(step) + "\n";
  return out;
}

std::string_view name_of(const Step& step) {
  return std::visit([](const auto& s) -> std::string_view { return s.kName; }, step);
}

}  // namespace lathe::schedule
