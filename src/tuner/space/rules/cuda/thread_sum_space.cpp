#include "tuner/space/rules/cuda/thread_sum_space.h"

#include <algorithm>
#include <bit>

#include "tuner/space/rules/cuda/card_limits.h"
#include "tuner/space/rules/cuda/other_stages.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kUsualThreads = 256, kUsualUnroll = 4, kWarpOfSums = 32;
// Where threads go along results: of a block at least so many, for their bytes lie together.
constexpr std::int64_t kFewestResults = 4, kUsualResults = 32;
// A sum of so many terms with fewer results than multiprocessors is cut.
constexpr std::int64_t kLongForCard = 32'768, kPartsOfMultiprocessor = 2;

struct SumNumbers {
  std::int64_t threads = 1, results = 1, unroll = 1;
};

std::int64_t power_up_to(std::int64_t wanted, std::int64_t most) {
  std::int64_t out = 1;
  while (out * 2 <= most && out < wanted) out *= 2;
  return out;
}

SumNumbers usual_numbers(const ItemStage& stage, const ThreadSum& sum, const CudaTarget& target) {
  const std::int64_t results = stage.extent(sum.result), terms = stage.extent(sum.sum);
  std::int64_t far = 1;
  for (int i = 0; std::cmp_less(i, stage.get().iters.size()); ++i)
    if (stage.get().iters[static_cast<std::size_t>(i)].kind == te::IterKind::kSpatial &&
        i != sum.result)
      far *= stage.extent(i);
  SumNumbers out;
  if (sum.along_sum) {
    out.threads =
        std::max<std::int64_t>(kWarpOfSums, power_up_to(terms / (2 * sum.width), kUsualThreads));
    if (out.threads < kUsualThreads / 2)
      out.results = power_up_to(results, kUsualThreads / 2 / out.threads);
  } else {
    const std::int64_t vectors = (results + sum.width - 1) / sum.width;
    out.results = power_up_to(vectors, kUsualResults);
    while (out.results > kFewestResults &&
           far * ((vectors + out.results - 1) / out.results) < target.multiprocessors)
      out.results /= 2;
    out.threads = power_up_to(terms / 2, kUsualThreads / out.results);
  }
  const std::int64_t turns = terms / (out.threads * (sum.along_sum ? sum.width : 1));
  out.unroll = power_up_to(turns, kUsualUnroll);
  return out;
}

// Those that share a sum, a power of two.
std::int64_t warps_in(const SumNumbers& numbers) {
  return std::max<std::int64_t>(1, numbers.threads / kLanesOfSum);
}

// So many that each has some of the terms.
std::vector<std::string> warps_of(std::int64_t terms, std::int64_t width) {
  constexpr std::int64_t kMostWarps = 32;
  std::vector<std::string> out;
  for (std::int64_t w = 1; w <= kMostWarps && (w - 1) * kLanesOfSum * width < terms; w *= 2)
    out.push_back(std::to_string(w));
  return out;
}

