#include "support/random_trace.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/analysis/dependence.h"
#include "compiler/schedule/parts.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe {
namespace {

using schedule::Size;
using schedule::Step;

class Proposer {
 public:
  Proposer(const te::Workload& workload, Rng& rng, const RandomScheduleOptions& options)
      : rng_(rng), options_(options) {
    out_.nest = te::naive_nest(workload);
    free_layout_ = workload.contract.free_layout;
  }

  RandomSchedule run() {
    for (const Step& step : options_.first) try_step(step);
    // Possible before other steps only.
    for (int i = rng_.chance(0.4) ? 6 : 0; i > 0; --i)
      try_step(rng_.chance(0.5) ? precompute() : contract());
    for (int i = rng_.chance(0.3) ? 8 : 0; i > 0; --i) try_step(merge());
    for (int i = 0; i < options_.proposals; ++i) try_step(propose());
    return std::move(out_);
  }

 private:
  ir::Nest& nest() { return out_.nest; }

  void try_step(const Step& step) {
    ir::Nest next = nest();
    if (!schedule::apply(next, step, free_layout_)) return;
    if (iterations(next) > static_cast<double>(options_.max_iterations)) return;
    nest() = std::move(next);
    out_.trace.push_back(step);
  }

  double iterations(const ir::Nest& n) const {
    const ir::SizedNest sized(n, out_.knobs);
    double sum = 0;
    for (const ir::BlockId block : n.blocks_in_order()) {
      double product = 1;
      for (const ir::LoopId loop : n.loops_around(block))
        product *= static_cast<double>(sized.extent(loop));
      sum += product;
    }
    return sum;
  }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[rng_.below(from.size())];
  }
  std::string any_loop() {
    std::vector<std::string> names;
    for (const ir::Loop& loop : nest().loops)
      if (!loop.dead) names.push_back(loop.name);
    return names.empty() ? "" : pick(names);
  }
  std::string any_block() {
    return nest().blocks[static_cast<std::size_t>(pick(nest().blocks_in_order()))].name;
  }
  std::string any_buffer() { return pick(nest().buffers).name; }
  std::string any_output() {
    std::vector<std::string> names;
    for (const ir::Buffer& buffer : nest().buffers)
      if (buffer.scope == ir::Scope::kOutput) names.push_back(buffer.name);
    return pick(names);
  }
  std::string fresh(const char* stem) { return stem + std::to_string(next_name_++); }

  Size size(std::int64_t value) {
    if (!options_.open_sizes || rng_.chance(0.3)) return value;
    const auto number = static_cast<int>(out_.knobs.size());
    out_.knobs.push_back(value);
    return nest().sizes.knob(number, "s" + std::to_string(number));
  }
  std::int64_t factor() {
    constexpr std::int64_t kFactors[] = {1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 8, 16};
    return kFactors[rng_.below(std::size(kFactors))];
  }

  Step propose() {
    if (rng_.chance(0.1)) return join();
    if (rng_.chance(0.06)) return transpose();
    if (rng_.chance(0.06)) return reindex();
    if (rng_.chance(0.04)) return schedule::Stream{any_output()};
    switch (rng_.below(options_.annotations ? 14 : 11)) {
      case 0:
      case 1:
      case 2: return split();
      case 3: return reorder();
      case 4: return fuse();
      case 5: return schedule::ComputeAt{any_block(), any_loop()};
      case 6: return schedule::ReverseComputeAt{any_block(), any_loop()};
      case 7: return schedule::Inline{any_block()};
      case 8:
      case 9: return cache();
      case 10:
        if (rng_.chance(0.5))
          return schedule::Rfactor{any_block(), any_loop(), fresh("rf"),
                                   static_cast<int>(rng_.between(-1, 2))};
        return schedule::Layout{any_buffer(), layout(any_buffer()), rng_.between(0, 2) * 4};
      default: return annotate();
    }
  }

  Step split() {
    schedule::Split s;
    s.loop = any_loop();
    s.factor = size(factor());
    s.outer = fresh("o");
    s.inner = fresh("i");
    if (options_.annotations) s.tail = static_cast<ir::Tail>(rng_.below(3));
    return s;
  }

  // Reorders some of the loops around a block at random.
  Step reorder() {
    const auto path = nest().loops_around(pick(nest().blocks_in_order()));
    schedule::Reorder s;
    for (const ir::LoopId loop : path)
      if (rng_.chance(0.7)) s.loops.push_back(nest().loops[static_cast<std::size_t>(loop)].name);
    shuffle(s.loops, rng_);
    return s;
  }

  Step fuse() {
    const auto path = nest().loops_around(pick(nest().blocks_in_order()));
    schedule::Fuse s;
    s.fused = fresh("f");
    const std::size_t first = path.empty() ? 0 : rng_.below(path.size()), count = 2 + rng_.below(2);
    for (std::size_t i = first; i < path.size() && s.loops.size() < count; ++i)
      s.loops.push_back(nest().loops[static_cast<std::size_t>(path[i])].name);
    return s;
  }

