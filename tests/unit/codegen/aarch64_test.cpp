// Random programs as AArch64 code under an emulator, against the interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "oracle/te_eval.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/special_values.h"
#include "support/temporary_folder.h"
#include "unit/codegen/harness.h"
#include "unit/interp/random_flat.h"

namespace lathe {
namespace {

#ifndef LATHE_EMULATED_DRIVER
#define LATHE_EMULATED_DRIVER ""
#endif

class Emulated : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(LATHE_EMULATED_DRIVER).empty())
      GTEST_SKIP()
          << "aarch64-linux-gnu-gcc or qemu-aarch64 was not found when this was configured";
  }

  std::vector<interp::Bytes> run(const flat::Program& p, const std::vector<std::byte>& library,
                                 const std::vector<interp::Bytes>& inputs) {
    write("code.so", [&](std::ofstream& out) { put(out, library); });
    write("in", [&](std::ofstream& out) {
      put_number(out, static_cast<std::int64_t>(p.inputs.size()));
      put_number(out, static_cast<std::int64_t>(p.outputs.size()));
      for (const auto* borders : {&p.inputs, &p.outputs})
        for (const flat::Border& b : *borders) {
          put_number(out, b.size * size_of(b.dtype));
          put_number(out, b.constant);
        }
      for (const auto& input : inputs) put(out, input);
    });
    const std::string at = folder_.path().string();
    const std::string command =
        fmt::format("{} {}/code.so {}/in {}/out", LATHE_EMULATED_DRIVER, at, at, at);
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << command;
    std::ifstream in(folder_.at("out"), std::ios::binary);
    std::vector<interp::Bytes> outputs;
    for (const flat::Border& b : p.outputs) {
      outputs.emplace_back(static_cast<std::size_t>(b.size * size_of(b.dtype)));
      in.read(reinterpret_cast<char*>(outputs.back().data()),
              static_cast<std::streamsize>(outputs.back().size()));
    }
    EXPECT_TRUE(in.good());
    return outputs;
  }

 private:
  template <class Fill>
  void write(const char* name, const Fill& fill) {
    std::ofstream out(folder_.at(name), std::ios::binary);
    fill(out);
    ASSERT_TRUE(out.good());
  }
  static void put(std::ofstream& out, const std::vector<std::byte>& bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  static void put_number(std::ofstream& out, std::int64_t number) {
    out.write(reinterpret_cast<const char*>(&number), sizeof number);
  }

  const test::TemporaryFolder folder_;
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
