#include "tuner/space/rules/strips/strip_sketch.h"

#include <algorithm>
#include <set>

#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/plain_loops.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {
namespace {

constexpr std::int64_t kMostTerms = 32;  // terms of a sum that are written out

class StripBuilder : public Stepper {
 public:
  StripBuilder(const Stencils& pipeline, const StripChoice& choice, Sketch& sketch)
      : Stepper(sketch.nest, sketch.trace, false), pipeline_(pipeline), choice_(choice) {}

  void run() {
    place_outputs();
    find_tiled();
    for (const int s : pipeline_.moved) {
      if (tiled_.contains(s)) place_at_tile(s);
      else place_at_strip(s);
    }
    std::set<std::string> placed;
    for (const te::Stage& stage : pipeline_.prepared.view.stages)
      if (pipeline_.prepared.view.tensors[static_cast<std::size_t>(stage.tensor)].constant)
        schedule_plainly(pipeline_.prepared.view, stage, pipeline_.target, nest_, trace_, placed);
    share_loops(nest_, trace_, outer_, pipeline_.target.threads, free_layout_);
  }

 private:
  const std::string& loop_of(int stage, int axis) const {
    return pipeline_.stage(stage).iters[static_cast<std::size_t>(axis)].name;
  }

  ir::SizeId size(const StripSize& size) {
    return size.knob < 0 ? number(size.value) : nest_.sizes.knob(size.knob, size.name);
  }

  // Cuts the loop in blocks, which go to `outer`, unless there is one block only. Returns the loop
  // inside them.
  std::string cut(const std::string& loop, std::int64_t extent, std::int64_t block,
                  std::vector<std::string>& outer) {
    if (block <= 0 || block >= extent) return loop;
    split(loop, number(block), loop + ".s", loop + ".r");
    outer.push_back(loop + ".s");
    return loop + ".r";
  }

  // The loops of a tile: over tiles, and inside of one.
  struct Tile {
    std::string row, lane;            // over tiles; no row: the tile has one
    std::vector<std::string> inside;  // rows, vectors; the lanes come last
    std::string lanes;
  };
  Tile tile(const std::string& row, const std::string& lane, ir::SizeId height,
            ir::SizeId vectors) {
    Tile out;
    if (!row.empty()) {
      split(row, height, row + ".t", row + ".u");
      out.row = row + ".t";
      out.inside.push_back(row + ".u");
    }
    split(lane, times(vectors, number(pipeline_.lanes)), lane + ".t", lane + ".q");
    split(lane + ".q", number(pipeline_.lanes), lane + ".v", lane + ".l");
    out.lane = lane + ".t";
    out.inside.push_back(lane + ".v");
    out.lanes = lane + ".l";
    return out;
  }

  // Reduction loops of the stage, called so at their place.
  static std::vector<std::string> sums(const te::Stage& stage, const std::string& at) {
    std::vector<std::string> out;
    for (const te::Iterator& iter : stage.iters)
      if (iter.kind == te::IterKind::kReduce) out.push_back(iter.name + at);
    return out;
  }

  // The innermost sums that are short enough together are written out.
  void unroll_sums(const te::Stage& stage, const std::vector<std::string>& loops) {
    std::int64_t terms = 1;
    const std::size_t first = stage.iters.size() - loops.size();
    for (std::size_t k = loops.size(); k-- > 0;) {
      terms *= stage.iters[first + k].extent;
      if (terms > kMostTerms) return;
      kind(loops[k], ir::LoopKind::kUnrolled);
    }
  }

  // Dimensions in order, the last one in vectors.
  std::vector<schedule::LayoutItem> tile_layout(std::size_t dims) const {
    std::vector<schedule::LayoutItem> items;
    for (int d = 0; d + 1 < static_cast<int>(dims); ++d) items.push_back({d, std::int64_t{1}});
    const int last = static_cast<int>(dims) - 1;
    items.push_back({last, std::int64_t{pipeline_.lanes}});
    items.push_back({last, std::int64_t{1}});
    return items;
  }

