#include "tuner/measure/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/te/parse.h"
#include "support/temporary_folder.h"
#include "tuner/measure/inputs.h"

namespace lathe::measure {
namespace {

const char* const kMatmul = "A: f32[7, 5]; B: f32[7, 3]; C[i,j] = sum(k) A[k,i] * B[k,j]";

TEST(RandomInputs, AreNeverZeroAndFollowTheSeed) {
  const auto workload = te::parse_workload(
      "X: f32[101]; Y: i8[53]; Z: u8[20]; H: f16[9]\nC[i:9] = X[i] + f32(Y[i]) + f32(Z[i]) + "
      "f32(H[i])");
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

TEST(Reference, LeavesAlgorithmsRoomWhereTheyMayBe) {
  const Reference exact{{{1, -4, 0.5}}, {{1e-9, 1e-9, 1}}};
  const auto bounds = [&](const char* text) {
    return with_room_for_algorithms(*te::parse_workload(text), exact).bounds[0];
  };
  EXPECT_EQ(bounds("A: f32[2]; B: f32[2,3]; C[j] = sum(k) A[k] * B[k,j]"), exact.bounds[0]);
  const auto wide = bounds("X: f32[4]; W: f32[2]; Y[i] = sum(r) X[i+r] * W[r]; max_error 1e-4");
  EXPECT_DOUBLE_EQ(wide[0], 8 * 1e-4 * 4);
  // Large products of computed operands, and what is demanded.
  const std::string of_inputs = "A: f32[128,128]; B: f32[128,128]; C[i,j] = sum(k) A[i,k] * B[k,j]";
  EXPECT_EQ(bounds(of_inputs.c_str()), exact.bounds[0]);
  EXPECT_GT(bounds(("algorithm strassen; " + of_inputs).c_str())[0], 1e-9);
  EXPECT_GT(bounds("A: f32[128,128]; B: f32[128,128]; T[i,k] = exp(A[i,k])\n"
                   "C[i,j] = sum(k) T[i,k] * B[k,j]")[0],
            1e-9);
  EXPECT_EQ(wide[2], 1);
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

TEST_F(Cache, DashMeansNone) {
  const ReferenceCache none("-");
  none.save(workload_, 0, reference_);
  EXPECT_FALSE(none.load(workload_, 0).has_value());
}

}  // namespace
}  // namespace lathe::measure
