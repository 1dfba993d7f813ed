// Nests that intrinsics stand for: random ones, run lane by lane, compute what their expression
// says; and what is refused, for which reason.
#include "base/rng.h"
#include "oracle/lanes.h"
#include "oracle/nest_eval.h"
#include "unit/schedule/support.h"

namespace lathe::schedule {
namespace {

using R = Refusal;
using std::int64_t;

ir::IntrinsicId named(std::string_view name) { return *ir::intrinsic_named(name); }

// A product with dimensions in random orders, and the steps that make an intrinsic's loops of it.
struct Case {
  std::string text;
  Trace trace;
  bool divides = true;  // no loop has a tail

  std::string described() const { return text + "\n" + print(trace) + to_json(trace).dump(); }
};

std::vector<std::string> shuffled(std::vector<std::string> names, Rng& rng) {
  shuffle(names, rng);
  return names;
}

// "X[b, i, k]" or, with sizes, "X: f32[2, 16, 8]".
std::string operand(const std::string& name, const std::vector<std::string>& dims,
                    const std::map<std::string, int64_t>* sizes = nullptr) {
  std::vector<std::string> out;
  for (const std::string& d : dims) out.push_back(sizes ? std::to_string(sizes->at(d)) : d);
  return fmt::format("{}{}[{}]", name, sizes ? ": f32" : "", fmt::join(out, ","));
}

Case random_case(const ir::Intrinsic& row, Rng& rng, bool tails) {
  Case out;
  const bool batch = rng.chance(0.5);
  std::map<std::string, int64_t> sizes = {{"b", 2}};
  const std::vector<std::string> names = {"i", "j", "k"};
  for (std::size_t n = 0; n < names.size(); ++n) {
    const int64_t extent = row.iters[n].extent;
    sizes[names[n]] = extent * rng.between(1, 3);
    if (tails && rng.chance(0.5)) sizes[names[n]] += rng.between(1, extent - 1);
    out.divides = out.divides && sizes[names[n]] % extent == 0;
  }
  const auto dims = [&](std::vector<std::string> of) {
    if (batch) of.emplace_back("b");
    return shuffled(std::move(of), rng);
  };
  const auto a = dims({"i", "k"}), b = dims({"k", "j"});
  auto c = dims({"i", "j"});
  // Lanes of a vector lie beside each other in the result.
  if (row.is_written_out()) std::ranges::stable_partition(c, [](auto& d) { return d != "j"; });
  const std::string left = operand("A", a), right = operand("B", b);
  out.text =
      fmt::format("{}; {}; {} = sum(k) {}", operand("A", a, &sizes), operand("B", b, &sizes),
                  operand("C", c), rng.chance(0.5) ? left + " * " + right : right + " * " + left);
  std::vector<std::string> outer = {"io", "jo", "ko"};
  if (batch) outer.emplace_back("C.b");
  for (std::size_t n = 0; n < names.size(); ++n)
    out.trace.push_back(
        Split{"C." + names[n], int64_t{row.iters[n].extent}, names[n] + "o", names[n] + "i"});
  std::vector<std::string> order = shuffled(std::move(outer), rng);
  const std::vector<std::string> inner = shuffled({"ii", "ji", "ki"}, rng);
  order.insert(order.end(), inner.begin(), inner.end());
  out.trace.push_back(Reorder{order});
  out.trace.push_back(Tensorize{inner.front(), named(row.name)});
  return out;
}

// What the rounding of factors may add to the error of an element: it is as large as the products.
std::vector<double> rounding_bounds(const te::Workload& workload,
                                    std::vector<interp::Tensor> inputs, double error) {
  for (interp::Tensor& input : inputs)
    for (double& value : input.values) value = std::abs(value);
  auto sizes = interp::evaluate(workload, inputs);
  EXPECT_TRUE(sizes);
  for (double& size : (*sizes)[0].values) size *= error;
  return (*sizes)[0].values;
}

void expect_right(const Case& c, const ir::Intrinsic& row) {
  const te::Workload workload = program(c.text);
  ir::Nest nest = te::naive_nest(workload);
  must_apply(nest, c.trace);
  const auto again = trace_from_json(to_json(c.trace));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(print(*again), print(c.trace));
  Rng rng(7);
  const auto inputs = interp::random_inputs(workload, rng);
  auto want = interp::evaluate(workload, inputs);
  ASSERT_TRUE(want) << want.error().text();
  const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
  ASSERT_TRUE(got) << got.error().text() << "\n" << c.described();
  EXPECT_EQ(interp::compare((*want)[0], (*got)[0].values) == "", row.product_error() == 0)
      << c.described();
  const auto more = rounding_bounds(workload, inputs, row.product_error());
  for (std::size_t i = 0; i < more.size(); ++i) (*want)[0].bounds[i] += more[i];
  EXPECT_EQ(interp::compare((*want)[0], (*got)[0].values), "") << c.described();
}

TEST(Tensorize, RandomNestsComputeTheSameLaneByLane) {
  for (const ir::Intrinsic& row : ir::intrinsics())
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Rng rng(seed);
      expect_right(random_case(row, rng, false), row);
      if (HasFailure()) FAIL() << row.name << ", seed " << seed;
    }
}

// Loops with a tail are refused, or run as they are where lowering writes the intrinsic out.
TEST(Tensorize, RandomNestsWithTails) {
  int with_tails = 0;
  for (const ir::Intrinsic& row : ir::intrinsics())
    for (std::uint64_t seed = 100; seed < 140; ++seed) {
      Rng rng(seed);
      const Case c = random_case(row, rng, true);
      with_tails += c.divides ? 0 : 1;
      if (c.divides || row.is_written_out()) expect_right(c, row);
      else EXPECT_EQ(refusal(c.text, c.trace), R::kIntrinsicTail) << c.described();
      if (HasFailure()) FAIL() << row.name << ", seed " << seed;
    }
  EXPECT_GT(with_tails, 40);
}

constexpr std::string_view kTile = "A: f32[16, 8]; B: f32[8, 8]; C[i,j] = sum(k) A[i,k] * B[k,j]";

TEST(Tensorize, RefusesWhatAnInstructionDoesNotDo) {
  const Tensorize mma{"C.i", named("mma.m16n8k8.tf32")};
  const auto of = [&](std::string_view text) { return refusal(text, {mma}); };
  after(kTile, {mma});
  for (const char* type : {"f64", "i32"})
    EXPECT_EQ(of(fmt::format("A: {0}[16,8]; B: {0}[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]", type)),
              R::kIntrinsicTypes);
  EXPECT_EQ(of("A: f32[8,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]"), R::kIntrinsicExtents);
  EXPECT_EQ(of("A: f32[16,8]; B: f32[8,4]; C[i,j] = sum(k) A[i,k] * B[k,j]"), R::kIntrinsicExtents);
  // The reduction has 16 iterations, and the columns of the result.
  EXPECT_EQ(of("A: f32[8,16]; B: f32[16,8]; C[i,j] = sum(k) A[i,k] * B[k,j]"),
            R::kIntrinsicMismatch);
  after("A: f32[8,8]; B: f32[8,16]; C[i,j] = sum(k) A[i,k] * B[k,j]", {mma});
  EXPECT_EQ(of("A: f32[16,8]; B: f32[8,8]; C[i,j] = max(k) A[i,k] * B[k,j]"),
            R::kIntrinsicMismatch);
  EXPECT_EQ(of("A: f32[16,8]; B: f32[8,8]; C[i,j] = sum(k) (A[i,k] + B[k,j])"),
            R::kIntrinsicMismatch);
  EXPECT_EQ(of("A: f32[16,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * (B[k,j] + 1.0)"),
            R::kIntrinsicMismatch);
  // The columns move both factors, or a factor is not moved by the reduction.
  EXPECT_EQ(of("A: f32[16,15]; B: f32[8,8]; C[i,j] = sum(k) A[i,k+j] * B[k,j]"),
            R::kIntrinsicMismatch);
  EXPECT_EQ(of("A: f32[16]; B: f32[8,8]; C[i,j] = sum(k) A[i] * B[k,j]"), R::kIntrinsicMismatch);
  EXPECT_EQ(of("A: f32[16,6]; B: f32[8,8]; C[i:16,j] = sum(k) A[i,k-1 else 0] * B[k,j]"),
            R::kIntrinsicTail);
}

// Where loops were split twice, what is left out may be a whole run of the instruction, or a part.
TEST(Tensorize, TailsOfOuterLoopsAreWholeRuns) {
  const ir::IntrinsicId mma = named("mma.m16n8k8.tf32");
  constexpr std::string_view kRows = "A: f32[64, 8]; B: f32[8, 8]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  const auto steps = [&](int64_t rows) {
    return Trace{Split{"C.i", rows, "io", "ir"}, Split{"ir", int64_t{16}, "it", "ii"},
                 Tensorize{"ii", mma}};
  };
  expect_right({std::string(kRows), steps(48)}, row_of(mma));
  expect_right({std::string(kRows), steps(64)}, row_of(mma));
  EXPECT_EQ(refusal(kRows, steps(40)), R::kIntrinsicTail);  // a guard: 40 rows are no whole runs
  // What comes later splits a loop around.
  expect_right({std::string(kRows),
                {Split{"C.i", int64_t{16}, "io", "ii"}, Tensorize{"ii", mma},
                 Split{"io", int64_t{3}, "ioo", "ioi"}}},
               row_of(mma));
}

