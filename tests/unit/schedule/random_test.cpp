// Scheduled programs compute what the expression says, whatever legal steps were applied: with
// known and with open sizes, and replayed from their JSON.
#include <gtest/gtest.h>

#include <cstdlib>

#include <fmt/format.h>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "oracle/nest_eval.h"
#include "support/random_trace.h"
#include "support/random_workload.h"

namespace lathe::schedule {
namespace {

std::string difference(const std::vector<interp::Tensor>& want, const ir::SizedNest& nest,
                       const std::vector<interp::Tensor>& inputs, double errors) {
  const auto got = interp::evaluate(nest, inputs);
  if (!got) return got.error().text();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::string text = interp::compare(want[i], (*got)[i].values, errors);
    if (!text.empty()) return text;
  }
  return "";
}

// What is noticed when sizes are numbers: weights that turn out not to divide each other, and
// iterations of a loop to run at a time that are not proven to write different elements
// (analysis::writes_twice).
bool is_told_by_numbers(const StepError& error, const Trace& trace) {
  if (error.refusal == Refusal::kBadLayout) return true;
  if (error.refusal != Refusal::kBreaksDependence || error.step < 0) return false;
  const Step& refused = trace[static_cast<std::size_t>(error.step)];
  return std::holds_alternative<Annotate>(refused) ||
         std::holds_alternative<ReverseComputeAt>(refused);
}

void check(const te::Workload& workload, std::uint64_t seed, Rng& rng,
           const RandomScheduleOptions& options, double errors = 1) {
  const bool open_sizes = options.open_sizes;
  const RandomSchedule s = random_schedule(workload, rng, options);
  const ir::SizedNest sized(s.nest, s.knobs);
  const Status sound = ir::verify(s.nest);
  ASSERT_TRUE(sound.has_value()) << "seed " << seed << "\n"
                                 << sound.error().text() << "\n"
                                 << describe(workload, s);
  const auto inputs = interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  ASSERT_TRUE(want.has_value()) << want.error().text();
  const std::string wrong = difference(*want, sized, inputs, errors);
  ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << describe(workload, s);

  const Json json = to_json(concretize(s.trace, sized));
  const auto trace = trace_from_json(json);
  ASSERT_TRUE(trace.has_value()) << trace.error().text();
  EXPECT_EQ(to_json(*trace), json);
  ir::Nest replayed = te::naive_nest(workload);
  const auto done = apply(replayed, *trace);
  if (!done && open_sizes && is_told_by_numbers(done.error(), *trace)) return;
  ASSERT_TRUE(done.has_value()) << "seed " << seed << "\n"
                                << done.error().text() << "\n"
                                << describe(workload, s);
  const std::string replayed_wrong = difference(*want, ir::SizedNest(replayed, {}), inputs, errors);
  ASSERT_EQ(replayed_wrong, "") << "replayed, seed " << seed << "\n" << describe(workload, s);
}

void check(std::uint64_t seed, bool open_sizes, double recurrences = 0.15) {
  Rng rng(seed);
  const te::Workload workload =
      random_workload(rng, {.max_iterations = 6'000, .recurrences = recurrences});
  check(workload, seed, rng, {.open_sizes = open_sizes});
}

// Reductions that depend on an extreme of the same elements, in parts.
void check_rescaled(std::uint64_t seed) {
  Rng rng(seed);
  const std::int64_t rows = rng.between(1, 4), columns = rng.between(2, 40);
  const char* const kSums[] = {"sum(k) exp(X[i,k] - M[i])", "min(k) select(X[i,k] == M[i], k, 99)",
                               "sum(k) exp(X[i,k] - select(abs(M[i]) < inf, M[i], 0))"};
  const auto workload = te::parse_workload(
      fmt::format("X: f32[{},{}]\nM[i] = max(k) X[i,k]\nS[i] = {}\nY[i,j] = X[i,j] - M[i]", rows,
                  columns, kSums[seed % 3]));
  ASSERT_TRUE(workload) << workload.error().text();
  RandomScheduleOptions options;
  const std::int64_t factor = rng.between(1, columns);
  for (const std::string block : {"M", "S"}) {
    options.first.push_back(
        Split{block + ".k", factor, block + ".p", block + ".e", ir::Tail::kPeel});
    options.first.push_back(
        Rfactor{block, block + ".p", block + ".parts", static_cast<int>(rng.between(-1, 1))});
  }
  options.first.push_back(Rescale{"S", "M"});
  check(*workload, seed, rng, options, 4);
}

std::uint64_t rounds() {
  const char* asked = std::getenv("LATHE_RANDOM_ROUNDS");
  return asked ? std::strtoull(asked, nullptr, 10) : 150;
}

TEST(RandomTrace, KnownSizesKeepTheResult) {
  for (std::uint64_t seed = 0; seed < rounds() && !HasFatalFailure(); ++seed) check(seed, false);
}

TEST(RandomTrace, OpenSizesKeepTheResult) {
  for (std::uint64_t seed = 0; seed < rounds() && !HasFatalFailure(); ++seed)
    check(1'000'000 + seed, true);
}

// Whose steps go on from the first or from the last, and have loops of their own inside.
TEST(RandomTrace, OfRecurrencesKeepsTheResult) {
  for (std::uint64_t seed = 0; seed < rounds() && !HasFatalFailure(); ++seed)
    check(3'000'000 + seed, seed % 2 == 0, 1);
}

TEST(RandomTrace, OfRescaledReductionsKeepsTheResult) {
  for (std::uint64_t seed = 0; seed < rounds() && !HasFatalFailure(); ++seed)
    check_rescaled(2'000'000 + seed);
}

}  // namespace
}  // namespace lathe::schedule
