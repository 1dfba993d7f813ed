// Which workloads are related, and so teach models about each other.
#include "tuner/learn/relation.h"

#include <gtest/gtest.h>

#include "tuner/learn/global.h"

namespace lathe::learn {
namespace {

std::string conv(int channels, int image, int stride) {
  const std::string at = stride == 1 ? "" : std::to_string(stride) + "*";
  const int out = image / stride;
  return fmt::format(
      "X: f32[1,{0},{1},{1}]; const W: f32[16,{0},3,3]; output Y: f32[1,16,{2},{2}]; "
      "Y[n:1,o:16,y:{2},x:{2}] = sum(c:{0},r:3,s:3) X[n,c,{3}y+r-1,{3}x+s-1 else 0] * W[o,c,r,s]",
      channels, image, out, at);
}
const std::string kProduct = "A: f32[37,53]; B: f32[53,14]; C[i,j] = sum(k) A[i,k] * B[k,j]";
const std::string kSum = "X: f32[37,53]; S[i] = sum(j) X[i,j]";
const std::string kScaled = "X: f32[37,53]; S[i] = sum(j) 3 * X[i,j]";
const std::string kMap = "X: f32[14,14]; Y[i,j] = X[i,j] * X[i,j]";

bool related(const std::string& a, const std::string& b, Relation relation) {
  return relatives_of(a, relation) == relatives_of(b, relation);
}

TEST(Relations, OperatorsDifferInNumbersAlone) {
  using enum Relation;
  EXPECT_TRUE(related(conv(8, 14, 1), conv(64, 28, 1), kOperator));
  EXPECT_FALSE(related(conv(8, 14, 1), conv(8, 28, 2), kOperator));
  EXPECT_FALSE(related(kProduct, kSum, kOperator));
}

TEST(Relations, ImagesAreTheLastExtentsOfTheOutput) {
  using enum Relation;
  EXPECT_TRUE(related(conv(8, 14, 1), conv(8, 28, 2), kImage));
  EXPECT_TRUE(related(conv(8, 14, 1), kMap, kImage));
  EXPECT_FALSE(related(conv(8, 14, 1), conv(8, 28, 1), kImage));
  EXPECT_TRUE(related(kSum, kScaled, kImage)) << "one extent is all that there is";
}

TEST(Relations, FamiliesAreProductsReductionsAndMaps) {
  using enum Relation;
  EXPECT_EQ(relatives_of(kProduct, kFamily), kProducts);
  EXPECT_TRUE(related(kProduct, conv(8, 14, 2), kFamily));
  EXPECT_TRUE(related(kSum, kScaled, kFamily));
  EXPECT_FALSE(related(kSum, kProduct, kFamily));
  EXPECT_FALSE(related(kMap, kProduct, kFamily)) << "it has no sum";
  EXPECT_FALSE(related(kMap, kSum, kFamily));
}

TEST(Relations, WhatIsNoWorkloadIsRelatedToItselfAlone) {
  using enum Relation;
  for (const Relation relation : {kOperator, kImage, kFamily}) {
    EXPECT_TRUE(related("frob", "frob", relation));
    EXPECT_FALSE(related("frob", "nothing", relation));
    EXPECT_FALSE(related("frob", kMap, relation));
  }
}

TEST(Relations, HaveNames) {
  for (const std::string& name : known_relations()) EXPECT_TRUE(relation_named(name)) << name;
  EXPECT_EQ(
      relation_named("familiy").error().message,
      "unknown relation \"familiy\"; known are operator, image, family; did you mean family?");
}

TEST(Relations, OnCardsAllProductsTeachEachOther) {
  const model::TargetClass card{model::CudaClass{90}}, cpu{model::CpuClass{Isa::kX86, 256}};
  EXPECT_EQ(teaching_relation(kProduct, card), Relation::kFamily);
  EXPECT_EQ(teaching_relation(kSum, card), Relation::kOperator);
  EXPECT_EQ(teaching_relation(kProduct, cpu), Relation::kOperator);
}

}  // namespace
}  // namespace lathe::learn
