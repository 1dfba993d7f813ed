#include "tuner/measure/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/interp/te_eval.h"
#include "compiler/te/parse.h"
#include "support/temporary_folder.h"
#include "tuner/measure/inputs.h"

namespace lathe::measure {
namespace {

const char* const kPrograms[] = {
    "A: f32[7, 5]; B: f32[7, 3]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "X: f32[1, 3, 5, 7]; W: f32[2, 3, 3, 3]; b: f32[2]\n"
    "Y[n,o,y:5,x:7] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]\nZ[n,o,y,x] = relu(Y[n,o,y,x] + b[o])",
    "X: f32[4, 9]; S[i] = max(k) X[i,k]; E[i,j] = exp(X[i,j] - S[i]); T[i] = sum(k) E[i,k]; Y[i,j] = E[i,j] / T[i]",
    "X: f32[11]; Y[i] = select(X[i] > 0.3, sqrt(abs(X[i])), tanh(X[i]) - 2)",
    "X: f16[6, 5]; Y[i] = sum(k) f32(X[i,k]) * f32(X[i,k])",
    "X: i8[6, 5]; Y[i] = sum(k) i32(X[i,k]) * i32(X[i,k])",
    "X: f32[5]; Y[i] = min(log(abs(X[i])), 3 * X[i])",
};

std::vector<interp::Tensor> as_inputs(const te::Program& program, const std::vector<std::vector<double>>& values) {
  std::vector<interp::Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const te::Tensor& tensor = program.tensors[program.inputs()[i]];
    inputs.push_back({tensor.dtype, tensor.shape, values[i], {}});
  }
  return inputs;
}

TEST(ReferenceProgram, ComputesTheProgramAndItsMagnitude) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    const auto program = te::parse_program(text);
    ASSERT_TRUE(program.has_value()) << program.error().text();
    const te::Program reference = reference_program(*program);
    const auto valid = te::validate(reference);
    ASSERT_TRUE(valid.has_value()) << valid.error().text() << te::print_program(reference);
    const auto parsed = te::parse_program(te::print_program(reference));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().text() << te::print_program(reference);
    EXPECT_TRUE(te::equal(*parsed, reference));

    const auto values = random_inputs(*program, 7);
    const auto want = interp::evaluate(*program, as_inputs(*program, values));
    const auto got = interp::evaluate(*parsed, as_inputs(*parsed, values));
    ASSERT_TRUE(want.has_value() && got.has_value());
    const auto names = reference_names(*program);
    const double factor = error_factor(*program);
    const auto output = [&](const std::string& name) -> const interp::Tensor& {
      for (std::size_t o = 0; o < parsed->outputs().size(); ++o)
        if (parsed->tensors[parsed->outputs()[o]].name == name) return (*got)[o];
      throw std::logic_error(name);
    };
    for (std::size_t o = 0; o < names.size(); ++o) {
      const auto& value = output(names[o].value);
      ASSERT_EQ(value.values.size(), (*want)[o].values.size());
      for (std::size_t i = 0; i < value.values.size(); ++i) {
        const double magnitude = names[o].magnitude.empty() ? 0 : output(names[o].magnitude).values[i];
        EXPECT_TRUE(std::isfinite(magnitude));
        // The oracle of the tests is right within this bound, and the bound is not absurd.
        EXPECT_NEAR((*want)[o].values[i], value.values[i], magnitude * factor);
        EXPECT_LE(magnitude, 1e4 * (1 + std::abs(value.values[i])));
      }
    }
  }
}

TEST(ReferenceProgram, MagnitudeOfASumOfProductsIsTheSumOfTheirSizes) {
  const auto program = te::parse_program(kPrograms[0]);
  const te::Program reference = reference_program(*program);
  const auto values = random_inputs(*program, 3);
  const auto got = interp::evaluate(reference, as_inputs(reference, values));
  ASSERT_TRUE(got.has_value());
  double size = 0;
  for (int k = 0; k < 7; ++k) size += std::abs(values[0][k * 5 + 2] * values[1][k * 3 + 1]);
  EXPECT_NEAR((*got)[1].values[2 * 3 + 1], size, 1e-12);
}

TEST(ReferenceProgram, IntegersAreExact) {
  const auto program = te::parse_program(kPrograms[5]);
  EXPECT_TRUE(reference_names(*program)[0].magnitude.empty());
  EXPECT_EQ(error_factor(*program), 0);
}

TEST(RandomInputs, AreNeverZeroAndFollowTheSeed) {
  const auto program = te::parse_program("X: f32[101]; Y: i8[53]; Z: u8[20]; H: f16[9]\nC[i:9] = X[i] + f32(Y[i]) + f32(Z[i]) + f32(H[i])");
  ASSERT_TRUE(program.has_value()) << program.error().text();
  const auto values = random_inputs(*program, 1);
  for (const auto& tensor : values)
    for (const double value : tensor) EXPECT_NE(value, 0);
  EXPECT_EQ(values, random_inputs(*program, 1));
  EXPECT_NE(values, random_inputs(*program, 2));
  EXPECT_EQ(static_cast<float>(values[0][5]), values[0][5]) << "representable in its type";
  const auto positive = te::parse_program("X: f32[101]; Y[i] = log(X[i])");
  const auto logarithms = random_inputs(*positive, 1);
  for (const double value : logarithms[0]) EXPECT_GT(value, 0);
}

class Cache : public testing::Test {
 protected:
  const test::TemporaryFolder parent_;
  const std::string folder_ = parent_.at("cache");  // which the cache makes
  ReferenceCache cache_{folder_};
  te::Program program_ = *te::parse_program(kPrograms[0]);
  Reference reference_{{std::vector<double>(15, 1.5)}, {std::vector<double>(15, 0.25)}};
};

TEST_F(Cache, KeepsAReferenceByWorkloadAndSeed) {
  EXPECT_FALSE(cache_.load(program_, 0).has_value());
  cache_.save(program_, 0, reference_);
  const auto back = cache_.load(program_, 0);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->values, reference_.values);
  EXPECT_EQ(back->bounds, reference_.bounds);
  EXPECT_FALSE(cache_.load(program_, 1).has_value());
  EXPECT_FALSE(cache_.load(*te::parse_program("A: f32[7, 5]; B: f32[7, 4]; C[i,j] = sum(k) A[k,i] * B[k,j]"), 0).has_value());
}

TEST_F(Cache, ADamagedFileIsAsGoodAsNone) {
  cache_.save(program_, 0, reference_);
  const auto file = std::filesystem::directory_iterator(folder_)->path();
  const auto size = std::filesystem::file_size(file);
  for (std::uintmax_t at = 0; at < size; at += 7) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(old ^ 0x10));
    stream.close();
    EXPECT_FALSE(cache_.load(program_, 0).has_value()) << at;
    std::fstream again(file, std::ios::in | std::ios::out | std::ios::binary);
    again.seekp(static_cast<std::streamoff>(at));
    again.put(old);
  }
  EXPECT_TRUE(cache_.load(program_, 0).has_value());
  std::filesystem::resize_file(file, size - 8);
  EXPECT_FALSE(cache_.load(program_, 0).has_value());
}

TEST_F(Cache, DashMeansNone) {
  const ReferenceCache none("-");
  none.save(program_, 0, reference_);
  EXPECT_FALSE(none.load(program_, 0).has_value());
}

}  // namespace
}  // namespace lathe::measure
