// Every example of docs/expressions.md parses, and prints to a program that parses.
#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/documents.h"

namespace lathe::te {
namespace {

TEST(Docs, EveryExampleIsAProgram) {
  const auto all = examples_of(LATHE_EXPRESSIONS_DOC, "te");
  ASSERT_GE(all.size(), 9u);
  for (const std::string& text : all) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program) << text << program.error().text();
    const auto again = parse_program(print_program(*program));
    ASSERT_TRUE(again) << print_program(*program);
    EXPECT_TRUE(equal(*program, *again)) << text;
  }
}

}  // namespace
}  // namespace lathe::te
