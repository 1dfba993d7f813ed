#include "tuner/measure/reference.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/te/parse.h"
#include "support/temporary_folder.h"
#include "tuner/measure/inputs.h"

namespace lathe::measure {
namespace {

const char* const kMatmul = "A: f32[7, 5]; B: f32[7, 3]; C[i,j] = sum(k) A[k,i] * B[k,j]";

double largest_in(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(RandomInputs, FollowTheSeedAndAreNumbersOfTheirTypes) {
  const auto workload = te::parse_workload(
      "X: f32[101]; Y: i8[53]; Z: u8[20]; H: f16[9]\nC[i:9] = exp(X[i] + f32(Y[i]) + f32(Z[i]) + "
      "f32(H[i]))");
  ASSERT_TRUE(workload.has_value()) << workload.error().text();
  const auto values = random_inputs(*workload, 1);
  for (const auto& tensor : values)
    for (const double value : tensor) EXPECT_NE(value, 0);
  EXPECT_EQ(values, random_inputs(*workload, 1));
  EXPECT_NE(values, random_inputs(*workload, 2));
  EXPECT_EQ(static_cast<float>(values[0][5]), values[0][5]) << "representable in its type";
  const auto positive = te::parse_workload("X: f32[101]; Y[i] = log(X[i])");
  const auto logarithms = random_inputs(*positive, 1);
  for (const double value : logarithms[0]) EXPECT_GT(value, 0);
}

TEST(RandomInputs, OfSumsOfProductsDifferInSizeWhereOutputsShowIt) {
  const auto workload =
      te::parse_workload("A: f32[40,50]; B: f32[50,30]; C[i,j] = sum(k) A[i,k] * B[k,j]");
  const auto values = random_inputs(*workload, 3);
  std::vector<double> rows, columns(50);
  int zeros = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::vector<double> row(values[0].begin() + 50 * i, values[0].begin() + 50 * (i + 1));
    rows.push_back(largest_in(row));
    for (std::size_t k = 0; k < 50; ++k) {
      zeros += row[k] == 0;
      columns[k] = std::max(columns[k], std::abs(row[k]));
      EXPECT_EQ(static_cast<float>(row[k]), row[k]);
    }
  }
  std::ranges::sort(rows);
  EXPECT_EQ(rows[0], 0) << "an empty row";
  EXPECT_LT(rows[1], 1e-6);
  EXPECT_LT(rows[2], 1e-3);
  EXPECT_NEAR(rows[3], 64.0 / 1024, 0.002) << "a mean far above the spread";
  EXPECT_GT(rows[4], 0.5);
  EXPECT_LE(rows[39], 1) << "nothing is so large that it hides the others";
  EXPECT_GT(zeros, 50);
  // Along the terms of a sum a large one would hide the errors of the others.
  EXPECT_GT(*std::ranges::min_element(columns), 0.5);
  // Functions and comparisons see ordinary numbers.
  for (const char* text :
       {"A: f32[40]; B[i] = exp(A[i])", "A: f32[40]; B[i] = select(A[i] < 0, A[i], 2)",
        "A: f32[40]; B[i] = A[i] * A[i] * A[i] * A[i]", "A: f32[40]; B[i] = f16(A[i])",
        "A: f32[9,40]; B[i] = prod(j) A[i,j]", "A: f32[40]; B[i] = 1 / A[i]"}) {
    const auto ordinary = random_inputs(*te::parse_workload(text), 3);
    for (const double value : ordinary[0]) {
      EXPECT_LE(std::abs(value), 1) << text;
      EXPECT_GE(std::abs(value), 0.125) << text;
    }
  }
}

TEST(RandomInputs, LieInTheRangeThatIsStated) {
  const auto workload = te::parse_workload(
      "X: f32[999] in 2..3; Y: i8[999] in -3..0; H: f16[999] in 0.1..0.2; S: f32[9] in 5..5\n"
      "C[i] = X[i] * f32(Y[i]) * f32(H[i]) * S[0]");
  ASSERT_TRUE(workload.has_value()) << workload.error().text();
  const auto values = random_inputs(*workload, 1);
  for (std::size_t t = 0; t < values.size(); ++t) {
    const auto [low, high] = *workload->tensors[t].range;
    const auto [least, most] = std::ranges::minmax(values[t]);
    EXPECT_EQ(least, low) << t;
    EXPECT_EQ(most, high) << t;
  }
  for (const double value : values[1]) EXPECT_EQ(value, std::round(value));
}

TEST(Reference, LeavesAlgorithmsThatMixMatricesRoomWhereTheyAreAllowed) {
  const Reference exact{{{1, -4, 0.5}}, {{1e-9, 1e-9, 1}}};
  const auto bounds = [&](const std::string& text) {
    return with_room_for_algorithms(*te::parse_workload(text), exact).bounds[0];
  };
  const std::string product = "A: f32[128,128]; B: f32[128,128]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  for (const char* level : {"", "numerics local; ", "numerics componentwise; "})
    EXPECT_EQ(bounds(level + product), exact.bounds[0]) << level;
  for (const char* level : {"numerics normwise; ", "algorithm strassen; "}) {
    const auto wide = bounds(level + product + "; max_error 1e-4");
    EXPECT_DOUBLE_EQ(wide[0], 8 * 1e-4 * 4);
    EXPECT_EQ(wide[2], 1);
  }
}

class Cache : public testing::Test {
 protected:
  const test::TemporaryFolder parent_;
  const std::string folder_ = parent_.at("cache");  // which the cache makes
  ReferenceCache cache_{folder_};
  te::Workload workload_ = *te::parse_workload(kMatmul);
  Reference reference_{{std::vector<double>(15, 1.5)}, {std::vector<double>(15, 0.25)}};
};

TEST_F(Cache, KeepsAReferenceByWorkloadAndSeed) {
  EXPECT_FALSE(cache_.load(workload_, 0).has_value());
  cache_.save(workload_, 0, reference_);
  const auto back = cache_.load(workload_, 0);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->values, reference_.values);
  EXPECT_EQ(back->bounds, reference_.bounds);
  EXPECT_FALSE(cache_.load(workload_, 1).has_value());
  EXPECT_FALSE(
      cache_
          .load(*te::parse_workload("A: f32[7, 5]; B: f32[7, 4]; C[i,j] = sum(k) A[k,i] * B[k,j]"),
                0)
          .has_value());
}

TEST_F(Cache, ADamagedFileIsAsGoodAsNone) {
  cache_.save(workload_, 0, reference_);
  const auto file = std::filesystem::directory_iterator(folder_)->path();
  const auto size = std::filesystem::file_size(file);
  for (std::uintmax_t at = 0; at < size; at += 7) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(old ^ 0x10));
    stream.close();
    EXPECT_FALSE(cache_.load(workload_, 0).has_value()) << at;
    std::fstream again(file, std::ios::in | std::ios::out | std::ios::binary);
    again.seekp(static_cast<std::streamoff>(at));
    again.put(old);
  }
  EXPECT_TRUE(cache_.load(workload_, 0).has_value());
  std::filesystem::resize_file(file, size - 8);
  EXPECT_FALSE(cache_.load(workload_, 0).has_value());
}

TEST_F(Cache, OfSomebodyElseIsNone) {
  cache_.save(workload_, 0, reference_);
  EXPECT_TRUE(ReferenceCache(folder_).load(workload_, 0).has_value());
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(ReferenceCache(folder_).load(workload_, 0).has_value()) << "others may write to it";
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  if (::geteuid() != 0) return;  // only root gives files away
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(ReferenceCache(folder_).load(workload_, 0).has_value());
}

TEST_F(Cache, DashMeansNone) {
  const ReferenceCache none("-");
  none.save(workload_, 0, reference_);
  EXPECT_FALSE(none.load(workload_, 0).has_value());
}

}  // namespace
}  // namespace lathe::measure
