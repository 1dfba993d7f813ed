// Every example of docs/expressions.md parses, and prints to a program that parses.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/documents.h"

namespace lathe::te {
namespace {

TEST(Docs, EveryExampleIsAWorkload) {
  const auto all = examples_of(LATHE_EXPRESSIONS_DOC, "te");
  ASSERT_GE(all.size(), 9u);
  for (const std::string& text : all) {
    const auto workload = parse_workload(text);
    ASSERT_TRUE(workload) << text << workload.error().text();
    const auto again = parse_workload(print_workload(*workload));
    ASSERT_TRUE(again) << print_workload(*workload);
    EXPECT_TRUE(equal(*workload, *again)) << text;
  }
}

}  // namespace
}  // namespace lathe::te
