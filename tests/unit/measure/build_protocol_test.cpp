#include "tuner/measure/build_protocol.h"

#include <gtest/gtest.h>

#include "support/schema_text.h"

namespace lathe::measure {
namespace {

template <class Message>
std::string told() {
  constexpr runner::Schema kTold = runner::kSchema<Message>;
  return fmt::format("{} {} {} {}", kTold.type, kTold.name, kTold.version,
                     runner::schema_text<Message>());
}

// Who sees this fail has changed a message: it needs its next version, here too.
TEST(BuildProtocol, AChangedMessageHasANewVersion) {
  const std::string border = "(text enum11 i64* (i32 i64 i64 i64 i64)* i64 bool)*";
  const std::string built =
      "(bytes bool " + border + " " + border + " text i32 i32 i64 f64 i64 f64 f64 f64)";
  EXPECT_EQ(told<measure::Setup>(), "20 Setup 1 (text text bool i64 i32*)");
  EXPECT_EQ(told<measure::SetUp>(), "120 SetUp 1 ()");
  EXPECT_EQ(told<BuildRequest>(), "21 BuildRequest 1 (text bool text*)");
  EXPECT_EQ(told<BuildReference>(), "22 BuildReference 1 (text)");
  EXPECT_EQ(told<BuildPeak>(), "23 BuildPeak 1 ()");
  EXPECT_EQ(told<BuildStream>(), "24 BuildStream 1 (i64 i64)");
  EXPECT_EQ(told<Built>(), "121 Built 3 " + built);
  EXPECT_EQ(told<BuiltPeak>(), "122 BuiltPeak 3 (" + built + " f64)");
}

TEST(BuildProtocol, CodeTravelsByteByByte) {
  BuiltPeak peak{.flops = 3};
  peak.built.library.resize(100'000);
  for (std::size_t i = 0; i < peak.built.library.size(); ++i)
    peak.built.library[i] = static_cast<std::byte>(i * 7);
  peak.built.program_hash = "abc";
  peak.built.outputs = {tensor::plain_border("C", Dtype::kF32, {3, 5})};
  const auto packet = runner::encode(peak);
  const auto back = runner::decode<BuiltPeak>(packet);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->flops, 3);
  EXPECT_EQ(back->built.library, peak.built.library);
  EXPECT_EQ(back->built.program_hash, "abc");
  EXPECT_EQ(back->built.outputs, peak.built.outputs);
  EXPECT_LT(packet.body.size(), peak.built.library.size() + 300);
}

}  // namespace
}  // namespace lathe::measure
