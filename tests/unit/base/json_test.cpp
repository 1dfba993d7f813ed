#include "base/json.h"

#include <string>

#include <gtest/gtest.h>

namespace lathe {
namespace {

Json parsed(std::string_view text) {
  const auto json = parse_json(text);
  EXPECT_TRUE(json.has_value()) << text;
  return json.value_or(Json());
}

std::string refusal(std::string_view text) {
  const auto json = parse_json(text);
  EXPECT_FALSE(json.has_value()) << text;
  return json ? "" : json.error().message;
}

TEST(Json, MembersKeepTheirOrder) {
  EXPECT_EQ(parsed(R"({"z": 1, "a": {"y": 2, "b": 3}})").dump(), R"({"z":1,"a":{"y":2,"b":3}})");
}

TEST(Json, RefusalNamesTheByte) {
  EXPECT_EQ(refusal(R"({"a": 1,)"), "not valid JSON at byte 9");
  EXPECT_EQ(refusal(""), "not valid JSON at byte 1");
  EXPECT_EQ(refusal("1 2"), "not valid JSON at byte 3");
}

TEST(Json, AMemberThatIsGivenTwiceIsRefusedByName) {
  const std::string twice = R"(the member "a" is given twice; give it once)";
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), twice);
  EXPECT_EQ(refusal(R"([{"c": {"a": [], "\u0061": null}}])"), twice);
  EXPECT_EQ(refusal(R"({"a": {"a": {}}, "a": 1)"), twice);
  EXPECT_EQ(parsed(R"([{"a": {"a": 1}, "": 2}, {"a": [true, "x"]}])").dump(),
            R"([{"a":{"a":1},"":2},{"a":[true,"x"]}])");
}

TEST(Json, OutOfRangeNumberIsRefused) {
  EXPECT_NE(refusal("1e999").find("not valid JSON"), std::string::npos);
}

TEST(Json, DeepNestingIsRefusedBeforeItEndsTheStack) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parsed(nested(500)).dump(), nested(500));
  EXPECT_EQ(refusal(nested(501)), "JSON nested deeper than 500 levels at byte 501");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), "JSON nested deeper than 500 levels at byte 501");
  // Brackets inside strings, behind escaped quotes too, do not count.
  EXPECT_TRUE(parsed("\"\\\"" + std::string(1000, '{') + "\"").is_string());
}

TEST(Json, AccessorsReturnWhatIsThere) {
  const Json object = parsed(R"({"i": -7, "x": 2.5, "b": true, "s": "t", "a": [1], "n": null})");
  EXPECT_EQ(*json_int(object, "i"), -7);
  EXPECT_EQ(*json_number(object, "x"), 2.5);
  EXPECT_EQ(*json_number(object, "i"), -7.0);
  EXPECT_EQ(*json_bool(object, "b"), true);
  EXPECT_EQ(*json_string(object, "s"), "t");
  EXPECT_EQ(json_array(object, "a")->size(), 1U);
  EXPECT_TRUE(json_member(object, "n")->is_null());
}

TEST(Json, AccessorsNameTheMemberThatIsWrong) {
  const Json object = parsed(R"({"x": 2.5, "s": "t", "big": 9223372036854775808})");
  EXPECT_EQ(json_int(object, "q").error().message, "member \"q\" is missing");
  EXPECT_EQ(json_int(object, "x").error().message,
            "member \"x\" must be a 64-bit integer, not number");
  EXPECT_EQ(json_number(object, "s").error().message, "member \"s\" must be a number, not string");
  EXPECT_EQ(json_bool(object, "s").error().message,
            "member \"s\" must be true or false, not string");
  EXPECT_EQ(json_string(object, "x").error().message, "member \"x\" must be a string, not number");
  EXPECT_EQ(json_array(object, "x").error().message, "member \"x\" must be an array, not number");
  EXPECT_FALSE(json_int(object, "big").has_value());  // would come out negative
  EXPECT_FALSE(json_int(parsed("[1]"), "x").has_value());
}

TEST(Json, LargestIntegersFit) {
  const Json object = parsed(R"({"max": 9223372036854775807, "min": -9223372036854775808})");
  EXPECT_EQ(*json_int(object, "max"), INT64_MAX);
  EXPECT_EQ(*json_int(object, "min"), INT64_MIN);
  EXPECT_EQ(*json_uint(object, "max"), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(*json_uint(parsed(R"({"n": 18446744073709551615})"), "n"), UINT64_MAX);
  EXPECT_EQ(*json_uint(Json{{"n", 7}}, "n"), 7U);
  EXPECT_EQ(json_uint(object, "min").error().message,
            "member \"min\" must be a 64-bit integer of 0 or more, not number");
}

}  // namespace
}  // namespace lathe
