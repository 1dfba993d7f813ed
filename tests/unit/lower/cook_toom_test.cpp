// Cook-Toom algorithms, lowered after random steps, compute what their sums do.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/random_trace.h"
#include "support/targets.h"
#include "unit/lower/rounds.h"

namespace lathe {
namespace {

constexpr double kMaxError = 1e-4;

// An axis of the image, with a stride and a dilation now and then; its filter may be read
// backwards.
struct RandomAxis {
  std::int64_t taps, size, results;
  std::string index;  // of the input

  RandomAxis(const char* result, const char* tap, std::int64_t fewest, Rng& rng) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(rng.below(n)); };
    taps = fewest + below(4 - fewest + 1);
    const std::int64_t before = below(static_cast<std::uint64_t>(taps));
    const std::int64_t stride = rng.chance(0.6) ? 1 : 1 + below(3);
    const std::int64_t dilation = rng.chance(0.6) ? 1 : 1 + below(4);
    const std::int64_t reach = dilation * (taps - 1) + 1;
    size = reach + below(8);
    results = (size + before - reach) / stride + 1;
    const bool backwards = rng.chance(0.15);
    index = fmt::format("{}*{}{}{}*{}+{}", stride, result, backwards ? "-" : "+", dilation, tap,
                        (backwards ? reach - 1 : 0) - before);
  }
};

// A convolution of awkward sizes, with up to two stages behind it.
te::Workload random_convolution(Rng& rng) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(rng.below(n)); };
  const RandomAxis down("y", "r", 1, rng), across("x", "s", 2, rng);
  const std::int64_t c = 1 + below(5);
  const bool depthwise = rng.chance(0.2), phases = rng.chance(0.2);
  const std::int64_t k = depthwise ? c : 1 + below(9);
  const std::string channel = depthwise ? "" : "c,", phase = phases ? "p," : "";
  std::string text = fmt::format("X: f32[2,{},{},{}]; const W: f32[{},{}{}{},{}]\n", c, down.size,
                                 across.size, k, depthwise ? "" : fmt::format("{},", c),
                                 phases ? "3," : "", down.taps, across.taps);
  text += fmt::format("Y[n,k,y:{},{}x:{}] = sum({}r,s) X[n,{},{}{},{} else 0] * W[k,{}{}r,s]\n",
                      down.results, phases ? "p:3," : "", across.results, channel,
                      depthwise ? "k" : "c", down.index, phases ? "+2*p-1" : "", across.index,
                      channel, phase);
  if (rng.chance(0.4))
    text += fmt::format("Z[n,k,y,{0}x] = max(Y[n,k,y,{0}x] * 2.0, 0.0)\n", phase);
  if (rng.chance(0.1)) text = "layout free\n" + text;
  auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text() + "\n" + text);
  return *workload;
}

// Of some blocks: loops in any order, the sums written out, lanes along one of the others.
void write_out(const ir::Nest& nest, Rng& rng, schedule::Trace& trace) {
  for (const ir::BlockId block : nest.blocks_in_order()) {
    if (!rng.chance(0.6)) continue;
    schedule::Reorder order;
    std::vector<std::string> lanes;
    for (const ir::LoopId loop : nest.loops_around(block)) {
      const std::string& name = nest.loops[loop].name;
      order.loops.push_back(name);
      const bool small = nest.sizes.constant_value(nest.loops[loop].extent) <= 8;
      if (nest.is_reduction_loop(block, loop) || (small && rng.chance(0.5)))
        trace.push_back(schedule::Annotate{.loop = name, .kind = ir::LoopKind::kUnrolled});
      else lanes.push_back(name);
    }
    shuffle(order.loops, rng);
    if (!lanes.empty())
      trace.push_back(schedule::Annotate{.loop = lanes[rng.below(lanes.size())],
                                         .kind = ir::LoopKind::kVectorized});
    trace.insert(trace.end() - static_cast<std::ptrdiff_t>(lanes.empty() ? 0 : 1), order);
  }
}

schedule::Trace first_steps(const te::Workload& workload, Rng& rng) {
  schedule::CookToom algorithm{"Y", {}, {}};
  for (const char* tap : {"r", "s"})
    if (rng.chance(0.7)) {
      algorithm.taps.emplace_back(tap);
      algorithm.tiles.push_back(1 + static_cast<std::int64_t>(rng.below(4)));
    }
  if (rng.chance(0.3)) {
    std::ranges::reverse(algorithm.taps);
    std::ranges::reverse(algorithm.tiles);
  }
  ir::Nest nest = te::naive_nest(workload);
  const auto done = schedule::apply(nest, algorithm);
  EXPECT_EQ(done.has_value(), !algorithm.taps.empty())
      << te::print_workload(workload) << algorithm.text() << (done ? "" : done.error().text());
  schedule::Trace trace = {algorithm};
  write_out(nest, rng, trace);
  return trace;
}

TEST(CookToom, RandomSchedulesComputeTheSame) {
  int lowered = 0;
  for (std::uint64_t seed = 0; seed < rounds(150) && !::testing::Test::HasFatalFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_convolution(rng);
    RandomScheduleOptions options;
    options.first = first_steps(workload, rng);
    options.proposals = 8;
    const RandomSchedule s = random_schedule(workload, rng, options);
    const lower::Limits limits{.max_edge_accesses =
                                   static_cast<std::int64_t>(seed % 4 * (seed % 4) * 20)};
    const auto flat = lower::lower(ir::SizedNest(s.nest, s.knobs), test::avx512(2), limits);
    if (!flat) {
      ASSERT_EQ(flat.error().kind, ErrorKind::kIllegalSchedule) << flat.error().text();
      continue;
    }
    ++lowered;
    ASSERT_EQ(check_flat(workload, *flat, seed, kMaxError), "")
        << "seed " << seed << "\n"
        << describe(workload, s) << flat::print(*flat);
  }
  EXPECT_GT(2 * lowered, static_cast<int>(rounds(150)));
}

// Where the sums are written out, nothing is multiplied by 0 or 1, and what results share is
// computed once: F(2, 3) takes 4 operations for the input and 4 for the output.
TEST(CookToom, SumsAreWrittenOutShort) {
  const auto workload =
      te::parse_workload("X: f32[6]; const W: f32[3]; Y[i] = sum(r) X[i+r] * W[r]");
  ASSERT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  schedule::Trace trace = {schedule::CookToom{"Y", {"r"}, {2}}};
  for (const char* loop : {"Y.input.p0", "Y.input.r", "Y.i.i", "Y.p"})
    trace.push_back(schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kUnrolled});
  const auto applied = schedule::apply(nest, trace);
  ASSERT_TRUE(applied) << applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512(1));
  ASSERT_TRUE(flat) << flat.error().text();
  EXPECT_EQ(check_flat(*workload, *flat, 1), "");
  const std::string text = flat::print(*flat);
  for (const char* sum : {"= r2 - r0\n", "= r1 + r2\n", "= r2 - r1\n", "= r3 - r1\n",
                          "= r4 + r5 + r6\n", "= r5 + r7 - r6\n"})
    EXPECT_NE(text.find(sum), std::string::npos) << sum << text;
}

}  // namespace
}  // namespace lathe
