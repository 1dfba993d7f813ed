#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tuner/feature/feature.h"
#include "unit/feature/hand_nest.h"

namespace lathe::feature {
namespace {

// "1024 14 2 256 4": the size of the matrices, then the knobs p, v, kc, u.
std::string table_of(const std::string& numbers) {
  std::istringstream words(numbers);
  std::int64_t n = 0;
  words >> n;
  std::vector<std::int64_t> knobs(4);
  for (auto& knob : knobs) words >> knob;
  EXPECT_FALSE(words.fail()) << numbers;
  return context_table(ir::SizedNest(worked_example(n), knobs));
}

// Copies the page with the text of every "table" block as computed.
std::string rewritten(std::istream& in, int& tables) {
  const std::string fence = "```table ";
  std::string line, out;
  while (std::getline(in, line)) {
    out += line + "\n";
    if (!line.starts_with(fence)) continue;
    out += table_of(line.substr(fence.size())) + "```\n";
    ++tables;
    while (std::getline(in, line) && line != "```") continue;
  }
  return out;
}

// LATHE_REFRESH_DOCS=1 writes them anew.
TEST(ContextTable, OfTheWorkedExampleInTheDocuments) {
  std::ifstream in(LATHE_NEST_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  int tables = 0;
  const std::string computed = rewritten(page, tables);
  EXPECT_GE(tables, 2);
  if (std::getenv("LATHE_REFRESH_DOCS") != nullptr) {
    std::ofstream(LATHE_NEST_PAGE) << computed;
    return;
  }
  EXPECT_EQ(computed, page.str());
}

std::vector<std::vector<std::string>> cells(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word != "/") rows.back().push_back(word);
  }
  return rows;
}

// Worked out by hand, with the annotations; C, A, B in the order of slots.
TEST(ContextTable, WorkedExample) {
  const ir::Nest nest = worked_example();
  const auto rows = cells(context_table(ir::SizedNest(nest, kWorkedKnobs)));
  const std::vector<std::string> expected = {
      "ko serial 4 1 271581184 1048576 1036 0 1048576 1036 262144 1048576 1036 262144",
      "jo serial 32 4 8486912 1048576 259 32 262144 1036 0 262144 1036 32",
      "io serial 74 128 114688 32768 259 14336 262144 32.4 14 8192 1036 0",
      "ki serial 64 9472 1792 448 256 0 3584 32 4096 8192 14 4096",
      "ku unroll 4 606208 448 448 4 0 56 32 1024 128 14 1024",
      "ii unroll 14 2424832 32 448 1 1024 14 32 1 32 14 0",
      "jv unroll 2 33947648 16 32 1 16 1 32 0 32 1 16",
      "jl vectorize 16 67895296 1 16 1 1 1 16 0 16 1 1",
  };
  ASSERT_EQ(rows.size(), expected.size() + 1);
  for (std::size_t r = 0; r < expected.size(); ++r)
    EXPECT_EQ(rows[r + 1], cells(expected[r])[0]) << r;
  EXPECT_EQ(rows[0][0], "loop");
}

TEST(ContextTable, ColumnsLineUp) {
  const ir::Nest nest = worked_example(37);
  std::istringstream lines(context_table(ir::SizedNest(nest, kWorkedKnobs)));
  std::string first, other;
  std::getline(lines, first);
  while (std::getline(lines, other)) EXPECT_EQ(other.size(), first.size());
}

TEST(ContextTable, NothingToShow) {
  const ir::Nest nest;
  EXPECT_EQ(context_table(ir::SizedNest(nest, {})), "the program has no block\n");
}

}  // namespace
}  // namespace lathe::feature
