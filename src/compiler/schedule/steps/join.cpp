#include "compiler/schedule/steps/join.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/scans.h"
#include "compiler/schedule/edit.h"
#include "compiler/schedule/region.h"

namespace lathe::schedule {
namespace {

using ir::BlockId;
using ir::BufferId;
using ir::LoopId;

class Joiner {
 public:
  Joiner(ir::Nest& nest, const Join& step) : nest_(nest), step_(step) {}

  StepResult<void> run() {
    if (step_.loops.size() < 2) return refuse(Refusal::kTooFewLoops, "join");
    for (const std::string& name : step_.loops) {
      const LoopId loop = LATHE_TRY(loop_named(nest_, name));
      if (std::ranges::find(loops_, loop) != loops_.end())
        return refuse(Refusal::kNamedTwice, name);
      loops_.push_back(loop);
    }
    LATHE_TRY_STATUS(check_loops());
    LATHE_TRY_STATUS(clear_between());
    for (std::size_t i = 0; i < loops_.size(); ++i)
      for (const BlockId block : nest_.blocks_in(loops_[i])) {
        if (nest_.is_reduction_loop(block, loops_[i]))
          return refuse(Refusal::kReductionInParallel, step_.loops[i]);
        groups_.emplace_back(block, i);
      }
    for (std::size_t i = 1; i < loops_.size(); ++i) absorb(loops_[i]);
    return settle_buffers();
  }

 private:
  StepResult<void> check_loops() const {
    const ir::Loop& first = nest_.loops[loops_[0]];
    const std::vector<ir::Item>& siblings = nest_.children(first.parent);
    auto at = siblings.begin();
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      const ir::Loop& loop = nest_.loops[loops_[i]];
      if (is_tensorized(nest_, loops_[i])) return refuse(Refusal::kAlreadyBound, loop.name);
      at = std::find(at, siblings.end(), ir::Item{ir::Item::Kind::kLoop, loops_[i]});
      const bool follows = at != siblings.end();
      const bool alike =
          loop.extent == first.extent && loop.kind == first.kind && loop.tail == first.tail &&
          loop.prefetch.empty() &&
          (loop.kind == ir::LoopKind::kSerial || loop.kind == ir::LoopKind::kParallel);
      if (!follows || !alike) return refuse(Refusal::kNotAlike, loop.name);
    }
    return {};
  }