  // Keeps what the tile computes in registers until it is complete.
  void accumulate(const std::string& tensor, std::size_t dims, const std::string& loop) {
    const std::string name = tensor + ".acc";
    const auto layout = tile_layout(dims);
    step(schedule::Cache{tensor, name, loop, ir::Scope::kRegister, layout});
    for (std::size_t i = 0; i < layout.size(); ++i)
      kind(name + ".d" + std::to_string(i),
           i + 1 == layout.size() ? ir::LoopKind::kVectorized : ir::LoopKind::kUnrolled);
  }

  std::size_t dims_of(const te::Stage& stage) const {
    return pipeline_.prepared.view.tensors[static_cast<std::size_t>(stage.tensor)].shape.size();
  }

  // All outputs have their strips in the same loops.
  void place_outputs() {
    std::vector<std::vector<std::string>> outer;
    for (const int s : pipeline_.outputs) outer.push_back(place_output(s));
    outer_ = outer.front();
    for (std::size_t level = 0; outer.size() > 1 && level < outer_.size(); ++level) {
      std::vector<std::string> loops;
      for (const auto& own : outer) loops.push_back(own[level]);
      step(schedule::Join{loops});
    }
    strip_loop_ = outer_.empty() ? "" : outer_.back();
  }

  // Returns the loops outside of a strip.
  std::vector<std::string> place_output(int s) {
    const te::Stage& out = pipeline_.stage(s);
    std::vector<std::string> outer, inside;
    for (const int axis : pipeline_.batch) outer.push_back(loop_of(s, axis));
    for (const int axis : pipeline_.inner) inside.push_back(loop_of(s, axis));
    std::string row;
    for (const int axis : pipeline_.rows) {
      if (!row.empty()) inside.push_back(row);
      const bool last = axis == pipeline_.rows.back();
      row =
          cut(loop_of(s, axis), pipeline_.extent(axis), last ? choice_.rows : choice_.depth, outer);
    }
    const std::string lane =
        cut(loop_of(s, pipeline_.lane), pipeline_.extent(pipeline_.lane), choice_.width, outer);
    const Tile tiles = tile(row, lane, size(choice_.height), size(choice_.vectors));
    tile_loop_ = tiles.lane;
    const std::vector<std::string> reduced = sums(out, "");
    std::vector<std::string> order = outer;
    order.insert(order.end(), inside.begin(), inside.end());
    order.insert(order.end(), {tiles.row, tiles.lane});
    order.insert(order.end(), reduced.begin(), reduced.end());
    write_out(order, tiles.inside, tiles.lanes);
    unroll_sums(out, reduced);
    if (!reduced.empty()) accumulate(pipeline_.name(s), dims_of(out), tile_loop_);
    return outer;
  }

  // Stages that tiles compute: all that read these are computed there, too.
  void find_tiled() {
    const te::Workload& view = pipeline_.prepared.view;
    std::set<int> may(pipeline_.loose.begin() + static_cast<std::ptrdiff_t>(choice_.kept),
                      pipeline_.loose.end());
    for (const int s : pipeline_.moved) {
      bool all = may.contains(s);
      for (int r = 0; r < std::ssize(view.stages); ++r)
        if (r != pipeline_.output && !tiled_.contains(r))
          all = all &&
                std::ranges::none_of(ir::reads_of(view.stages[static_cast<std::size_t>(r)].body),
                                     [&](const ir::Read* read) {
                                       return read->tensor == pipeline_.stage(s).tensor;
                                     });
      if (all) tiled_.insert(s);
    }
  }

