// What the documents show, at more sizes than they show it: every example of docs/expressions.md
// and every named operator on awkward shapes has a space of right programs.
#include <algorithm>
#include <regex>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/ops/operators.h"
#include "compiler/te/parse.h"
#include "support/documents.h"
#include "support/targets.h"
#include "unit/space/check_space.h"

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
      {"C[i:64,j:96]",
       {{{"64", "13"}, {"96", "7"}, {"128", "31"}},
        {{"64", "16"}, {"96", "33"}, {"128", "5"}},
        {{"64", "1"}, {"96", "1"}, {"128", "1"}}}},
      {"X: f32[8,512]",
       {{{"8", "3"}, {"512", "37"}, {"1000", "29"}},
        {{"8", "5"}, {"512", "64"}, {"1000", "48"}},
        {{"8", "1"}, {"512", "1"}, {"1000", "1"}}}},
      {"X: f32[16,100]", {{}, {{"16", "7"}, {"100", "67"}}, {{"16", "1"}, {"100", "1"}}}},
      {"X: f32[1000]", {{}, {{"1000", "13"}}, {{"1000", "70001"}}}},
      {"X: f32[8,16]", {{}, {{"8", "3"}, {"16", "19"}}, {{"8", "1"}, {"16", "1"}}}},
      {"A: f16[64,64]", {{{"64", "13"}}, {{"64", "32"}}, {{"64", "1"}}}},
      {"X: f32[1,20,9,9]", {{}, {{"20", "12"}, {"5", "3"}}, {{"9", "4"}, {"7", "2"}}}},
      {"A: f32[64,64]", {{{"64", "17"}}, {{"64", "32"}}, {{"64", "1"}}}},
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

class Shapes {
 public:
  explicit Shapes(std::uint64_t seed) : rng_(seed) {}
  bool coin(double p = 0.5) { return rng_.chance(p); }
  std::int64_t any(std::initializer_list<std::int64_t> from) {
    return from.begin()[rng_.below(from.size())];
  }
  std::int64_t size() { return any({1, 1, 2, 3, 5, 7, 11, 13, 16, 17, 19, 23, 31, 33}); }

  ops::Arguments arguments(const ops::Operator& op) {
    if (op.name == "conv2d") return convolution();
    ops::Arguments out;
    for (const ops::Parameter& p : op.parameters) {
      if (p.kind == ops::Parameter::Kind::kInt) out[p.name] = std::to_string(size());
      if (p.kind == ops::Parameter::Kind::kFlag && coin()) out[p.name] = "true";
    }
    if (op.name == "dense") {
      const std::int64_t in = size();
      out["input"] = fmt::format("{},{}", size(), in);
      out["weight"] = fmt::format("{},{}", size(), in);
      if (coin()) out["epilogue"] = "bias,relu";
    }
    return out;
  }

 private:
  ops::Arguments convolution() {
    const std::int64_t groups = coin(0.7) ? 1 : 2, ic = any({1, 2, 3, 5, 16, 17}),
                       oc = any({1, 2, 3, 16, 19});
    const std::int64_t kh = any({1, 1, 2, 3, 5}), kw = any({1, 2, 3, 3});
    const std::int64_t h = kh + any({0, 1, 2, 3, 6}), w = kw + any({0, 1, 4, 6, 8});
    ops::Arguments out{
        {"input", fmt::format("{},{},{},{}", any({1, 1, 1, 3}), groups * ic, h, w)},
        {"weight", fmt::format("{},{},{},{}", groups * oc, ic, kh, kw)},
        {"stride", std::to_string(any({1, 1, 2, 3}))},
        {"pad", fmt::format("{},{}", rng_.between(0, kh - 1), rng_.between(0, kw - 1))},
        {"groups", std::to_string(groups)}};
    if (coin(0.4)) out["epilogue"] = coin() ? "bias,relu" : "residual";
    return out;
  }

  Rng rng_;
};

TEST(Documents, EveryOperatorAtTwentyAwkwardShapes) {
  for (const ops::Operator& op : ops::operators()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const ops::Arguments arguments = Shapes(seed).arguments(op);
      auto algorithms = ops::build(op, arguments);
      ASSERT_TRUE(algorithms) << op.name << fmt::format(" {}: ", arguments)
                              << algorithms.error().text();
      for (ops::Algorithm& algorithm : *algorithms) {
        algorithm.workload.contract.free_layout = seed % 2 == 1;
        check(algorithm.workload, seed);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::space