  // Two neighbours somewhere in the tree, often such that can be joined.
  Step join() {
    std::vector<schedule::Join> pairs;
    const auto add = [&](const std::vector<ir::Item>& items) {
      for (std::size_t i = 0; i + 1 < items.size(); ++i) {
        if (items[i].kind != ir::Item::Kind::kLoop || items[i + 1].kind != ir::Item::Kind::kLoop)
          continue;
        pairs.push_back({{nest().loops[static_cast<std::size_t>(items[i].id)].name,
                          nest().loops[static_cast<std::size_t>(items[i + 1].id)].name}});
      }
    };
    add(nest().root);
    for (const ir::Loop& loop : nest().loops)
      if (!loop.dead) add(loop.body);
    return pairs.empty() ? schedule::Join{{any_loop(), any_loop()}} : pick(pairs);
  }

  Step transpose() {
    schedule::Transpose s;
    s.buffer = any_buffer();
    s.name = fresh("t");
    const ir::BufferId id = nest().find_buffer(s.buffer);
    const std::size_t dims = nest().buffers[static_cast<std::size_t>(id)].shape.size();
    for (std::size_t d = 0; d < dims; ++d) s.order.push_back(static_cast<std::int64_t>(d));
    shuffle(s.order, rng_);
    const std::vector<ir::BlockId> readers = analysis::readers_of(nest(), id);
    if (!readers.empty() && rng_.chance(0.7))
      s.reader = nest().blocks[static_cast<std::size_t>(pick(readers))].name;
    return s;
  }

  Step reindex() {
    schedule::Reindex s{any_buffer(), fresh("x"), ""};
    const auto readers = analysis::readers_of(nest(), nest().find_buffer(s.buffer));
    s.reader = readers.empty() ? any_buffer()
                               : nest().blocks[static_cast<std::size_t>(pick(readers))].name;
    return s;
  }

  Step precompute() {
    const ir::Block& block =
        nest().blocks[static_cast<std::size_t>(pick(nest().blocks_in_order()))];
    const auto all = schedule::subexpressions(block.body).size();
    return schedule::Precompute{block.name, static_cast<std::int64_t>(rng_.below(all)), fresh("p")};
  }

  Step contract() {
    const ir::Block& block =
        nest().blocks[static_cast<std::size_t>(pick(nest().blocks_in_order()))];
    schedule::Contract s{block.name, {}, fresh("s")};
    const auto factors = static_cast<std::int64_t>(schedule::factors_of(block.body).size());
    for (std::int64_t f = 0; f < factors; ++f)
      if (rng_.chance(0.5)) s.factors.push_back(f);
    return s;
  }

  Step merge() {
    const auto path = nest().loops_around(pick(nest().blocks_in_order()));
    if (path.size() < 2) return schedule::Merge{{any_loop(), any_loop()}};
    const std::size_t first = rng_.below(path.size() - 1);
    return schedule::Merge{{nest().loops[static_cast<std::size_t>(path[first])].name,
                            nest().loops[static_cast<std::size_t>(path[first + 1])].name}};
  }

  std::vector<schedule::LayoutItem> layout(const std::string& buffer) {
    const ir::BufferId id = nest().find_buffer(buffer);
    const auto dims = static_cast<int>(nest().buffers[static_cast<std::size_t>(id)].shape.size());
    std::vector<schedule::LayoutItem> items;
    for (int d = 0; d < dims; ++d) items.push_back({d, std::int64_t{1}});
    shuffle(items, rng_);
    if (dims > 0 && rng_.chance(0.6)) {
      const schedule::LayoutItem block{
          static_cast<int>(rng_.below(static_cast<std::uint64_t>(dims))), size(factor())};
      items.insert(items.begin(), block);
    }
    return items;
  }

  Step cache() {
    schedule::Cache s;
    s.buffer = any_buffer();
    s.name = fresh("c");
    if (rng_.chance(0.8)) s.loop = any_loop();
    if (rng_.chance(0.2)) s.reader = any_block();
    if (rng_.chance(0.6)) s.layout = layout(s.buffer);
    return s;
  }

  Step annotate() {
    schedule::Annotate s;
    s.loop = any_loop();
    s.what = static_cast<schedule::Annotate::What>(rng_.below(3));
    s.kind = static_cast<ir::LoopKind>(rng_.below(4));
    s.tail = static_cast<ir::Tail>(rng_.below(4));
    s.buffer = any_buffer();
    s.bytes = rng_.between(0, 4) * 256;
    return s;
  }

  Rng& rng_;
  const RandomScheduleOptions& options_;
  RandomSchedule out_;
  bool free_layout_ = false;
  int next_name_ = 0;
};

}  // namespace

RandomSchedule random_schedule(const te::Workload& workload, Rng& rng,
                               const RandomScheduleOptions& options) {
  return Proposer(workload, rng, options).run();
}

schedule::Trace random_trace(const te::Workload& workload, Rng& rng) {
  return random_schedule(workload, rng, {}).trace;
}

std::string describe(const te::Workload& workload, const RandomSchedule& s) {
  const ir::SizedNest sized(s.nest, s.knobs);
  const schedule::Trace concrete = schedule::concretize(s.trace, sized);
  return fmt::format("{}\n{}\n{}\n{}", te::print_workload(workload), schedule::print(concrete),
                     schedule::to_json(concrete).dump(), ir::print(sized));
}

}  // namespace lathe
