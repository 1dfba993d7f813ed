// Whole sequences of cells: tiles inside of a step, in every direction, of awkward sizes.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/analysis/recurrences.h"
#include "compiler/ops/operators.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "support/random_workload.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;

te::Workload sequence_of(const std::string& name, const ops::Arguments& arguments) {
  auto algorithms = ops::build(name, arguments);
  if (!algorithms) throw std::runtime_error(algorithms.error().text());
  return std::move(algorithms->front().workload);
}

// Sums in steps, and how many of them are in registers.
std::pair<int, int> sums_of(const te::Workload& workload, const Target& target) {
  const auto space = derive_space(workload, target, Flavour::kDefault);
  EXPECT_TRUE(space) << space.error().text();
  if (!space || !(*space)->valid((*space)->default_config())) return {-1, 0};
  ir::Nest nest = te::naive_nest(workload);
  EXPECT_TRUE(schedule::apply(nest, (*space)->trace((*space)->default_config()), false));
  std::pair<int, int> out;
  for (const ir::BlockId id : nest.blocks_in_order()) {
    const ir::Block& block = nest.blocks[static_cast<std::size_t>(id)];
    if (block.reduce == ir::ReduceOp::kNone || !analysis::is_in_steps(nest, id)) continue;
    ++out.first;
    out.second +=
        nest.buffers[static_cast<std::size_t>(block.writes)].scope == ir::Scope::kRegister ? 1 : 0;
  }
  return out;
}

const char* const kDirections[] = {"forward", "reverse", "bidirectional"};

TEST(Sequences, TilesAreFoundInsideOfSteps) {
  for (const std::string_view cell : {"lstm", "gru", "gru, reset first"})
    for (const char* direction : kDirections)
      for (const char* length : {"2", "7"})
        for (const char* batch : {"1", "2", "5"})
          for (const char* hidden : {"1", "13", "32"})
            for (const char* initial : {"false", "true"}) {
              ops::Arguments arguments = {{"length", length},   {"batch", batch},
                                          {"input-size", "7"},  {"hidden-size", hidden},
                                          {"initial", initial}, {"direction", direction}};
              const bool reset_first = cell.ends_with("first");
              if (reset_first) arguments["reset-first"] = "true";
              const std::string name(cell.substr(0, cell.find(',')));
              SCOPED_TRACE(fmt::format("{} {}", name, arguments));
              const auto [sums, tiled] = sums_of(sequence_of(name, arguments), avx512(1));
              EXPECT_EQ(sums, (direction == kDirections[2] ? 2 : 1) * (reset_first ? 2 : 1));
              EXPECT_EQ(tiled, sums);
            }
}

TEST(Sequences, EveryScheduleIsRight) {
  constexpr const char* kSizes[] = {"1", "2", "3", "5", "7", "16", "17", "19"};
  constexpr const char* kBatches[] = {"1", "2", "5"};
  constexpr const char* kTypes[] = {"f32", "f32", "f16", "bf16", "f64"};
  constexpr const char* kLengths[] = {"1", "2", "3", "7"};
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0);
  const std::uint64_t end = first + asked("LATHE_RANDOM_ROUNDS", 24);
  for (std::uint64_t seed = first; seed < end && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const auto any = [&](const auto& of) { return of[rng.below(std::size(of))]; };
    const auto flag = [&] { return rng.chance(0.5) ? "true" : "false"; };
    const bool gru = seed % 2 == 1;
    const std::string direction = any(kDirections);
    ops::Arguments arguments = {{"length", any(kLengths)},   {"batch", any(kBatches)},
                                {"input-size", any(kSizes)}, {"hidden-size", any(kSizes)},
                                {"initial", flag()},         {"no-bias", flag()},
                                {"direction", direction},    {"dtype", any(kTypes)}};
    if (direction == "bidirectional") arguments["separate"] = flag();
    if (gru) arguments["reset-first"] = flag();
    const Target target = seed % 5 == 0 ? sse(1) : avx512(seed % 3 == 0 ? 2 : 1);
    check_space(sequence_of(gru ? "gru" : "lstm", arguments), target,
                seed % 4 == 0 ? Flavour::kWide : Flavour::kDefault,
                static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 6)), seed);
  }
}

// What is no cell: filters, neighbours, sums over one or two states.
TEST(Sequences, AnyRecurrenceHasASpace) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0);
  const std::uint64_t end = first + asked("LATHE_RANDOM_ROUNDS", 60);
  for (std::uint64_t seed = first; seed < end && !testing::Test::HasFailure(); ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 3 == 0, .max_iterations = 8'000, .recurrences = 1});
    check_space(workload, seed % 4 == 0 ? sse(1) : avx512(seed % 3 == 0 ? 2 : 1), Flavour::kDefault,
                static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 4)), seed);
  }
}

}  // namespace
}  // namespace lathe::space
