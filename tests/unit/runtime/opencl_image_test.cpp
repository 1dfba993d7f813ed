#include "runtime/device/opencl/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/rng.h"
#include "runtime/device/opencl/facts.h"

namespace lathe::opencl {
namespace {

Image whole_image() {
  Image image;
  image.source = "__kernel void f() {}\n";
  image.options = "-cl-std=CL1.2";
  image.extensions = {"cl_khr_fp16"};
  image.inputs = {4, 16};
  image.outputs = {8};
  image.constant_bytes = 64;
  image.scratch_bytes = 32;
  image.local_bytes = 128;
  image.prepare = {{"p", {{Area::kInput, 1}, {Area::kConstant, 0}}, {1, 2, 3}, {4, 5, 6}}};
  image.run = {{"f", {{Area::kScratch, 0}, {Area::kOutput, 0}}, {7, 1, 1}, {8, 1, 1}}};
  return image;
}

Result<Image> parse(const std::string& text) { return image_from(std::as_bytes(std::span(text))); }
std::string text_of(const Image& image) {
  const auto bytes = bytes_of(image);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(OpenclImage, ComesBackAsItWas) {
  const auto back = image_from(bytes_of(whole_image()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, whole_image());
}

TEST(OpenclImage, NamesWhatIsWrong) {
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse("[]"));
  Image image = whole_image();
  image.run[0].arguments[1].position = 1;
  EXPECT_EQ(parse(text_of(image)).error().message,
            "this is no image of an OpenCL program: an argument of f is not there");
  image = whole_image();
  image.run[0].groups[2] = 0;
  EXPECT_EQ(parse(text_of(image)).error().message,
            "this is no image of an OpenCL program: the grid of f is empty");
  image = whole_image();
  image.scratch_bytes = -1;
  EXPECT_EQ(parse(text_of(image)).error().message,
            "this is no image of an OpenCL program: a size is negative");
}

TEST(OpenclImage, TakesNumbersThatAreWhole) {
  std::string text = text_of(whole_image());
  for (const char* other : {"1e300", "-1e300", "32.5", "18446744073709551615", "true", "\"32\""}) {
    std::string changed = text;
    changed.replace(changed.find("\"scratch_bytes\":32") + 16, 2, other);
    EXPECT_FALSE(parse(changed)) << other;
  }
}

TEST(OpenclImage, SurvivesDamagedBytes) {
  const std::string good = text_of(whole_image());
  Rng rng(7);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::uint64_t change = 0; change < 1 + rng.below(4); ++change) {
      const auto at = static_cast<std::size_t>(rng.below(text.size()));
      switch (rng.below(4)) {
        case 0: text[at] = static_cast<char>(rng.below(256)); break;
        case 1: text.erase(at, 1 + rng.below(8)); break;
        case 2: text.insert(at, text.substr(rng.below(text.size()), 1 + rng.below(8))); break;
        default: text.resize(std::max<std::size_t>(at, 1)); break;
      }
    }
    const auto image = parse(text);
    read += image ? 1 : 0;
    if (image) {
      EXPECT_EQ(*image_from(bytes_of(*image)), *image);
    }
  }
  EXPECT_GT(read, 0) << "some changes only change a name";
}

TEST(OpenclFacts, ComeBackAsTheyWere) {
  Facts facts;
  facts.platform = "P";
  facts.name = "D";
  facts.kind = "gpu";
  facts.compute_units = 132;
  facts.item_sizes = {1024, 1024, 64};
  facts.local_bytes = 49152;
  facts.local_is_real = true;
  facts.extensions = {"a", "b"};
  EXPECT_EQ(*facts_from_json(to_json(facts)), facts);
  EXPECT_TRUE(facts.has("b"));
  EXPECT_FALSE(facts.has("c"));
  Json damaged = to_json(facts);
  damaged["extensions"] = {1};
  EXPECT_FALSE(facts_from_json(damaged));
  damaged = to_json(facts);
  damaged.erase("driver");
  EXPECT_FALSE(facts_from_json(damaged));
}

}  // namespace
}  // namespace lathe::opencl