  // What stands between the loops goes before them if it needs nothing of those before it, and
  // else behind them, if those after it need nothing of it.
  StepResult<void> clear_between() {
    std::vector<ir::Item>& siblings = nest_.children(nest_.loops[loops_[0]].parent);
    const auto first = std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, loops_[0]});
    const auto last = std::ranges::find(siblings, ir::Item{ir::Item::Kind::kLoop, loops_.back()});
    std::vector<ir::Item> before, joined, behind;
    for (auto item = first; item <= last; ++item) {
      const auto waits = [&](const std::vector<ir::Item>& others) {
        return std::ranges::any_of(others,
                                   [&](const ir::Item& o) { return depend(nest_, *item, o); });
      };
      const bool is_joined =
          item->kind == ir::Item::Kind::kLoop && std::ranges::count(loops_, item->id) > 0;
      if (is_joined && waits(behind))
        return refuse(Refusal::kBreaksDependence, nest_.loops[item->id].name);
      if (is_joined) joined.push_back(*item);
      else (waits(joined) || waits(behind) ? behind : before).push_back(*item);
    }
    auto out = std::ranges::copy(before, first).out;
    out = std::ranges::copy(joined, out).out;
    std::ranges::copy(behind, out);
    return {};
  }

  // What was inside the other loop comes to be inside the first, which drives its iterators.
  void absorb(LoopId other) {
    const LoopId into = loops_[0];
    for (ir::Block& block : nest_.blocks)
      for (ir::BlockIter& iter : block.iters)
        for (ir::LoopDigit& digit : iter.digits)
          if (digit.loop == other) digit.loop = into;
    move_buffers(nest_, other, into);
    for (const ir::Item& item : nest_.loops[other].body) {
      nest_.set_parent(item, into);
      nest_.loops[into].body.push_back(item);
    }
    std::erase(nest_.children(nest_.loops[into].parent), ir::Item{ir::Item::Kind::kLoop, other});
    nest_.loops[other].body.clear();
    nest_.loops[other].dead = true;
  }

  std::size_t group_of(BlockId block) const {
    return std::ranges::find(groups_, block, &std::pair<BlockId, std::size_t>::first)->second;
  }

  StepResult<void> settle_buffers() {
    const LoopId loop = loops_[0];
    for (BufferId id = 0; id < static_cast<int>(nest_.buffers.size()); ++id) {
      const LoopId at = nest_.buffers[id].at;
      if (at != ir::kRoot && nest_.is_inside({ir::Item::Kind::kLoop, at}, loop)) continue;
      const BlockId source = nest_.writer_of(id);
      const bool complete = source >= 0 && !analysis::is_partial_at(nest_, source, loop);
      bool same = complete;  // every read is of what the same iteration has written
      for (const BlockId writer : analysis::writers_of(nest_, id, loop))
        for (const BlockId reader : analysis::readers_of(nest_, id, loop)) {
          const bool found = complete && reads_what_is_there(id, writer, reader);
          const bool earlier = !found && complete && reads_earlier_steps(id, writer, reader);
          if (!found && !earlier && group_of(writer) != group_of(reader))
            return refuse(Refusal::kBreaksDependence, step_.loops[group_of(reader)]);
          same = same && found;
        }
      if (same) keep_for_an_iteration(id);
    }
    return {};
  }

  // True if the reader goes before the writer and reads what that has written in iterations of
  // loops outside, all of it in the same iteration of the loop. (Whether that is so is for
  // check_recurrences() to say.)
  bool reads_earlier_steps(BufferId buffer, BlockId writer, BlockId reader) {
    return group_of(writer) > group_of(reader) &&
           !ir::looks_up(nest_.blocks[reader].body, buffer) &&
           tells_iteration(buffer, writer, reader);
  }

  // True if all that the reader reads in an iteration of the loop was written before in that
  // iteration.
  bool reads_what_is_there(BufferId buffer, BlockId writer, BlockId reader) {
    const LoopId loop = loops_[0];
    if (group_of(writer) > group_of(reader)) return false;
    if (ir::looks_up(nest_.blocks[reader].body, buffer)) return false;
    if (tells_iteration(buffer, writer, reader)) return true;
    const auto region = region_computed(nest_, writer, loop);
    if (!region || !region->guards.empty()) return false;
    const ir::Block block = nest_.blocks[reader];
    for (const ir::Read* read : ir::reads_of(block.body)) {
      if (read->tensor != buffer) continue;
      for (std::size_t d = 0; d < read->index.size(); ++d)
        if (!covers(region->box[d], analysis::span_of(nest_, reader, read->index[d], loop),
                    nest_.buffers[buffer].shape[d]))
          return false;
    }
    return true;
  }

  // True if the place of an element tells in which iteration it is written, and what the reader
  // reads was written in the same. (All of it is written before the reader's loop begins.)
  bool tells_iteration(BufferId buffer, BlockId writer, BlockId reader) {
    const std::vector<ir::Affine> index = nest_.blocks[writer].index;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const analysis::Span written = analysis::span_of(nest_, writer, index[d], loops_[0]);
      const bool told = written.start.size() == 1 && written.start[0].loop == loops_[0] &&
                        written.start[0].div == ir::SizeId::kNone &&
                        written.start[0].mod == ir::SizeId::kNone &&
                        nest_.sizes.at_least(written.start[0].weight, written.extent);
      const ir::Block block = nest_.blocks[reader];
      if (told && std::ranges::all_of(ir::reads_of(block.body), [&](const ir::Read* r) {
            if (r->tensor != buffer) return true;
            const auto read = analysis::span_of(nest_, reader, r->index[d], loops_[0]);
            return analysis::same_start(written, read) && written.offset == read.offset &&
                   nest_.sizes.at_least(written.extent, read.extent);
          }))
        return true;
    }
    return false;
  }

  bool covers(const analysis::Span& written, const analysis::Span& read, ir::SizeId dim) const {
    const bool whole = written.start.empty() && nest_.sizes.is_constant(written.offset) &&
                       nest_.sizes.constant_value(written.offset) == 0 &&
                       nest_.sizes.at_least(written.extent, dim);
    return whole || (analysis::same_start(written, read) && written.offset == read.offset &&
                     nest_.sizes.at_least(written.extent, read.extent));
  }

  void keep_for_an_iteration(BufferId id) {
    if (nest_.buffers[id].scope != ir::Scope::kMemory) return;
    const auto writers = analysis::writers_of(nest_, id);
    if (writers.empty()) return;
    // What goes on along a loop outside is there in its next iteration, too.
    for (const BlockId writer : writers)
      if (analysis::is_scan(nest_.blocks[writer]) &&
          analysis::goes_along_scan(nest_, writer, loops_[0]))
        return;
    for (const auto& users : {writers, analysis::readers_of(nest_, id)})
      for (const BlockId user : users)
        if (!nest_.is_inside({ir::Item::Kind::kBlock, user}, loops_[0])) return;
    nest_.buffers[id].at = loops_[0];
  }

  ir::Nest& nest_;
  const Join& step_;
  std::vector<LoopId> loops_;
  std::vector<std::pair<BlockId, std::size_t>> groups_;  // a block and the loop it was in
};

}  // namespace

std::string Join::text() const { return fmt::format("join {}", fmt::join(loops, ", ")); }

StepResult<void> apply_step(ir::Nest& nest, const Join& step) { return Joiner(nest, step).run(); }

}  // namespace lathe::schedule
