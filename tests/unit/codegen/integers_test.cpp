// Integers at the ends of their range: they wrap, and comparisons with them hold, under every
// schedule. Numbers of the oracle are f64, so what is right is written here.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

template <class T>
interp::Bytes bytes_of(const std::vector<T>& values) {
  interp::Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

// Runs the loops as written, and with vectors along `loop`, the rest of which is masked or peeled.
template <class T>
void expect(const std::string& text, const std::string& loop,
            const std::vector<interp::Bytes>& inputs, const std::vector<T>& want) {
  SCOPED_TRACE(text);
  const auto workload = te::parse_workload(text);
  ASSERT_TRUE(workload) << workload.error().text();
  const std::optional<ir::Tail> tails[] = {std::nullopt, ir::Tail::kMask, ir::Tail::kPeel};
  for (const auto& tail : tails)
    for (const Target& target : testing::runnable_targets()) {
      ir::Nest nest = te::naive_nest(*workload);
      if (tail) {
        const schedule::Trace trace{
            schedule::Split{loop, std::int64_t{8}, loop + ".o", loop + ".v", *tail},
            schedule::Annotate{.loop = loop + ".v", .kind = ir::LoopKind::kVectorized}};
        ASSERT_TRUE(schedule::apply(nest, trace));
      }
      const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
      ASSERT_TRUE(flat) << flat.error().text();
      const auto module = testing::compile(*flat, target);
      ASSERT_TRUE(module) << module.error().text();
      const auto got = testing::run_module(**module, *flat, inputs);
      ASSERT_TRUE(got) << got.error().text();
      std::vector<T> values(want.size());
      std::memcpy(values.data(), got->at(0).data(), want.size() * sizeof(T));
      EXPECT_EQ(values, want) << target.text() << ", " << (tail ? "vectors" : "loops");
    }
}

TEST(Integers, ComparisonsOfIteratorsWithTheEndsOfTheRange) {
  constexpr std::int64_t kRow = 61;
  const std::vector<std::int64_t> limits = {kMost, kLeast, kMost - 3, kLeast + 3, 5, -1};
  std::vector<float> x(limits.size() * kRow);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const auto check = [&](const std::string& op, auto holds) {
    std::vector<float> want;
    for (std::size_t b = 0; b < limits.size(); ++b)
      for (std::int64_t i = 0; i < kRow; ++i)
        want.push_back(holds(i, limits[b]) ? x[b * kRow + static_cast<std::size_t>(i)] : 0);
    expect(fmt::format("L: i64[6]; X: f32[6,61]; Y[b,i] = select(i {} L[b], X[b,i], 0.0)", op),
           "Y.i", {bytes_of(limits), bytes_of(x)}, want);
  };
  check("<", std::less<std::int64_t>());
  check("<=", std::less_equal<std::int64_t>());
  check(">", std::greater<std::int64_t>());
  check(">=", std::greater_equal<std::int64_t>());
  check("==", std::equal_to<std::int64_t>());
}

TEST(Integers, SumsThatWrapAreNotComparedAsIfTheyDidNot) {
  const std::vector<std::int64_t> x = {kMost, kLeast, 7, kMost, 0, -1, kMost - 1, 3, kMost};
  std::vector<std::int64_t> least, smaller;
  for (const std::int64_t value : x) {
    const bool wraps = value == kMost;
    least.push_back(wraps ? kLeast : value);
    smaller.push_back(wraps ? 1 : 0);
  }
  expect("X: i64[9]; Y[i] = min(X[i] + 1, X[i])", "Y.i", {bytes_of(x)}, least);
  expect("X: i64[9]; Y[i] = i64(X[i] + 1 <= X[i])", "Y.i", {bytes_of(x)}, smaller);
}

TEST(Integers, IteratorsThatWrapAreComparedAsTheyAre) {
  const auto wrapped = [](std::uint64_t x) { return static_cast<std::int64_t>(x << 61); };
  std::vector<float> want;
  for (std::uint64_t i = 0; i < 8; ++i) want.push_back(wrapped(i) < wrapped(i + 1) ? 1 : 2);
  expect(
      "Y[i:8] = select(i*4503599627370496*512 < i*4503599627370496*512 + "
      "4503599627370496*512, 1.0, 2.0)",
      "Y.i", {}, want);
  want.clear();
  for (std::uint64_t j = 0; j < 4; ++j)
    for (std::int64_t i = 0; i < 64; ++i)
      want.push_back(i < static_cast<std::int64_t>(j << 63) ? 1 : 0);
  expect("Y[j:4,i:64] = select(i < j*4503599627370496*2048, 1.0, 0.0)", "Y.i", {}, want);
}

TEST(Integers, ProductsThatWrapAreDividedAsTheyAre) {
  std::vector<std::int64_t> want;
  for (std::uint64_t i = 0; i < 16; ++i)
    want.push_back(static_cast<std::int64_t>((i << 52) * 1024) / 4);
  expect("Y[i:16] = i * 4503599627370496 * 1024 / 4", "Y.i", {}, want);
}

TEST(Integers, OfOneWidthWithAndWithoutSign) {
  std::vector<std::int32_t> want;
  for (int i = 0; i < 256; ++i) want.push_back(std::abs(i < 128 ? i : i - 256) + i);
  want[128] = -128 + 128;  // of i8 the lowest number is its own magnitude
  expect("Y[i:256] = i32(abs(i8(i))) + i32(abs(u8(i8(i))))", "Y.i", {}, want);
  expect("Y[i:256] = i32(abs(u8(i8(i)))) + i32(abs(i8(i)))", "Y.i", {}, want);
}

TEST(Integers, PaddingOfMinusZeroKeepsItsSign) {
  const std::vector<float> x = {1, 2, 4, 8, 16, 32, 64, 128};
  std::vector<float> want = {-HUGE_VALF};
  for (const float value : x) want.push_back(1 / value);
  expect("X: f32[8]; Y[i:9] = 1.0 / X[i-1 else -0.0]", "Y.i", {bytes_of(x)}, want);
}

}  // namespace
}  // namespace lathe