TEST(Tensorize, SentencesSayWhatToDo) {
  ir::Nest nest = nest_of("A: f32[17,8]; B: f32[8,8]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  must_apply(nest, {Split{"C.i", int64_t{16}, "io", "ii"}});
  const auto refused = apply(nest, Step{Tensorize{"ii", named("mma.m16n8k8.tf32")}}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "ii: some of the iterations may lie beyond an extent or outside a tensor, and the "
            "intrinsic leaves out none; split by sizes that divide, and read without padding");
}

TEST(Lanes, RoundToNearestTiesAwayFromZero) {
  using interp::rounded_mantissa;
  EXPECT_EQ(rounded_mantissa(1 + 0x1p-10, 10), 1 + 0x1p-10);
  EXPECT_EQ(rounded_mantissa(1 + 0x1p-11, 10), 1 + 0x1p-10);
  EXPECT_EQ(rounded_mantissa(-1 - 0x1p-11, 10), -1 - 0x1p-10);
  EXPECT_EQ(rounded_mantissa(1 + 0x1p-11 - 0x1p-23, 10), 1);
  EXPECT_EQ(rounded_mantissa(2 - 0x1p-23, 10), 2);
  EXPECT_EQ(rounded_mantissa(0x1.fffffep127, 10), std::numeric_limits<double>::infinity());
  EXPECT_EQ(rounded_mantissa(1 + 0x1p-20, 0), 1 + 0x1p-20);
  EXPECT_TRUE(std::isnan(rounded_mantissa(std::nan(""), 10)));
}

}  // namespace
}  // namespace lathe::schedule
