// Strassen's algorithm, lowered after random steps, computes what its sum does.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/random_trace.h"
#include "support/targets.h"
#include "unit/lower/rounds.h"

namespace lathe {
namespace {

constexpr double kMostError = 1e-4;

// A product of awkward sizes, batched or not, its operands in any order, with up to one stage
// behind it.
te::Workload random_product(Rng& rng) {
  const auto size = [&] { return 2 + static_cast<std::int64_t>(rng.below(19)); };
  const auto dims = [&](std::vector<std::string> names) {
    if (rng.chance(0.4)) shuffle(names, rng);
    return names;
  };
  std::map<std::string, std::int64_t> sizes = {
      {"i", size()}, {"j", size()}, {"k", size()}, {"b", 1 + size() / 8}};
  const bool batched = rng.chance(0.3);
  std::vector<std::string> a = {"i", "k"}, b = {"k", "j"}, c = {"i", "j"};
  if (batched) a.insert(a.begin(), "b"), c.insert(c.begin(), "b");
  if (batched && rng.chance(0.5)) b.insert(b.begin(), "b");
  a = dims(a), b = dims(b), c = dims(c);
  const auto shape = [&](const std::vector<std::string>& of) {
    std::vector<std::int64_t> out;
    for (const std::string& name : of) out.push_back(sizes[name]);
    return fmt::format("f32[{}]", fmt::join(out, ","));
  };
  std::string text =
      fmt::format("A: {}; {}B: {}\n", shape(a), rng.chance(0.4) ? "const " : "", shape(b));
  text += fmt::format("C[{}] = sum(k) A[{}] * B[{}]\n", fmt::join(c, ","), fmt::join(a, ","),
                      fmt::join(b, ","));
  if (rng.chance(0.3)) text += fmt::format("Z[{0}] = max(C[{0}] * 2.0, 0.0)\n", fmt::join(c, ","));
  if (rng.chance(0.1)) text = "layout free\n" + text;
  auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text() + "\n" + text);
  return *workload;
}

// Of some blocks: loops in any order, the sums written out, lanes along one of the others.
void write_sums_out(const ir::Nest& nest, Rng& rng, schedule::Trace& trace) {
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

TEST(Strassen, RandomSchedulesComputeTheSame) {
  int lowered = 0;
  for (std::uint64_t seed = 0; seed < rounds(150) && !::testing::Test::HasFatalFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_product(rng);
    const schedule::Strassen algorithm{"C", "i", "j", "k"};
    ir::Nest nest = te::naive_nest(workload);
    const auto done = schedule::apply(nest, algorithm);
    ASSERT_TRUE(done) << te::print_workload(workload) << done.error().text();
    RandomScheduleOptions options;
    options.first = {algorithm};
    write_sums_out(nest, rng, options.first);
    options.proposals = 8;
    const RandomSchedule s = random_schedule(workload, rng, options);
    const auto flat = lower::lower(ir::SizedNest(s.nest, s.knobs), test::avx512(2));
    if (!flat) {
      ASSERT_EQ(flat.error().kind, ErrorKind::kIllegalSchedule) << flat.error().text();
      continue;
    }
    ++lowered;
    ASSERT_EQ(check_flat(workload, *flat, seed, kMostError), "")
        << "seed " << seed << "\n"
        << describe(workload, s) << flat::print(*flat);
  }
  EXPECT_GT(2 * lowered, static_cast<int>(rounds(150)));
}

// Where the sums are written out, 18 additions are left and nothing is multiplied.
TEST(Strassen, SumsAreWrittenOutShort) {
  const auto workload =
      te::parse_workload("A: f32[4,4]; const B: f32[4,4]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  ASSERT_TRUE(workload) << workload.error().text();
  ir::Nest nest = te::naive_nest(*workload);
  schedule::Trace trace = {schedule::Strassen{"C", "i", "j", "k"}};
  trace.push_back(schedule::Reorder{{"C.left.d0", "C.left.d1", "C.left.q"}});
  trace.push_back(schedule::Reorder{{"C.i.i", "C.j.i", "C.i.h", "C.j.h"}});
  for (const char* loop : {"C.left.q", "C.left.h0", "C.left.h1", "C.i.h", "C.j.h", "C.q"})
    trace.push_back(schedule::Annotate{.loop = loop, .kind = ir::LoopKind::kUnrolled});
  const auto applied = schedule::apply(nest, trace);
  ASSERT_TRUE(applied) << applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), test::avx512(1));
  ASSERT_TRUE(flat) << flat.error().text();
  EXPECT_EQ(check_flat(*workload, *flat, 1), "");
  const std::string text = flat::print(*flat);
  for (const char* sum : {"= r0 + r3\n", "= r2 + r3\n", "= r0\n", "= r3\n", "= r0 + r1\n",
                          "= r2 - r0\n", "= r1 - r3\n"})
    EXPECT_NE(text.find(sum), std::string::npos) << sum << text;
}

}  // namespace
}  // namespace lathe
