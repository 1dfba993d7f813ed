// What the documents show, at more sizes than they show it: every example of docs/expressions.md
// and every command of docs/operators.md, and every named operator on awkward shapes has a space of
// right programs.
#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/ops/operators.h"
#include "compiler/te/parse.h"
#include "compiler/te/permute.h"
#include "support/documents.h"
#include "support/targets.h"
#include "unit/space/check_space.h"
#include "unit/space/operator_shapes.h"

namespace lathe::space {
namespace {

using test::avx512, test::sse;
using Replacements = std::vector<std::pair<const char*, const char*>>;  // of whole numbers

std::string with(std::string text, const Replacements& replacements) {
  // Two passes, so that what one number becomes is not taken for another.
  for (std::size_t i = 0; i < replacements.size(); ++i)
    text = std::regex_replace(text, std::regex(fmt::format(R"(\b{}\b)", replacements[i].first)),
                              fmt::format("@{}@", i));
  for (std::size_t i = 0; i < replacements.size(); ++i)
    text = std::regex_replace(text, std::regex(fmt::format("@{}@", i)), replacements[i].second);
  return text;
}

// An example by its first words, with sizes that the interpreter can do.
struct Sizes {
  const char* begins;
  std::vector<Replacements> sizes;
};
const std::vector<Sizes>& sizes_of_examples() {
  static const std::vector<Sizes> all = {
      {"A: f32[1024,1024]", {{{"1024", "37"}}, {{"1024", "64"}}, {{"1024", "1"}}}},
      {"X: f32[1,64,56,56]",
       {{{"64", "5"}, {"56", "14"}, {"128", "19"}, {"28", "7"}},
        {{"64", "16"}, {"56", "10"}, {"128", "32"}, {"28", "5"}},
        {{"64", "3"}, {"56", "2"}, {"128", "1"}, {"28", "1"}}}},
      {"X: f32[32]; w: f32[5]", {{}, {{"32", "41"}, {"5", "3"}}, {{"32", "9"}}}},
      {"X: f32[66,130]",
       {{{"66", "19"}, {"130", "37"}}, {{"66", "3"}, {"130", "3"}}, {{"66", "12"}, {"130", "18"}}}},
      {"C[i:64,j:96]",
       {{{"64", "13"}, {"96", "7"}, {"128", "31"}},
        {{"64", "16"}, {"96", "33"}, {"128", "5"}},
        {{"64", "1"}, {"96", "1"}, {"128", "1"}}}},
      {"X: f32[8,512]",
       {{{"8", "3"}, {"512", "37"}, {"1000", "29"}},
        {{"8", "5"}, {"512", "64"}, {"1000", "48"}},
        {{"8", "1"}, {"512", "1"}, {"1000", "1"}}}},
      {"X: f32[16,100]", {{}, {{"16", "7"}, {"100", "67"}}, {{"16", "1"}, {"100", "1"}}}},
      {"X: f32[40,500]",
       {{{"40", "7"}, {"500", "61"}}, {{"40", "33"}, {"500", "16"}}, {{"40", "1"}, {"500", "1"}}}},
      {"X: f32[35,4,64]",
       {{{"35", "5"}, {"4", "3"}, {"64", "19"}},
        {{"35", "3"}, {"4", "2"}, {"64", "48"}},
        {{"35", "1"}, {"4", "1"}, {"64", "1"}}}},
      {"X: f32[500,64]",
       {{{"500", "37"}, {"64", "19"}}, {{"500", "16"}, {"64", "1"}}, {{"500", "1"}, {"64", "33"}}}},
      {"X: f32[1000]", {{}, {{"1000", "13"}}, {{"1000", "70001"}}}},
      {"X: f32[128,2,32]",
       {{{"128", "13"}, {"32", "7"}}, {{"128", "5"}, {"32", "16"}}, {{"128", "1"}}}},
      {"P: u8[64,32]", {{{"64", "13"}, {"32", "7"}}, {{"64", "5"}, {"32", "33"}}, {{"32", "1"}}}},
      {"A: f32[64,256]",
       {{{"64", "13"}, {"256", "31"}, {"32", "19"}},
        {{"64", "5"}, {"256", "48"}, {"32", "33"}},
        {{"64", "1"}, {"256", "1"}, {"32", "1"}}}},
      {"T: f32[1000,64]",
       {{{"1000", "37"}, {"999", "36"}, {"64", "19"}, {"20", "7"}},
        {{"64", "48"}},
        {{"1000", "1"}, {"999", "0"}, {"64", "1"}, {"20", "1"}}}},
      {"X: f32[3,32,32]",
       {{{"32", "8"}, {"48", "12"}, {"34", "10"}, {"31", "7"}},
        {{"32", "18"}, {"48", "27"}, {"34", "20"}, {"31", "17"}},
        {{"32", "2"}, {"48", "3"}, {"34", "4"}, {"31", "1"}}}},
      {"X: f32[8,35,35]",
       {{{"8", "3"}, {"500", "37"}, {"16", "5"}, {"40", "9"}},
        {{"8", "2"}, {"500", "5"}, {"16", "33"}, {"40", "17"}},
        {{"8", "1"}, {"500", "1"}, {"16", "1"}, {"40", "1"}}}},
      {"X: f32[8,16]", {{}, {{"8", "3"}, {"16", "19"}}, {{"8", "1"}, {"16", "1"}}}},
      {"A: f16[64,64]", {{{"64", "13"}}, {{"64", "32"}}, {{"64", "1"}}}},
      {"X: f32[1,20,9,9]", {{}, {{"20", "12"}, {"5", "3"}}, {{"9", "4"}, {"7", "2"}}}},
      {"A: f32[64,64]", {{{"64", "17"}}, {{"64", "32"}}, {{"64", "1"}}}},
      {"X: f32[1,16,14,14]",
       {{{"16", "5"}, {"14", "9"}, {"32", "19"}},
        {{"16", "3"}, {"14", "6"}},
        {{"16", "1"}, {"14", "3"}, {"32", "1"}}}},
      {"A: f32[300]", {{}, {{"300", "37"}}, {{"300", "1"}}}},
  };
  return all;
}

void check(const te::Workload& workload, std::uint64_t seed) {
  const Target target = seed % 3 == 0 ? sse(1) : avx512(seed % 3 == 1 ? 1 : 2);
  check_space(workload, target, Flavour::kDefault,
              static_cast<int>(asked("LATHE_RANDOM_CONFIGS", 5)), seed);
}

TEST(Documents, EveryExampleAtThreeSizes) {
  std::uint64_t seed = 0;
  for (const std::string& text : examples_of(LATHE_EXPRESSIONS_DOC, "te")) {
    const auto found = std::ranges::find_if(
        sizes_of_examples(), [&](const Sizes& s) { return text.starts_with(s.begins); });
    ASSERT_NE(found, sizes_of_examples().end()) << "give this example three sizes:\n" << text;
    ASSERT_GE(found->sizes.size(), 3u);
    for (const Replacements& replacements : found->sizes) {
      const std::string example = with(text, replacements);
      const auto workload = te::parse_workload(example);
      ASSERT_TRUE(workload) << example << workload.error().text();
      check(*workload, ++seed);
    }
  }
}

// [n,h,w,c] of [n,c,h,w].
void put_channels_last(te::Workload& workload, int tensor) {
  const te::Tensor& own = workload.tensors[static_cast<std::size_t>(tensor)];
  std::vector<int> order(own.shape_at_border().size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  te::permute_dims(workload, tensor, te::order_inside(own, order));
}

TEST(Documents, ImagesMayLieChannelsLast) {
  for (const char* name : {"conv1d", "conv2d", "conv3d", "conv_transpose2d", "max_pool2d",
                           "avg_pool1d", "avg_pool2d"}) {
    const auto op = ops::find_operator(name);
    ASSERT_TRUE(op);
    const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0);
    for (std::uint64_t seed = first; seed < first + 12; ++seed) {
      auto algorithms = ops::build(*op, awkward_arguments(*op, seed), te::Numerics::kLocal);
      ASSERT_TRUE(algorithms) << name << algorithms.error().text();
      for (ops::Algorithm& algorithm : *algorithms) {
        te::Workload& workload = algorithm.workload;
        if (seed % 4 != 1) put_channels_last(workload, workload.inputs()[0]);
        if (seed % 4 != 2) {
          const auto rank =
              workload.tensors[static_cast<std::size_t>(workload.outputs()[0])].shape.size();
          for (int t = 0; t < static_cast<int>(workload.tensors.size()); ++t)
            if (workload.writer(t) != nullptr &&
                workload.tensors[static_cast<std::size_t>(t)].shape.size() == rank)
              put_channels_last(workload, t);
        }
        check(workload, seed);
      }
    }
  }
}

TEST(Documents, WindowsOverEachOfManyChannelsThatLieLast) {
  for (const char* text : {"X: f32[1,5,7,64]; const W: f32[64,1,3,3]; Y[n:1,y:5,x:7,c:64] = "
                           "sum(r,s) X[n,y+r-1,x+s-1,c else 0] * W[c,0,r,s]",
                           "X: f32[2,9,6,100]; const W: f32[100,5,5]; Y[n:2,y:5,x:3,c:100] = "
                           "sum(r,s) X[n,2*y+r-2,2*x+s-2,c else 0] * W[c,r,s]",
                           "X: f32[1,11,512]; const W: f32[512,3]; Y[n:1,x:11,c:512] = "
                           "sum(s) X[n,x+s-1,c else 0] * W[c,s]"})
    for (std::uint64_t seed = 0; seed < 3; ++seed) check(parsed(text), seed);
}

TEST(Documents, EveryOperatorAtTwentyAwkwardShapes) {
  const std::uint64_t first = asked("LATHE_RANDOM_FIRST", 0);
  for (const ops::Operator& op : ops::operators()) {
    for (std::uint64_t seed = first; seed < first + 20; ++seed) {
      const ops::Arguments arguments = awkward_arguments(op, seed);
      const auto level = seed % 3 == 2 ? te::Numerics::kComponentwise : te::Numerics::kLocal;
      auto algorithms = ops::build(op, arguments, level);
      ASSERT_TRUE(algorithms) << op.name << fmt::format(" {}: ", arguments)
                              << algorithms.error().text();
      for (ops::Algorithm& algorithm : *algorithms) {
        algorithm.workload.contract.free_layout = seed % 2 == 1;
        algorithm.workload.contract.numerics = level;
        check(algorithm.workload, seed);
      }
    }
  }
}

// The argument that each number of a command of docs/operators.md becomes: sizes that the
// interpreter can do.
const std::map<std::string, std::vector<Replacements>>& sizes_of_commands() {
  static const std::map<std::string, std::vector<Replacements>> all = {
      {"matmul",
       {{{"384", "13"}, {"200", "17"}, {"512", "31"}}, {{"384", "1"}, {"200", "1"}, {"512", "5"}}}},
      {"dense", {{{"512", "37"}, {"1000", "29"}}, {{"8", "1"}, {"512", "16"}, {"1000", "1"}}}},
      {"batch_matmul",
       {{{"12", "3"}, {"128", "11"}, {"64", "7"}}, {{"12", "1"}, {"128", "16"}, {"64", "1"}}}},
      {"einsum", {{{"8", "3"}}, {{"8", "5"}}}},
      {"conv1d", {{{"64", "5"}, {"500", "37"}}, {{"64", "16"}, {"500", "3"}}}},
      {"conv2d", {{{"64", "5"}, {"28", "9"}}, {{"64", "16"}, {"28", "3"}}}},
      {"conv3d", {{{"16", "5"}, {"8", "4"}, {"28", "5"}}, {{"16", "2"}, {"8", "3"}, {"28", "7"}}}},
      {"conv_transpose1d",
       {{{"64", "5"}, {"32", "3"}, {"100", "13"}}, {{"32", "17"}, {"100", "1"}}}},
      {"conv_transpose2d", {{{"64", "5"}, {"32", "3"}, {"14", "5"}}, {{"64", "16"}, {"14", "3"}}}},
      {"conv_transpose3d",
       {{{"16", "3"}, {"8", "3"}, {"14", "4"}}, {{"16", "5"}, {"8", "2"}, {"14", "1"}}}},
      {"max_pool1d", {{{"64", "5"}, {"500", "37"}}, {{"64", "16"}, {"500", "4"}}}},
      {"max_pool3d", {{{"16", "3"}, {"28", "6"}}, {{"16", "5"}, {"8", "5"}, {"28", "3"}}}},
      {"avg_pool1d", {{{"64", "5"}, {"500", "37"}}, {{"64", "16"}, {"500", "4"}}}},
      {"avg_pool3d", {{{"16", "3"}, {"28", "6"}}, {{"16", "5"}, {"8", "5"}, {"28", "3"}}}},
      {"max_pool2d", {{{"64", "5"}, {"56", "11"}}, {{"64", "16"}, {"56", "4"}}}},
      {"avg_pool2d", {{{"64", "5"}, {"28", "11"}}, {{"64", "16"}, {"28", "4"}}}},
      {"global_avg_pool", {{{"512", "17"}}, {{"512", "3"}, {"7", "1"}}}},
      {"adaptive_avg_pool2d",
       {{{"64", "5"}, {"35", "11"}, {"37", "13"}, {"6", "4"}},
        {{"64", "16"}, {"35", "7"}, {"37", "8"}, {"6", "3"}}}},
      {"adaptive_max_pool2d",
       {{{"64", "5"}, {"35", "11"}, {"37", "13"}, {"6", "4"}},
        {{"64", "16"}, {"35", "2"}, {"37", "3"}, {"6", "5"}}}},
      {"resize",
       {{{"64", "5"}, {"28", "7"}, {"56", "9"}, {"100", "11"}},
        {{"64", "3"}, {"28", "2"}, {"56", "5"}, {"32", "17"}}}},
      {"grid_sample",
       {{{"64", "5"}, {"28", "7"}, {"56", "9"}, {"16", "3"}},
        {{"64", "3"}, {"28", "2"}, {"56", "5"}}}},
      {"softmax", {{{"128", "5"}, {"1000", "67"}}, {{"128", "17"}, {"1000", "3"}}}},
      {"log_softmax", {{{"128", "5"}, {"1000", "67"}}, {{"128", "17"}, {"1000", "3"}}}},
      {"logsumexp", {{{"128", "5"}, {"1000", "67"}}, {{"128", "17"}, {"1000", "3"}}}},
      {"layer_norm", {{{"128", "5"}, {"768", "67"}}, {{"128", "17"}, {"768", "3"}}}},
      {"rms_norm", {{{"128", "5"}, {"768", "67"}}, {{"128", "17"}, {"768", "3"}}}},
      {"batch_norm", {{{"64", "5"}, {"56", "7"}}, {{"64", "16"}, {"56", "3"}}}},
      {"group_norm", {{{"64", "32"}, {"28", "5"}}, {{"64", "15"}, {"32", "5"}, {"28", "3"}}}},
      {"attention",
       {{{"12", "2"}, {"128", "13"}, {"500", "31"}, {"64", "8"}, {"32", "4"}, {"8", "2"}},
        {{"12", "3"}, {"128", "16"}, {"500", "7"}, {"64", "5"}, {"32", "6"}, {"8", "3"}}}},
      {"rope",
       {{{"12", "2"}, {"128", "13"}, {"64", "10"}}, {{"12", "3"}, {"128", "1"}, {"64", "32"}}}},
      {"lstm_cell", {{{"512", "13"}, {"1024", "5"}}, {{"512", "3"}, {"1024", "17"}}}},
      {"gru_cell", {{{"512", "13"}, {"1024", "5"}}, {{"512", "3"}, {"1024", "17"}}}},
      {"lstm",
       {{{"12", "3"}, {"256", "13"}, {"512", "5"}}, {{"12", "2"}, {"256", "3"}, {"512", "17"}}}},
      {"gru",
       {{{"12", "3"}, {"256", "13"}, {"512", "5"}}, {{"12", "2"}, {"256", "3"}, {"512", "17"}}}},
      {"rnn",
       {{{"12", "3"}, {"256", "13"}, {"512", "5"}}, {{"12", "2"}, {"256", "3"}, {"512", "17"}}}},
      {"reduce",
       {{{"64", "3"}, {"100", "17"}, {"256", "19"}, {"1024", "5"}, {"1000", "67"}},
        {{"64", "5"}, {"100", "64"}, {"256", "1"}, {"1024", "17"}, {"1000", "3"}}}},
      {"argmax", {{{"1024", "5"}, {"1000", "67"}}, {{"1024", "17"}, {"1000", "3"}}}},
      {"argmin", {{{"1024", "5"}, {"1000", "67"}}, {{"1024", "17"}, {"1000", "3"}}}},
      {"top_k",
       {{{"128", "3"}, {"1000", "67"}, {"64", "2"}, {"500", "17"}, {"16", "5"}},
        {{"128", "17"}, {"1000", "5"}, {"64", "3"}, {"500", "9"}, {"16", "1"}}}},
      {"pad", {{{"64", "5"}, {"56", "17"}}, {{"64", "16"}, {"56", "3"}}}},
      {"slice", {{{"64", "5"}, {"56", "17"}}, {{"64", "16"}, {"56", "31"}}}},
      {"concat",
       {{{"64", "5"}, {"32", "3"}, {"28", "7"}}, {{"64", "16"}, {"32", "1"}, {"28", "5"}}}},
      {"one_hot", {{{"128", "5"}, {"1000", "17"}}, {{"128", "17"}, {"1000", "3"}}}},
      {"gather", {{{"1000", "37"}, {"64", "5"}, {"500", "7"}}, {{"1000", "3"}, {"64", "17"}}}},
      {"gather_elements", {{{"64", "5"}, {"1000", "37"}, {"16", "7"}}, {{"64", "1"}}}},
      {"gather_nd", {{{"56", "7"}, {"64", "5"}, {"500", "9"}}, {{"64", "17"}, {"500", "3"}}}},
      {"embedding",
       {{{"30000", "37"}, {"768", "19"}, {"128", "5"}, {"8", "3"}},
        {{"30000", "3"}, {"768", "1"}, {"128", "17"}}}},
      {"scatter_elements",
       {{{"64", "5"}, {"1000", "37"}, {"16", "7"}}, {{"64", "1"}, {"1000", "3"}}}},
      {"scatter_nd",
       {{{"56", "7"}, {"64", "5"}, {"500", "9"}, {"1000", "31"}},
        {{"56", "3"}, {"64", "17"}, {"500", "2"}, {"1000", "5"}}}},
      {"cumsum",
       {{{"40", "5"}, {"500", "37"}, {"64", "17"}}, {{"40", "17"}, {"500", "1"}, {"64", "3"}}}},
      {"cumprod", {{{"40", "5"}, {"500", "37"}}, {{"40", "1"}, {"500", "16"}}}},
      {"cummax", {{{"500", "37"}, {"64", "19"}}, {{"500", "3"}, {"64", "1"}}}},
      {"cummin", {{{"40", "5"}, {"500", "37"}}, {{"40", "17"}, {"500", "2"}}}},
      {"transpose", {{{"64", "5"}, {"56", "17"}}, {{"64", "16"}, {"56", "3"}}}},
      {"map", {{{"128", "5"}, {"3072", "67"}}, {{"128", "3"}, {"3072", "17"}}}},
  };
  return all;
}

// The arguments of "lathe tune NAME --input 1,2 --causal ...": what the operator knows of them.
ops::Arguments arguments_in(const std::string& command, const ops::Operator& op) {
  ops::Arguments out;
  std::istringstream words(command);
  std::string last;
  for (std::string word; words >> word;) {
    std::erase(word, '\'');
    const bool flag = word.starts_with("--");
    if (!flag && !last.empty()) out[last] = word;
    last = flag ? word.substr(2) : "";
    if (flag) out[last] = "";
  }
  EXPECT_EQ(out.erase("trials"), 1u) << command;
  for (const auto& [name, value] : out)
    EXPECT_NE(std::ranges::find(op.parameters, name, &ops::Parameter::name), op.parameters.end())
        << name << ": " << command;
  return out;
}

TEST(Documents, EveryOperatorIsShownAndWorksAtTwoSizes) {
  std::set<std::string> shown;
  std::uint64_t seed = 0;
  for (const std::string& block : examples_of(LATHE_OPERATORS_DOC, "sh")) {
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string lathe, tune, name;
      words >> lathe >> tune >> name;
      const auto op = ops::find_operator(name);
      ASSERT_TRUE(op) << op.error().text();
      shown.insert(name);
      const auto sizes = sizes_of_commands().find(name);
      ASSERT_NE(sizes, sizes_of_commands().end()) << "give this two sizes: " << line;
      ASSERT_GE(sizes->second.size(), 2u);
      for (const Replacements& replacements : sizes->second) {
        const std::string command = with(line, replacements);
        const auto algorithms = ops::build(*op, arguments_in(command, *op));
        ASSERT_TRUE(algorithms) << command << ": " << algorithms.error().text();
        check(algorithms->front().workload, ++seed);
      }
    }
  }
  for (const ops::Operator& op : ops::operators())
    EXPECT_TRUE(shown.contains(op.name)) << "docs/operators.md does not show " << op.name;
}

}  // namespace
}  // namespace lathe::space
