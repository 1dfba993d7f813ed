// Scans against plain loops.
#include <cmath>
#include <limits>

#include "unit/ops/evaluated.h"

namespace lathe::ops {
namespace {

struct ScanCase {
  Index input;
  std::string axis;
  std::size_t along;
};
const std::vector<ScanCase>& scan_cases() {
  static const std::vector<ScanCase> all = {
      {{1}, "0", 0},      {{13}, "-1", 0},     {{5, 7}, "1", 1},    {{5, 7}, "0", 0},
      {{1, 11}, "-1", 1}, {{3, 5, 4}, "1", 1}, {{2, 1, 3}, "1", 1}, {{2, 3, 1, 5}, "-4", 0}};
  return all;
}

double joined(const std::string& op, double so_far, double x) {
  if (op == "cumsum") return so_far + x;
  if (op == "cumprod") return so_far * x;
  return op == "cummax" ? std::max(so_far, x) : std::min(so_far, x);
}

double first_of(const std::string& op) {
  if (op == "cumsum") return 0;
  if (op == "cumprod") return 1;
  const double inf = std::numeric_limits<double>::infinity();
  return op == "cummax" ? -inf : inf;
}

void check_scan(const ScanCase& c, const std::string& op, bool reverse, bool exclusive,
                const char* dtype) {
  Arguments arguments = {{"input", list(c.input)},
                         {"axis", c.axis},
                         {"reverse", reverse ? "true" : "false"},
                         {"dtype", dtype}};
  if (exclusive) arguments["exclusive"] = "true";
  const Evaluation r = run(built(op, arguments), 22);
  SCOPED_TRACE(op + " of " + list(c.input) + " along " + c.axis + " " + dtype);
  expect_output(r, c.input, [&](const Index& y) {
    double want = first_of(op);
    const std::int64_t extent = c.input[c.along];
    for (std::int64_t k = 0; k < extent; ++k) {
      Index there = y;
      there[c.along] = reverse ? extent - 1 - k : k;
      const bool own = there == y;
      if (own && exclusive) break;
      want = joined(op, want, at(r.inputs[0], there));
      if (own) break;
    }
    return want;
  });
}

TEST(Scan, AlongAnyDimensionInBothDirections) {
  for (const ScanCase& c : scan_cases())
    for (const char* op : {"cumsum", "cumprod", "cummax", "cummin"})
      for (const bool reverse : {false, true}) check_scan(c, op, reverse, false, "f32");
}

TEST(Scan, WithoutTheElementItself) {
  for (const ScanCase& c : scan_cases())
    for (const char* op : {"cumsum", "cumprod"})
      for (const bool reverse : {false, true}) check_scan(c, op, reverse, true, "f32");
}

TEST(Scan, OtherTypes) {
  const ScanCase c = {{3, 7}, "1", 1};
  for (const char* dtype : {"i8", "u8", "i32", "i64", "f16", "bf16", "f64"})
    for (const char* op : {"cumsum", "cummax", "cummin"}) {
      check_scan(c, op, false, false, dtype);
      check_scan(c, op, true, false, dtype);
    }
  EXPECT_EQ(built("cumsum", {{"input", "3"}, {"dtype", "i8"}}).tensors.back().dtype, Dtype::kI32);
  EXPECT_EQ(built("cummax", {{"input", "3"}, {"dtype", "i8"}}).tensors.back().dtype, Dtype::kI8);
}

TEST(Scan, NanStays) {
  const double nan = std::nan("");
  const interp::Tensor x{Dtype::kF32, {4}, {1, nan, 3, 0}, {}};
  for (const char* op : {"cumsum", "cumprod", "cummax", "cummin"}) {
    const auto y = evaluated(built(op, {{"input", "4"}}), {x}).output.values;
    EXPECT_EQ(y[0], 1);
    for (const std::size_t i : {1, 2, 3}) EXPECT_TRUE(std::isnan(y[i])) << op;
  }
}

TEST(Scan, NamesWhatIsWrong) {
  EXPECT_NE(refusal("cumsum", {{"input", "3,4"}, {"axis", "0,1"}}).find("one dimension, and 2"),
            std::string::npos);
  EXPECT_NE(refusal("cumsum", {{"input", "3,4"}, {"axis", "2"}}).find("has no dimension 2"),
            std::string::npos);
  EXPECT_NE(refusal("cummax", {{"input", "3,4"}, {"exclusive", "true"}}).find("exclusive"),
            std::string::npos);
}

}  // namespace
}  // namespace lathe::ops
