// Random expressions under random schedules with bound loops, as the module that becomes PTX,
// executed by this processor, against the evaluation of the expression.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/nvptx/cards.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/pipeline.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "host_card/host_card.h"
#include "support/bound_trace.h"
#include "support/random_workload.h"
#include "support/sanitized.h"
#include "support/special_values.h"
#include "unit/codegen/harness.h"
#include "unit/interp/random_flat.h"
#include "unit/interp/random_groups.h"

namespace lathe {
namespace {

std::uint64_t rounds(std::uint64_t plain) {
  const char* asked = std::getenv("LATHE_CUDA_ROUNDS");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  constexpr std::uint64_t kLonger = 10, kLess = 4;
  if (test::kSanitized) return plain / kLess + 1;
  return std::getenv("LATHE_TEST_LONG") != nullptr ? kLonger * plain : plain;
}

Target card(const char* name) { return Target{*codegen::cuda_card(name)}; }

// Of the old and the new cards in turns.
Target card_of(std::uint64_t seed) { return card(seed % 3 == 0 ? "sm_75" : "sm_80"); }

std::string difference(const Target& target, const flat::Program& p,
                       const std::vector<interp::Tensor>& inputs,
                       const std::vector<interp::Tensor>& want, std::uint64_t seed) {
  const auto image = codegen::cuda_image(p, target.as_cuda());
  if (!image) return image.error().text();
  const auto ir = codegen::cuda_ir(p, target);
  if (!ir) return ir.error().text();
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(p.inputs[i], inputs[i].values));
  const auto got = testing::run_on_host(*ir, *image, stored, seed);
  if (!got) return got.error().text() + "\n" + *ir;
  const std::string wrong = testing::difference(p, want, *got);
  return wrong.empty() ? wrong : wrong + "\n" + print(p) + *ir;
}

// Counts what was run.
int check(std::uint64_t seed, bool special) {
  Rng rng(seed);
  const te::Workload workload =
      random_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 10'000});
  const auto inputs =
      special ? special_inputs(workload, rng) : interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  EXPECT_TRUE(want.has_value()) << want.error().text();
  RandomSchedule s = random_schedule(workload, rng);
  s = with_bound_loops(workload, s, rng);
  const Target target = card_of(seed);
  const auto scheduled = lower::lower(ir::SizedNest(s.nest, s.knobs), target);
  if (!scheduled) return 0;
  EXPECT_EQ(difference(target, *scheduled, inputs, *want, seed), "") << "seed " << seed << "\n"
                                                                     << describe(workload, s);
  return 1;
}

TEST(CudaRandom, ScheduledExpressions) {
  int ran = 0;
  for (std::uint64_t seed = 1; seed <= rounds(100) && !::testing::Test::HasFailure(); ++seed)
    ran += check(seed, false);
  EXPECT_GT(ran, 0);
}

TEST(CudaRandom, SpecialValues) {
  int ran = 0;
  for (std::uint64_t seed = 10'001; seed <= 10'000 + rounds(50) && !::testing::Test::HasFailure();
       ++seed)
    ran += check(seed, true);
  EXPECT_GT(ran, 0);
}

// As lower::lower() makes vectors for such a device.
bool fits(const flat::Program& p) {
  const std::string text = print(p);
  return text.find(" parallel") == std::string::npos && text.find("region") == std::string::npos;
}

// Returns whether there was a program to run.
bool check_flat(std::uint64_t seed, bool early = false) {
  Rng rng(seed);
  const flat::Program original =
      testing::random_flat(rng, {.halves = seed % 2 == 0, .early = early});
  if (!fits(original)) return false;
  const auto inputs = testing::random_inputs(rng, original);
  const Target target = card_of(seed);
  const auto p = lower::run_passes(original, target);
  EXPECT_TRUE(p) << p.error().text();
  const auto want = interp::eval_flat(*p, inputs);
  EXPECT_TRUE(want) << want.error().text();
  const auto image = codegen::cuda_image(*p, target.as_cuda());
  EXPECT_TRUE(image) << image.error().text() << "\n" << print(*p);
  const auto ir = codegen::cuda_ir(*p, target);
  EXPECT_TRUE(ir) << ir.error().text();
  if (!want || !image || !ir) return true;
  const auto got = testing::run_on_host(*ir, *image, inputs, seed);
  EXPECT_TRUE(got) << "seed " << seed << ": " << got.error().text() << "\n" << *ir;
  if (!got) return true;
  EXPECT_EQ(testing::difference(*p, *want, *got, 4), "") << "seed " << seed << "\n"
                                                         << print(*p) << *ir;
  return true;
}

// Flat programs of operations of all types, bit by bit; reals within a few units.
TEST(CudaRandom, FlatPrograms) {
  int ran = 0;
  for (std::uint64_t seed = 1; ran < static_cast<int>(rounds(40)) && !::testing::Test::HasFailure();
       ++seed)
    ran += check_flat(seed) ? 1 : 0;
}

// LLVM died of vectors longer than 16 bytes that were loaded and converted; a streamed constant of
// 64 bits was stored as one of 32.
TEST(CudaRandom, FlatProgramsThatFoundFaults) {
  for (const std::uint64_t seed : {726, 1170}) EXPECT_TRUE(check_flat(seed, true)) << seed;
}

// Barriers, copies, exchanges and shared memory, whatever the order of the threads between them.
TEST(CudaRandom, ProgramsOfGroups) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    const bool old = seed % 4 == 0;
    const auto g = testing::random_groups(seed, {.copies = !old});
    const Target target = card(old ? "sm_75" : "sm_80");
    const auto image = codegen::cuda_image(g.program, target.as_cuda());
    ASSERT_TRUE(image) << image.error().text() << "\n" << print(g.program);
    const auto ir = codegen::cuda_ir(g.program, target);
    ASSERT_TRUE(ir) << ir.error().text();
    const auto got = testing::run_on_host(*ir, *image, g.inputs, seed);
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text() << "\n" << *ir;
    for (std::size_t o = 0; o < got->size(); ++o)
      ASSERT_EQ(interp::from_storage(g.program.outputs[o], (*got)[o]), g.want[o])
          << "seed " << seed << "\n"
          << print(g.program) << *ir;
  }
}

}  // namespace
}  // namespace lathe