void list_shared_sum_knobs(const ItemStage& main, const ThreadSum& sum, std::vector<Knob>& knobs) {
  KnobList list(knobs);
  const std::int64_t terms = main.extent(sum.sum);
  const std::int64_t results = std::max(main.extent(sum.result), kWarpOfSums);
  if (sum.along_sum) list.choice("sum.warps", warps_of(terms, sum.width));
  else
    list.size("sum.threads",
              up_to({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, std::max(terms, kWarpOfSums)));
  list.size("threads.results", up_to({1, 2, 4, 8, 16, 32, 64, 128}, results));
  list.size("unroll.k", up_to({1, 2, 4, 8}, terms));
}

struct ThreadSumProgram {
  ItemStage main;
  ThreadSum sum;
  OtherStages others;
  std::vector<Knob> knobs;

  Result<Sketch> build(std::span<const std::int64_t> values) const {
    return others.sketch([&](Sketch& sketch, std::set<std::string>& placed) {
      const auto size = [&](int knob) {
        return sketch.nest.sizes.knob(knob, knobs[static_cast<std::size_t>(knob)].name);
      };
      const std::int64_t warps = sum.along_sum ? number_chosen(knobs, 0, values) : 1;
      put_sum_on_threads(main, sum, {warps, size(0), size(1), size(2)}, sketch.nest, sketch.trace,
                         placed);
    });
  }
};

constexpr Meaning kThreadSumMeanings[] = {
    {"sum.warps", "warps that share a sum along the axis that is contiguous in memory"},
    {"sum.threads", "threads that share a sum along another axis"},
    {"threads.results", "threads of a block along its results"},
};

void limit_sums(const CudaContext& context, bool along_sum, Derived& derived) {
  ir::Sizes& s = derived.sizes;
  const auto knob = [&](int k) {
    return s.knob(k, derived.knobs[static_cast<std::size_t>(k)].name);
  };
  const ir::SizeId of_sum =
      along_sum ? s.mul(size_chosen(derived.knobs, 0, s), s.constant(kLanesOfSum)) : knob(0);
  const ir::SizeId threads = s.mul(of_sum, knob(1));
  derived.constraints.push_back(
      {"the block has more threads than the card takes", threads, context.target.block_threads});
  if (context.flavour == Flavour::kWide) return;
  derived.constraints.push_back(
      {"a block has few threads", s.ceildiv(s.constant(kWarpOfSums), threads), 1});
}

// Cuts the longest reduction of a stage with few results.
void cut_for_card(Prepared& prepared, const te::Workload& view, const te::Stage& stage,
                  std::int64_t blocks) {
  double results = 1;
  const te::Iterator* longest = nullptr;
  for (const te::Iterator& it : stage.iters) {
    if (it.kind == te::IterKind::kSpatial) results *= static_cast<double>(it.extent);
    else if (longest == nullptr || it.extent > longest->extent) longest = &it;
  }
  if (stage.reduce == ir::ReduceOp::kNone || longest == nullptr || has_reuse(stage) ||
      longest->extent < kLongForCard || results > static_cast<double>(blocks) / 2)
    return;
  constexpr std::int64_t kMultiple = 1024;  // so that parts begin where vectors do
  const auto parts = static_cast<std::int64_t>(static_cast<double>(blocks) / results);
  const std::int64_t part = (longest->extent / parts + kMultiple) / kMultiple * kMultiple;
  const std::string block = view.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const std::string loop = longest->name;
  Prepared cut = prepared;
  if (try_step(cut.nest, cut.steps,
               schedule::Split{loop, part, loop + ".p", loop + ".q", ir::Tail::kPeel}, false) &&
      try_step(cut.nest, cut.steps, schedule::Rfactor{block, loop + ".p", block + ".part", 0},
               false))
    prepared = std::move(cut);
}

}  // namespace

std::span<const Meaning> thread_sum_meanings() { return kThreadSumMeanings; }

ThreadSumSizes fixed_sum_sizes(const ItemStage& stage, const ThreadSum& sum,
                               const CudaTarget& target, ir::Nest& nest) {
  const SumNumbers numbers = usual_numbers(stage, sum, target);
  return {warps_in(numbers), nest.sizes.constant(numbers.threads),
          nest.sizes.constant(numbers.results), nest.sizes.constant(numbers.unroll)};
}

Prepared prepare_for_card(const te::Workload& workload, const CudaTarget& target) {
  Prepared prepared = prepare_for_grid(workload, false);
  const te::Workload whole = prepared.view;
  for (const te::Stage& stage : whole.stages)
    cut_for_card(prepared, whole, stage,
                 kPartsOfMultiprocessor * static_cast<std::int64_t>(target.multiprocessors));
  prepared.view = view_of(prepared.nest, workload);
  return prepared;
}

std::optional<Derived> derive_thread_sums(const std::shared_ptr<const Prepared>& prepared,
                                          const CudaContext& context) {
  const te::Workload& view = prepared->view;
  const ItemStage main{&view, main_stage(view), {}};
  const ThreadSum sum = thread_sum_of(main);
  if (sum.sum < 0) return {};
  Derived derived;
  list_shared_sum_knobs(main, sum, derived.knobs);
  limit_sums(context, sum.along_sum, derived);
  const SumNumbers usual = usual_numbers(main, sum, context.target);
  const auto& first = derived.knobs[0];
  const std::int64_t warps = std::bit_width(static_cast<std::uint64_t>(warps_in(usual))) - 1;
  derived.starts = {{sum.along_sum ? std::min(warps, std::ssize(first.values) - 1) : usual.threads,
                     usual.results, usual.unroll}};
  derived.build = [program = std::make_shared<const ThreadSumProgram>(ThreadSumProgram{
                       main, sum, {prepared, main.stage, context}, derived.knobs})](
                      std::span<const std::int64_t> values) { return program->build(values); };
  return derived;
}

}  // namespace lathe::space
