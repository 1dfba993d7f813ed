// Spaces that people write as functions.
#include "tuner/space/template.h"

#include <set>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"

namespace lathe::space {
namespace {

using schedule::Split;

Result<std::unique_ptr<Space>> space_of(Template function) {
  const auto workload = te::parse_workload("X: f32[12,60]; Y[i,j] = X[i,j] * 2");
  return template_space(*workload, std::move(function));
}

void expect_refused(Template function, const std::string& words) {
  const auto space = space_of(std::move(function));
  ASSERT_FALSE(space) << words;
  EXPECT_NE(space.error().text().find(words), std::string::npos) << space.error().text();
}

std::set<std::string> names_of(const Space& space) {
  std::set<std::string> names;
  for (const Knob& knob : space.knob_list()) names.insert(knob.name);
  return names;
}

// A knob under the second label of two choices, of which one is met in a branch alone.
TEST(Templates, FindKnobsUnderEveryPathOfChoices) {
  const auto space = space_of([](Recipe& r) {
    if (r.choice("a", {"x", "y"}) == "x")
      return r.apply(Split{"Y.j", r.knob("t", {4, 8}), "o", "l"});
    if (r.choice("b", {"x", "y"}) == "x") return;
    if (r.choice("c", {"x", "y", "z"}) == "z") r.apply(Split{"Y.i", r.knob("u", {2, 3}), "p", "q"});
  });
  ASSERT_TRUE(space) << space.error().text();
  EXPECT_EQ(names_of(**space), (std::set<std::string>{"a", "b", "c", "t", "u"}));
  const auto config =
      (*space)->from_json(Json{{"a", "y"}, {"b", "y"}, {"c", "z"}, {"t", 4}, {"u", 3}});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_TRUE((*space)->valid(*config));
  EXPECT_NE(schedule::print((*space)->trace(*config)).find("split Y.i by 3"), std::string::npos);
}

TEST(Templates, RefuseWhatCanBeNoSpace) {
  expect_refused([](Recipe&) {}, "nothing to search");
  expect_refused([](Recipe& r) { r.knob("t", {}); }, "knob t of the template needs values");
  expect_refused([](Recipe& r) { r.knob("t", {0, 4}); }, "1 or more");
  expect_refused([](Recipe& r) { r.choice("c", {}); }, "no labels");
  expect_refused([](Recipe& r) { r.knob("t", {2}), r.knob("t", {4}); }, "twice with other values");
  expect_refused([](Recipe& r) { r.at_most(r.knob("t", {8, 4}), 6); }, "beyond its own at_most()");
  expect_refused(
      [](Recipe& r) {
        const auto tile = r.knob("t", {4, 8});
        if (r.choice("c", {"x", "y"}) == "y") r.at_most(tile, 4);
      },
      "limits other sizes under other choices");
  expect_refused(
      [](Recipe& r) {
        for (int i = 0; i < 14; ++i) r.choice(fmt::format("c{}", i), {"x", "y"});
      },
      "more than 4096 combinations");
  expect_refused([](Recipe& r) { r.apply(Split{"none", r.knob("t", {4}), "o", "l"}); }, "step 1");
}

TEST(Templates, KeepTheirLimits) {
  const auto space = space_of([](Recipe& r) {
    const auto a = r.knob("a", {2, 4, 8}), b = r.knob("b", {2, 4, 8});
    r.at_most(r.times(a, b), 16);
    r.apply(Split{"Y.j", a, "o", "l"});
    r.apply(Split{"Y.i", b, "p", "q"});
  });
  ASSERT_TRUE(space) << space.error().text();
  EXPECT_TRUE((*space)->valid(*(*space)->from_json(Json{{"a", 2}, {"b", 8}})));
  EXPECT_FALSE((*space)->valid(*(*space)->from_json(Json{{"a", 4}, {"b", 8}})));
}

}  // namespace
}  // namespace lathe::space
