#include "api/report/failures.h"

#include <gtest/gtest.h>

namespace lathe::report {
namespace {

store::Record failure(const std::string& kind, const std::string& message,
                      const std::string& place = "runner") {
  store::Record record;
  record.error_kind = kind;
  record.error_message = message;
  record.error_place = place;
  return record;
}

TEST(Failures, MostFrequentFirst) {
  FailureTable table;
  for (int i = 0; i < 3; ++i)
    table.add(failure("timeout", "took longer than 5 s", i == 0 ? "first" : "later"));
  for (int i = 0; i < 2; ++i) table.add(failure("run", "killed by signal 11"));
  for (int i = 0; i < 9; ++i) table.add(failure("run", "illegal instruction"));
  const auto failures = table.summary();
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].kind, "run");
  EXPECT_EQ(failures[0].count, 11);
  ASSERT_EQ(failures[0].reasons.size(), 2U);
  EXPECT_EQ(failures[0].reasons[0].message, "illegal instruction");
  EXPECT_EQ(failures[0].reasons[0].count, 9);
  EXPECT_EQ(failures[1].reasons[0].place, "first");
}

TEST(Failures, ReasonsWithoutEnd) {
  FailureTable table;
  for (int i = 0; i < 5000; ++i)
    table.add(failure("build", "no register for value " + std::to_string(i)));
  table.add(failure("build", "no register for value 7"));
  const auto failures = table.summary();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].count, 5001);
  EXPECT_EQ(failures[0].reasons.size(), 5U);
  EXPECT_EQ(failures[0].reasons[0].message, "no register for value 7");
}

}  // namespace
}  // namespace lathe::report
