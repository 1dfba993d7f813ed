// The place of an extreme is looked for in one part of the elements: it stays the same, also of
// equal elements, infinities and NaN.
#include <gtest/gtest.h>

#include "support/special_values.h"
#include "unit/schedule/same.h"

namespace lathe::schedule {
namespace {

// Cuts the extreme's loop `k` in parts, and finds the place in one of them.
Trace located(const std::string& place, const std::string& extreme, std::int64_t length, int dim) {
  return {Split{extreme + ".k", length, extreme + ".p", extreme + ".e", ir::Tail::kPeel},
          Rfactor{extreme, extreme + ".p", extreme + ".parts", dim},
          Locate{place, extreme, place + ".part"}};
}

// Few different numbers, so that most are there several times.
std::vector<interp::Tensor> alike_inputs(const te::Workload& workload, Rng& rng) {
  auto inputs = special_inputs(workload, rng);
  for (auto& input : inputs)
    for (double& value : input.values)
      if (rng.chance(0.7)) value = static_cast<double>(rng.between(0, 2));
  return inputs;
}

void expect_same_places(const te::Workload& workload, const ir::Nest& nest) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const auto inputs = seed % 2 == 0 ? special_inputs(workload, rng) : alike_inputs(workload, rng);
    const auto want = interp::evaluate(workload, inputs);
    ASSERT_TRUE(want) << want.error().text();
    const auto got = interp::evaluate(ir::SizedNest(nest, {}), inputs);
    ASSERT_TRUE(got) << got.error().text();
    for (std::size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(interp::compare((*want)[i], (*got)[i].values), "") << "seed " << seed << "\n"
                                                                   << ir::print(nest);
  }
}

struct LocatedCase {
  const char* name;
  std::string_view text;
  std::string place, extreme;
};

const LocatedCase kLocated[] = {
    {"argmax",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\n"
     "Y[i] = min(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 23)",
     "Y_acc", "M"},
    {"argmin",
     "X: f32[3,23]\nM[i] = min(k) X[i,k]\n"
     "Y[i] = min(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 23)",
     "Y_acc", "M"},
    {"without_nan",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\nY[i] = min(k) select(X[i,k] == M[i], k, 23)", "Y_acc",
     "M"},
    {"last",
     "X: f32[3,23]\nM[i] = max(k) X[i,k]\n"
     "Y[i] = max(k) select(X[i,k] == M[i] || X[i,k] != X[i,k], k, 0)",
     "Y_acc", "M"},
    {"integers", "X: i32[3,23]\nM[i] = min(k) X[i,k]\nY[i] = min(k) select(M[i] == X[i,k], k, 60)",
     "Y_acc", "M"},
    {"columns",
     "X: f32[23,5]\nM[j] = max(k) X[k,j]\n"
     "Y[j] = min(k) select(X[k,j] == M[j] || X[k,j] != X[k,j], k, 23)",
     "Y_acc", "M"},
    {"two_rows",
     "X: f32[2,3,23]\nM[h,i] = max(k) X[h,i,k]\nY[h,i] = min(k) select(X[h,i,k] == M[h,i], k, 23)",
     "Y_acc", "M"},
    {"all", "X: f32[23]\nM[o:1] = max(k) X[k]\nY[o:1] = min(k) select(X[k] == M[0], k, 23)",
     "Y_acc", "M"},
    {"of_an_expression",
     "X: f32[3,23]; Z: f32[23]\nM[i] = max(k) X[i,k] * Z[k]\n"
     "Y[i] = min(k) select(X[i,k] * Z[k] == M[i], k, 23)",
     "Y_acc", "M"},
};

class Located : public ::testing::TestWithParam<LocatedCase> {};
TEST_P(Located, FindsTheSamePlace) {
  const LocatedCase& c = GetParam();
  for (const std::int64_t length : {2, 5, 8, 11, 22, 23})
    for (const int dim : {0, -1}) {
      SCOPED_TRACE(fmt::format("parts of {}, dimension {}", length, dim));
      ir::Nest nest = nest_of(c.text);
      must_apply(nest, located(c.place, c.extreme, length, dim));
      expect_same(program(c.text), nest);
      expect_same_places(program(c.text), nest);
    }
}
INSTANTIATE_TEST_SUITE_P(Places, Located, ::testing::ValuesIn(kLocated),
                         [](const auto& info) { return info.param.name; });

TEST(Locate, RefusesOtherReductions) {
  const auto refused = [](const std::string& last) {
    return refusal("X: f32[3,23]\nM[i] = max(k) X[i,k]\n" + last, located("Y_acc", "M", 8, 0));
  };
  // Of other elements, backwards, with a number that may be better, and of all dimensions.
  EXPECT_EQ(refused("Y[i] = min(k) select(X[i,k] + 1 == M[i], k, 23)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("Y[i] = min(k) select(X[i,k] == M[i], 22 - k, 23)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("Y[i] = min(k) select(X[i,k] == M[i], k, 21)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("Y[i] = max(k) select(X[i,k] == M[i], k, 23)"), Refusal::kNotAnExtreme);
  EXPECT_EQ(refused("Y[o:1] = min(i,k) select(X[i,k] == M[i], 23*i + k, 69)"),
            Refusal::kOtherParts);
}

TEST(Locate, RefusesAnExtremeWithoutParts) {
  EXPECT_EQ(refusal("X: f32[3,23]\nM[i] = max(k) X[i,k]\n"
                    "Y[i] = min(k) select(X[i,k] == M[i], k, 23)",
                    {Locate{"Y_acc", "M", "P"}}),
            Refusal::kNoParts);
}

}  // namespace
}  // namespace lathe::schedule
