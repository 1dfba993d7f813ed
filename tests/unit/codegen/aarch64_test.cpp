// Random programs as AArch64 code under an emulator, against the interpreter.
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "oracle/te_eval.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/special_values.h"
#include "unit/codegen/emulated.h"
#include "unit/codegen/harness.h"
#include "unit/interp/random_flat.h"

namespace lathe {
namespace {

class Emulated : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!testing::EmulatedMachine::is_there()) GTEST_SKIP() << testing::EmulatedMachine::kNone;
  }
  std::vector<interp::Bytes> run(const flat::Program& p, const std::vector<std::byte>& library,
                                 const std::vector<interp::Bytes>& inputs) {
    return machine_.run(p, library, inputs);
  }

 private:
  const testing::EmulatedMachine machine_;
};

TEST_P(Emulated, RandomWorkloads) {
  const Target target = testing::resolved(GetParam());
  for (std::uint64_t seed = 500; seed < 506; ++seed) {
    Rng rng(seed);
    const flat::Program p = testing::random_flat(rng, {.halves = seed % 2 == 1});
    const auto inputs = testing::random_inputs(rng, p);
    const auto want = interp::eval_flat(p, inputs);
    ASSERT_TRUE(want) << "seed " << seed << ": " << want.error().text();
    const auto object = codegen::generate(p, target);
    ASSERT_TRUE(object) << "seed " << seed << ": " << object.error().text();
    const auto library = codegen::link_shared(*object, target);
    ASSERT_TRUE(library) << "seed " << seed << ": " << library.error().text();
    const std::string wrong = testing::difference(p, *want, run(p, *library, inputs), 4);
    ASSERT_EQ(wrong, "") << "seed " << seed << " " << target.text() << "\n" << print(p);
  }
}

TEST_P(Emulated, ExpressionsOfSpecialValues) {
  const Target target = testing::resolved(GetParam());
  for (std::uint64_t seed = 600; seed < 612; ++seed) {
    Rng rng(seed);
    const te::Workload workload =
        random_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 5'000});
    const RandomSchedule s = random_schedule(workload, rng);
    const auto inputs = special_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    for (const bool naive : {true, false}) {
      const ir::Nest plain = te::naive_nest(workload);
      const auto p =
          lower::lower(naive ? ir::SizedNest(plain, {}) : ir::SizedNest(s.nest, s.knobs), target);
      if (!p) continue;  // schedules may be refused
      std::vector<interp::Bytes> stored;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        stored.push_back(interp::to_storage(p->inputs[i], inputs[i].values));
      const auto object = codegen::generate(*p, target);
      ASSERT_TRUE(object) << "seed " << seed << ": " << object.error().text();
      const auto library = codegen::link_shared(*object, target);
      ASSERT_TRUE(library) << "seed " << seed << ": " << library.error().text();
      ASSERT_EQ(testing::difference(*p, *want, run(*p, *library, stored)), "")
          << "seed " << seed << (naive ? " naive " : " ") << target.text() << "\n"
          << describe(workload, s);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, Emulated,
                         ::testing::Values("cpu:cortex-a72;isa=aarch64",
                                           "cpu:neoverse-v2;isa=aarch64;threads=2"),
                         [](const auto& info) {
                           return testing::test_name(testing::resolved(info.param));
                         });

}  // namespace
}  // namespace lathe
