#include <limits>

#include <gtest/gtest.h>

#include "research/paper/findings.h"

namespace lathe::paper {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
using enum Outcome;

TEST(Findings, OfTwoSearchesOnASpace) {
  const std::vector<double> few = {10, 12, 11, 15, 13, 12, 14},
                            many = {100, 120, kNever, 90, kNever, 110, kNever};
  EXPECT_EQ(compare(few, many), kFewer);
  EXPECT_EQ(compare(many, few), kMore);
  EXPECT_EQ(compare(few, few), kSame);
  EXPECT_EQ(compare(std::vector(9, kNever), std::vector(9, kNever)), kUndecided);
  EXPECT_EQ(compare({1, 2, 3, 4}, many), kUndecided);
  EXPECT_EQ(compare(few, {}), kUndecided);
}

TEST(Findings, OfAllSpacesTogether) {
  EXPECT_EQ(judge(Expected::kFewer, {kFewer, kFewer, kSame}), Verdict::kHolds);
  EXPECT_EQ(judge(Expected::kFewer, {kFewer, kSame, kUndecided}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kFewer, {kFewer, kFewer, kMore}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kFewer, {kSame, kMore}), Verdict::kFails);
  EXPECT_EQ(judge(Expected::kFewer, {kFewer, kMore, kMore}), Verdict::kFails);
  EXPECT_EQ(judge(Expected::kNotMore, {kSame, kFewer}), Verdict::kHolds);
  EXPECT_EQ(judge(Expected::kNotMore, {kSame, kSame, kMore}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kNotMore, {kMore, kSame}), Verdict::kFails);
  EXPECT_EQ(judge(Expected::kSame, {kSame, kSame, kMore}), Verdict::kHolds);
  EXPECT_EQ(judge(Expected::kSame, {kSame, kFewer}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kSame, {kFewer}), Verdict::kFails);
  EXPECT_EQ(judge(Expected::kFewer, {kUndecided}), Verdict::kUndecided);
  // Of all spaces, not of those that are decided.
  EXPECT_EQ(judge(Expected::kFewer, {kFewer, kFewer, kUndecided, kUndecided}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kSame, {kSame, kSame, kUndecided, kUndecided}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kNotMore, {kMore, kUndecided, kSame}), Verdict::kInPart);
  EXPECT_EQ(judge(Expected::kFewer,
                  {kFewer, kFewer, kSame, kUndecided, kUndecided, kUndecided, kUndecided}),
            Verdict::kUndecided);
  EXPECT_EQ(judge(Expected::kNotMore, {kSame, kUndecided, kUndecided}), Verdict::kUndecided);
  EXPECT_EQ(judge(Expected::kFewer, {}), Verdict::kUndecided);
}

}  // namespace
}  // namespace lathe::paper
