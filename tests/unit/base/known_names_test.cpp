#include "base/known_names.h"

#include <gtest/gtest.h>

#include "base/dtype.h"

namespace lathe {
namespace {

TEST(KnownNames, AreListedWithTheOneThatIsMeant) {
  const std::vector<std::string> names = {"conv1d", "conv2d", "matmul"};
  EXPECT_EQ(known_names(names, "matmull"), "conv1d, conv2d, matmul; did you mean matmul?");
  EXPECT_EQ(known_names(names, "frobnicate"), "conv1d, conv2d, matmul");
  EXPECT_EQ(known_names("conv1d, conv2d, matmul", "Conv2D"),
            "conv1d, conv2d, matmul; did you mean conv2d?");
  EXPECT_EQ(known_names(std::vector<std::string>{}, "x"), "none");
  EXPECT_EQ(known_names("", "x"), "");
}

TEST(KnownNames, OfTheSameDistanceTheOneOfTheSameLengthIsMeant) {
  EXPECT_EQ(did_you_mean({"C1", "C10", "C12"}, "C13"), "; did you mean C10?");
  EXPECT_EQ(did_you_mean({"conv1d", "conv2d"}, "conv2"), "; did you mean conv2d?");
}

TEST(KnownNames, ShortOnesAreTakenForSlipsOnlyWhereTheyAreClose) {
  EXPECT_EQ(did_you_mean({"mean", "ei", "ucb"}, "luck"), "");
  EXPECT_EQ(did_you_mean({"f32", "f64"}, "f99"), "");
  EXPECT_EQ(did_you_mean({"b"}, "B"), "; did you mean b?");
  EXPECT_EQ(did_you_mean({"b"}, "a"), "");
  EXPECT_EQ(did_you_mean({"b"}, ""), "");
}

TEST(KnownNames, LongOnesAreNotCompared) {
  const std::string long_name(100, 'a');
  EXPECT_EQ(did_you_mean({long_name}, long_name + "b"), "");
  std::vector<std::string> many(41, "n");
  EXPECT_TRUE(known_names(many, "quite another").ends_with("n, n, ..."));
}

TEST(KnownNames, OfTypesAreKnownAsOthersSpellThem) {
  EXPECT_EQ(known_dtypes("float32"), std::string(known_dtypes()) + "; did you mean f32?");
  for (const auto& [theirs, ours] : {std::pair("double", "f64"),
                                     {"half", "f16"},
                                     {"bfloat16", "bf16"},
                                     {"uint8", "u8"},
                                     {"int64", "i64"},
                                     {"F32", "f32"}})
    EXPECT_TRUE(known_dtypes(theirs).ends_with(std::string("; did you mean ") + ours + "?"))
        << theirs;
  EXPECT_EQ(known_dtypes("complex"), known_dtypes());
}

}  // namespace
}  // namespace lathe
