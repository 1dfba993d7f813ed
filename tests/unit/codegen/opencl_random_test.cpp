// Random expressions under random schedules with bound loops, run on this machine's OpenCL device,
// against the evaluation of the expression. Without a device what cannot run is still translated.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/codegen/opencl/codegen.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/pipeline.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/bound_trace.h"
#include "support/group_traces.h"
#include "support/opencl_runner.h"
#include "support/random_workload.h"
#include "support/special_values.h"
#include "unit/codegen/harness.h"
#include "unit/interp/random_flat.h"

namespace lathe {
namespace {

using testing::OpenClRunner;

std::uint64_t rounds(std::uint64_t plain) {
  const char* asked = std::getenv("LATHE_OPENCL_ROUNDS");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  constexpr std::uint64_t kLonger = 10;
  return std::getenv("LATHE_TEST_LONG") != nullptr ? kLonger * plain : plain;
}

std::string difference(const OpenClRunner* runner, const flat::Program& p,
                       const std::vector<interp::Tensor>& inputs,
                       const std::vector<interp::Tensor>& want) {
  const auto image = codegen::opencl_image(p, generic_opencl().as_opencl());
  if (!image) return image.error().text();
  if (runner == nullptr) return "";
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(p.inputs[i], inputs[i].values));
  const auto got = runner->run(*image, stored);
  if (!got) return got.error().text();
  const std::string wrong = testing::difference(p, want, *got);
  return wrong.empty() ? wrong : wrong + "\n" + image->source;
}

// Counts what was run.
int check(const OpenClRunner* runner, std::uint64_t seed, bool special) {
  Rng rng(seed);
  const te::Workload workload =
      random_workload(rng, {.dtypes = seed % 2 == 0, .max_iterations = 10'000});
  const auto inputs =
      special ? special_inputs(workload, rng) : interp::random_inputs(workload, rng);
  const auto want = interp::evaluate(workload, inputs);
  EXPECT_TRUE(want.has_value()) << want.error().text();
  RandomSchedule s = random_schedule(workload, rng);
  s = with_bound_loops(workload, s, rng);
  const auto scheduled = lower::lower(ir::SizedNest(s.nest, s.knobs), generic_opencl());
  if (!scheduled) return 0;
  EXPECT_EQ(difference(runner, *scheduled, inputs, *want), "") << "seed " << seed << "\n"
                                                               << describe(workload, s);
  return 1;
}

class OpenClRandom : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = OpenClRunner::open();
    if (opened) runner_.emplace(std::move(*opened));
    else why_ = opened.error().message;
  }
  void TearDown() override {
    if (!runner_ && !HasFailure())
      GTEST_SKIP() << why_ << ": programs were translated, but none was run";
  }
  const OpenClRunner* runner() const { return runner_ ? &*runner_ : nullptr; }

 private:
  std::optional<OpenClRunner> runner_;
  std::string why_;
};

TEST_F(OpenClRandom, ScheduledExpressions) {
  int ran = 0;
  for (std::uint64_t seed = 1; seed <= rounds(50) && !HasFailure(); ++seed)
    ran += check(runner(), seed, false);
  EXPECT_GT(ran, 0);
}

TEST_F(OpenClRandom, SpecialValues) {
  int ran = 0;
  for (std::uint64_t seed = 10'001; seed <= 10'000 + rounds(30) && !HasFailure(); ++seed)
    ran += check(runner(), seed, true);
  EXPECT_GT(ran, 0);
}

// Groups, items, and a tile of 4 x 4 in registers for each, as spaces for devices have them.
schedule::Trace register_tile() {
  using schedule::Annotate, schedule::Split;
  const auto kind = [](const char* loop, ir::LoopKind k) {
    return Annotate{.loop = loop, .kind = k};
  };
  const auto four = std::int64_t{4};
  return {
      Split{"C.i", four, "ir", "ii"},
      Split{"ir", four, "ib", "it"},
      Split{"C.j", four, "jr", "jl"},
      Split{"jr", four, "jb", "jt"},
      schedule::Reorder{{"ib", "jb", "it", "jt", "C.k", "ii", "jl"}},
      schedule::Cache{.buffer = "C", .name = "acc", .loop = "jt", .scope = ir::Scope::kRegister},
      kind("acc.d0", ir::LoopKind::kUnrolled),
      kind("acc.d1", ir::LoopKind::kVectorized),
      kind("ii", ir::LoopKind::kUnrolled),
      kind("jl", ir::LoopKind::kVectorized),
      kind("ib", ir::LoopKind::kBlockY),
      kind("jb", ir::LoopKind::kBlockX),
      kind("it", ir::LoopKind::kThreadY),
      kind("jt", ir::LoopKind::kThreadX)};
}

std::string difference_under(const OpenClRunner* runner, const std::string& text,
                             const schedule::Trace& trace) {
  const te::Workload workload = *te::parse_workload(text);
  ir::Nest nest = te::naive_nest(workload);
  if (const auto applied = schedule::apply(nest, trace); !applied) return applied.error().text();
  const auto program = lower::lower(ir::SizedNest(nest, {}), generic_opencl());
  if (!program) return program.error().text();
  Rng rng(1);
  const auto inputs = interp::random_inputs(workload, rng);
  return difference(runner, *program, inputs, *interp::evaluate(workload, inputs));
}

constexpr int kSizes[][3] = {{1, 1, 1}, {17, 5, 13}, {16, 7, 32}, {31, 1, 37}, {2, 19, 3}};
std::string product_of(int m, int k, int n) {
  return fmt::format("A: f32[{0},{1}]; B: f32[{1},{2}]; C[i,j] = sum(k) A[i,k] * B[k,j]", m, k, n);
}

TEST_F(OpenClRandom, RegisterTilesOfProductsWithAwkwardSizes) {
  for (const auto& [m, k, n] : kSizes)
    EXPECT_EQ(difference_under(runner(), product_of(m, k, n), register_tile()), "")
        << m << " " << k << " " << n;
}

TEST_F(OpenClRandom, ProductsThroughTheMemoryOfGroups) {
  using testing::Fill;
  std::size_t next = 0;  // the driver takes half a second to compile each
  for (const auto& [m, k, n] : kSizes) {
    const std::string text = product_of(m, k, n);
    for (const int stages : {1, 2, 3}) {
      const Fill fill = testing::kFills[next++ % std::size(testing::kFills)];
      EXPECT_EQ(difference_under(runner(), text, testing::staged_product(fill, stages)), "")
          << text << static_cast<int>(fill) << stages;
    }
    EXPECT_EQ(difference_under(runner(), text, testing::split_sum()), "") << text;
  }
  EXPECT_EQ(difference_under(runner(), product_of(33, 67, 50),
                             testing::staged_product(Fill::kVectors, 2)),
            "");
  for (const int k : {1, 5, 64, 333})
    EXPECT_EQ(difference_under(runner(), fmt::format("X: f32[3,{}]; S[i] = sum(k) X[i,k]", k),
                               testing::summed_rows()),
              "")
        << k;
}

// Rows that are too long for a work item's private memory lie in a slice of the scratch area.
TEST_F(OpenClRandom, LongRowsOfEachWorkItem) {
  const te::Workload workload =
      *te::parse_workload("X: f32[6,701]; T[i,j] = X[i,j] * 2; Y[i,j] = T[i,700-j] + X[i,j]");
  ir::Nest nest = te::naive_nest(workload);
  ASSERT_TRUE(schedule::apply(
      nest, schedule::Trace{schedule::ComputeAt{"T", "Y.i"},
                            schedule::Annotate{.loop = "Y.i", .kind = ir::LoopKind::kThreadX}}));
  const auto program = lower::lower(ir::SizedNest(nest, {}), generic_opencl());
  ASSERT_TRUE(program) << program.error().text();
  const auto image = codegen::opencl_image(*program, generic_opencl().as_opencl());
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_GE(image->scratch_bytes, 6 * 701 * 4);
  Rng rng(1);
  const auto inputs = interp::random_inputs(workload, rng);
  EXPECT_EQ(difference(runner(), *program, inputs, *interp::evaluate(workload, inputs)), "");
}

// Every type cast to every other, also what is out of range: whole vectors and a tail.
TEST_F(OpenClRandom, Casts) {
  constexpr const char* kTypes[] = {"f32", "f64", "f16", "bf16", "i8",  "u8",
                                    "i16", "u16", "i32", "u32",  "i64", "bool"};
  for (const char* from : kTypes) {
    std::string text = fmt::format("X: {}[23]", from);
    schedule::Trace trace;
    for (const char* to : kTypes) {
      text += fmt::format("; output Y_{0}: {0}[23]; Y_{0}[i] = {0}(X[i])", to);
      const std::string y = fmt::format("Y_{}", to);
      trace.push_back(schedule::Split{y + ".i", std::int64_t{4}, y + ".o", y + ".l"});
      trace.push_back(schedule::Annotate{.loop = y + ".l", .kind = ir::LoopKind::kVectorized});
      trace.push_back(schedule::Annotate{.loop = y + ".o", .kind = ir::LoopKind::kThreadX});
    }
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload) << workload.error().text();
    ir::Nest nest = te::naive_nest(*workload);
    ASSERT_TRUE(schedule::apply(nest, trace));
    Rng rng(7);
    const auto inputs = special_inputs(*workload, rng);
    const auto want = interp::evaluate(*workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const auto program = lower::lower(ir::SizedNest(nest, {}), generic_opencl());
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(difference(runner(), *program, inputs, *want), "") << text;
  }
}

// As lower::lower() makes vectors for such a device.
bool fits(const flat::Program& p) {
  const std::string text = print(p);
  return text.find(" parallel") == std::string::npos && text.find("region") == std::string::npos;
}

// Flat programs of operations of all types, bit by bit; reals within a few units.
TEST_F(OpenClRandom, FlatPrograms) {
  int ran = 0;
  for (std::uint64_t seed = 1; ran < static_cast<int>(rounds(20)) && !HasFailure(); ++seed) {
    Rng rng(seed);
    const flat::Program original = testing::random_flat(rng, {.halves = seed % 2 == 0});
    if (!fits(original)) continue;
    const auto inputs = testing::random_inputs(rng, original);
    const auto p = lower::run_passes(original, generic_opencl());
    ASSERT_TRUE(p) << p.error().text();
    const auto want = interp::eval_flat(*p, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const auto image = codegen::opencl_image(*p, generic_opencl().as_opencl());
    ASSERT_TRUE(image) << image.error().text() << "\n" << print(*p);
    ++ran;
    if (runner() == nullptr) continue;
    const auto got = runner()->run(*image, inputs);
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text();
    EXPECT_EQ(testing::difference(*p, *want, *got, 4), "") << "seed " << seed << "\n"
                                                           << print(*p) << image->source;
  }
}

}  // namespace
}  // namespace lathe
