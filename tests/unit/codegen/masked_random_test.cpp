// Random programs with masked vectors, as machine code for SSE, AVX, AVX2 and AVX-512 between pages
// that nothing may touch, against the evaluation of the expression. Where this machine cannot run
// them, their LLVM IR alone is searched for masked accesses wider than a register.
#include <cstdlib>
#include <iostream>
#include <unordered_set>

#include <gtest/gtest.h>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/lower/lower.h"
#include "oracle/te_eval.h"
#include "support/masked_workload.h"
#include "support/random_trace.h"
#include "support/sanitized.h"
#include "unit/codegen/harness.h"
#include "unit/codegen/masked.h"

namespace lathe {
namespace {

using testing::Place;

constexpr std::int64_t kMostAccesses = 400;  // in the code, so that each is built in no time

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

// Programs of a target.
std::uint64_t rounds(const Target& target) {
  const bool many = target.as_cpu().has_fma;  // AVX2, AVX-512
  const std::uint64_t usual = std::getenv("LATHE_TEST_LONG") != nullptr ? (many ? 5'000 : 2'000)
                              : test::kSanitized                        ? 15
                                                                        : 75;
  return asked("LATHE_RANDOM_ROUNDS", usual);
}

struct Tally {
  std::uint64_t programs = 0, refused = 0, loads = 0, stores = 0, wide = 0;
};

// What a program masks of neighbouring elements.
class Counter {
 public:
  Counter(const flat::Program& program, const Target& target) : target_(target) {
    for (const flat::Kernel& kernel : program.kernels) visit(kernel.body);
  }
  void add_to(Tally& tally) const {
    tally.loads += loads_;
    tally.stores += stores_;
    tally.wide += wide_;
  }

 private:
  void see(const flat::Expr& index, const flat::Expr& mask, flat::Type type, bool& seen) {
    if (!mask || type.lanes == 1 || index->type.lanes > 1) return;
    seen = true;
    wide_ = wide_ || type.lanes * size_of(type.dtype) * 8 > target_.as_cpu().vector_bits;
  }
  void visit(const flat::Expr& e) {
    if (!seen_.insert(e.get()).second) return;
    if (const auto* n = std::get_if<flat::Load>(&e->value)) see(n->index, n->mask, e->type, loads_);
    flat::each_operand(*e, [&](const flat::Expr& x) { visit(x); });
  }
  void visit(const flat::Stmt& s) {
    if (const auto* n = std::get_if<flat::Store>(&s->value))
      see(n->index, n->mask, n->value->type, stores_);
    flat::each_part(
        *s, [&](const flat::Expr& e) { visit(e); }, [&](const flat::Stmt& inner) { visit(inner); });
  }

  const Target& target_;
  std::unordered_set<const flat::Node*> seen_;
  bool loads_ = false, stores_ = false, wide_ = false;
};

std::string what_is_wrong(const flat::Program& program, const Target& target,
                          const std::vector<interp::Tensor>& inputs,
                          const std::vector<interp::Tensor>& want) {
  if (!testing::runs_here(target)) return testing::wide_in(program, target);
  const auto module = testing::compile(program, target);
  if (!module) return module.error().text();
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(program.inputs[i], inputs[i].values));
  for (const Place place : {Place::kFirst, Place::kLast}) {
    const auto got = testing::run_module(**module, program, stored, place);
    if (!got) return got.error().text();
    if (std::string wrong = testing::difference(program, want, *got); !wrong.empty()) return wrong;
  }
  return "";
}

void check(std::uint64_t seed, const Target& target, Tally& tally) {
  Rng rng(seed);
  const MaskedWorkload masked = random_masked(rng);
  const auto inputs = interp::random_inputs(masked.workload, rng);
  const auto want = interp::evaluate(masked.workload, inputs);
  ASSERT_TRUE(want) << "seed " << seed << ": " << want.error().text();
  const RandomSchedule s =
      random_schedule(masked.workload, rng,
                      {.first = masked.steps,
                       .proposals = rng.chance(0.3) ? static_cast<int>(rng.between(1, 8)) : 0});
  // Without code of their own at edges, all iterations ask where they are.
  const auto program = lower::lower(
      ir::SizedNest(s.nest, s.knobs), target,
      {.max_accesses = kMostAccesses, .max_edge_accesses = rng.chance(0.6) ? 0 : kMostAccesses});
  if (!program) {
    ASSERT_EQ(program.error().kind, ErrorKind::kIllegalSchedule)
        << "seed " << seed << ": " << program.error().text() << "\n"
        << describe(masked.workload, s);
    ++tally.refused;
    return;
  }
  ++tally.programs;
  Counter(*program, target).add_to(tally);
  ASSERT_EQ(what_is_wrong(*program, target, inputs, *want), "")
      << "seed " << seed << " " << target.text() << "\n"
      << describe(masked.workload, s);
}

class MaskedPrograms : public ::testing::TestWithParam<Target> {};

TEST_P(MaskedPrograms, ReadAndWriteWhatTheyMay) {
  const Target& target = GetParam();
  Tally tally;
  for (std::uint64_t seed = asked("LATHE_RANDOM_FIRST", 0);
       tally.programs < rounds(target) && !HasFatalFailure(); ++seed)
    check(seed, target, tally);
  std::cout << fmt::format(
      "{}: {} programs, {} with masked loads, {} with masked stores, {} wider than a register; {} "
      "schedules were refused\n",
      target.text(), tally.programs, tally.loads, tally.stores, tally.wide, tally.refused);
  if (tally.programs < 75) return;
  EXPECT_GT(tally.loads * 4, tally.programs);
  EXPECT_GT(tally.stores * 10, tally.programs);
  EXPECT_GT(tally.wide * 5, tally.programs);
}

INSTANTIATE_TEST_SUITE_P(Targets, MaskedPrograms, ::testing::ValuesIn(testing::masked_targets()),
                         [](const auto& info) { return testing::test_name(info.param); });

}  // namespace
}  // namespace lathe
