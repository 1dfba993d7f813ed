#include "tuner/model/container.h"

#include <gtest/gtest.h>

namespace lathe::model {
namespace {

TEST(Container, KeepsThePayload) {
  const std::string payload("a\0b", 3);
  EXPECT_EQ(unpack(pack("kind", payload), "kind").value(), payload);
  EXPECT_EQ(unpack(pack("kind", ""), "kind").value(), "");
}

TEST(Container, ForeignBytes) {
  for (const std::string& bytes : {std::string(), std::string("binf"), std::string(1000, 'x')})
    EXPECT_EQ(unpack(bytes, "kind").error().message, "this is not a saved cost model");
}

TEST(Container, CutAnywhere) {
  const std::string bytes = pack("kind", "payload");
  for (std::size_t size = 8; size < bytes.size(); ++size) {
    const auto refused = unpack(std::string_view(bytes).substr(0, size), "kind");
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().message, "the saved cost model is cut short at " +
                                           std::to_string(size) + " bytes: train it again");
  }
}

TEST(Container, AnyChangedByte) {
  const std::string good = pack("kind", "payload");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    EXPECT_FALSE(unpack(bad, "kind")) << i;
  }
  EXPECT_FALSE(unpack(good + "x", "kind"));
}

TEST(Container, OtherFormatFeaturesAndKind) {
  const std::string good = pack("kind", "payload");
  EXPECT_EQ(unpack(good, "other").error().message,
            "the saved cost model is of kind kind, not other");
  std::string newer = good;
  newer[8] = 9;
  EXPECT_EQ(unpack(newer, "kind").error().message,
            "the cost model was saved in format 9, this Lathe reads format 1");
}

}  // namespace
}  // namespace lathe::model