  // True if all that read the stage do so in registers that lie as it does: at their own element,
  // in a tile of all its axes.
  bool fits_tile(int s) const {
    const te::Workload& view = pipeline_.prepared.view;
    const te::Stage& out = pipeline_.stage(pipeline_.output);
    const te::Stage& stage = pipeline_.stage(s);
    if (dims_of(stage) != dims_of(out)) return false;
    for (int r = 0; r < std::ssize(view.stages); ++r) {
      const te::Stage& reader = view.stages[static_cast<std::size_t>(r)];
      const auto reads = ir::reads_of(reader.body);
      if (std::ranges::none_of(reads,
                               [&](const ir::Read* read) { return read->tensor == stage.tensor; }))
        continue;
      if (!reads_own_place(reader, stage.tensor)) return false;
      if (r != pipeline_.output && !in_registers_.contains(r)) return false;
    }
    return view.tensors[static_cast<std::size_t>(stage.tensor)].shape ==
           view.tensors[static_cast<std::size_t>(out.tensor)].shape;
  }

  void place_at_tile(int s) {
    if (!fits_tile(s)) return compute(s, tile_loop_, number(1), number(1));
    in_registers_.insert(s);
    const te::Stage& stage = pipeline_.stage(s);
    const std::string& name = pipeline_.name(s);
    step(schedule::ComputeAt{name, tile_loop_});
    const std::string at = "@" + tile_loop_;
    std::vector<std::string> loops;
    for (const te::Iterator& iter : stage.iters)
      if (iter.kind == te::IterKind::kSpatial) loops.push_back(iter.name + at);
    const std::string lane = loops.back();
    split(lane, number(pipeline_.lanes), lane + ".v", lane + ".l");
    loops.back() = lane + ".v";
    const std::vector<std::string> reduced = sums(stage, at);
    write_out(reduced, loops, lane + ".l");
    unroll_sums(stage, reduced);
    accumulate(name, dims_of(stage), tile_loop_);
  }

  void place_at_strip(int s) {
    compute(s, strip_loop_, size(choice_.kept_height), size(choice_.kept_vectors));
  }

  // Computes what one iteration of the loop needs, in tiles of their own.
  void compute(int s, const std::string& loop, ir::SizeId height, ir::SizeId vectors) {
    const te::Stage& stage = pipeline_.stage(s);
    const std::string& name = pipeline_.name(s);
    if (!loop.empty()) step(schedule::ComputeAt{name, loop});
    const std::string at = loop.empty() ? "" : "@" + loop;
    std::vector<std::string> order;
    for (const te::Iterator& iter : stage.iters)
      if (iter.kind == te::IterKind::kSpatial) order.push_back(iter.name + at);
    const std::string lane = order.back();
    order.pop_back();
    std::string row;
    if (!order.empty()) row = order.back(), order.pop_back();
    const Tile tiles = tile(row, lane, height, vectors);
    if (!tiles.row.empty()) order.push_back(tiles.row);
    order.push_back(tiles.lane);
    const std::vector<std::string> reduced = sums(stage, at);
    order.insert(order.end(), reduced.begin(), reduced.end());
    write_out(order, tiles.inside, tiles.lanes);
    unroll_sums(stage, reduced);
    if (!reduced.empty()) accumulate(name, dims_of(stage), tiles.lane);
  }

  const Stencils& pipeline_;
  const StripChoice& choice_;
  std::vector<std::string> outer_;  // loops outside of a strip
  std::string strip_loop_;          // the last of them; empty: there is one strip
  std::string tile_loop_;
  std::set<int> tiled_, in_registers_;
};

}  // namespace

Result<Sketch> build_strips(const Stencils& pipeline, const StripChoice& choice) {
  try {
    Sketch sketch{pipeline.prepared.nest, pipeline.prepared.steps};
    StripBuilder(pipeline, choice, sketch).run();
    return sketch;
  } catch (const StepRefused& refused) {
    return fail(ErrorKind::kIllegalSchedule, "{}", refused.error.text());
  }
}

}  // namespace lathe::space
