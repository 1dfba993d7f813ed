// Every example of docs/expressions.md parses, and prints to a program that parses.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

std::vector<std::string> examples() {
  std::ifstream file(LATHE_EXPRESSIONS_DOC);
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```te";
      if (inside) out.emplace_back();
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  return out;
}

TEST(Docs, EveryExampleIsAProgram) {
  const auto all = examples();
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
