#include "runtime/runner/protocol.h"

#include <gtest/gtest.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "base/split.h"
#include "support/schema_text.h"

namespace lathe::runner {
namespace {

template <class Message>
std::string told() {
  constexpr Schema kTold = kSchema<Message>;
  return fmt::format("{} {} {} {}", kTold.type, kTold.name, kTold.version, schema_text<Message>());
}

// Who sees this fail has changed a message: it needs its next version, here too.
TEST(Protocol, AChangedMessageHasANewVersion) {
  const std::string border = "(text enum11 i64* (i32 i64 i64 i64 i64)* i64 bool)*";
  EXPECT_EQ(told<Describe>(), "7 Describe 1 ()");
  EXPECT_EQ(told<Described>(), "107 Described 1 (text)");
  EXPECT_EQ(told<KeepAsset>(), "6 KeepAsset 1 (text text*)");
  EXPECT_EQ(told<RunnerSetup>(),
            "1 RunnerSetup 5 (" + border + " " + border + " text i32 i32* bool i64 i64)");
  EXPECT_EQ(told<Ready>(), "101 Ready 1 ()");
  EXPECT_EQ(told<ReferenceInfo>(), "2 ReferenceInfo 2 (text f64)");
  EXPECT_EQ(told<Load>(), "3 Load 2 (i64 " + border + " " + border + " bool i64*)");
  EXPECT_EQ(told<Loaded>(), "102 Loaded 1 (f64 f64 i64 f64 bool i32 i64 f64 f64 f64)");
  EXPECT_EQ(told<VisitRequest>(), "4 VisitRequest 3 (i64 f64 f64 f64 enum2 f64 i32)");
  EXPECT_EQ(told<Visited>(), "103 Visited 2 (f64* f64* i32 f64 f64 f64 f64)");
  EXPECT_EQ(told<Execute>(), "5 Execute 3 (" + border + " " + border + " i32 f64 enum2)");
  EXPECT_EQ(told<Executed>(), "104 Executed 1 (f64*)");
  EXPECT_EQ(told<Error>(), "105 Error 2 (enum12 text text)");
  EXPECT_EQ(told<Broken>(), "108 Broken 1 ((enum12 text text))");
  EXPECT_EQ(told<Crash>(), "106 Crash 1 (i32 i32 u64 i32 i64 name64)");
}

// These are for all versions of Lathe.
TEST(Protocol, TheGreetingAndTheHeaderNeverChange) {
  EXPECT_EQ(told<Greeting>(), "100 Greeting 3 ((u32 u32)*)");
  EXPECT_EQ(schema_text<Header>(), "(u32 u32 u64 u32 u32)");
  EXPECT_EQ(schema_text<Carried>(), "(i64 i64 bool bytes)");
}

TEST(Protocol, KnowsTheLastOfEachEnum) {
  const auto kind_after = static_cast<ErrorKind>(std::to_underlying(kLastOf<ErrorKind>) + 1);
  EXPECT_EQ(name_of(kind_after), name_of(ErrorKind::kInternal)) << "it is a kind, with a name";
  Dtype last{};
  for (const std::string& name : split(known_dtypes(), ' '))
    last = std::max(last, dtype_from_name(name.substr(0, name.find(','))).value());
  EXPECT_EQ(last, kLastOf<Dtype>);
}

TEST(Protocol, MessagesRoundTrip) {
  const Load load{
      .id = 42, .inputs = {tensor::plain_border("A", Dtype::kF32, {3, 5}, true)}, .check = false};
  const auto back = decode<Load>(encode(load));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->id, 42);
  EXPECT_EQ(back->inputs, load.inputs);
  EXPECT_TRUE(back->outputs.empty());
  EXPECT_FALSE(back->check);
  const auto error = decode<Error>(encode(Error{ErrorKind::kTimeout, "late", "here"}));
  EXPECT_EQ(error->kind, ErrorKind::kTimeout);
  EXPECT_EQ(error->text(), "here: late");
}

TEST(Protocol, ACrashFillsAHandlersBuffer) {
  Crash crash{.signal = 11, .access = 2, .region = 3, .distance = 8};
  crash.buffer.fill('x');  // without the zero at its end, as a damaged one may be
  const auto bytes = bytes_of(crash);
  const auto back = decode<Crash>(
      {kSchema<Crash>.type, kSchema<Crash>.version, std::string(bytes.begin(), bytes.end())});
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->error().message,
            "the candidate crashed with SIGSEGV: it wrote 8 bytes after "
            "the end of " +
                std::string(64, 'x'));
}

TEST(Protocol, SaysWhyAPacketIsRefused) {
  Packet packet = encode(VisitRequest{});
  EXPECT_EQ(decode<Load>(packet).error().message,
            "the other process sent message 4 instead of 3, a Load");
  packet.version = 9;
  EXPECT_EQ(decode<VisitRequest>(packet).error().message,
            "the other process sent version 9 of a VisitRequest, and this one reads version 3; "
            "install both together");
  packet = encode(VisitRequest{});
  packet.body.pop_back();
  EXPECT_EQ(decode<VisitRequest>(packet).error().message,
            "the other process sent a damaged VisitRequest");
  EXPECT_EQ(decode<VisitRequest>(packet).error().kind, ErrorKind::kDataLoss);
}

TEST(Protocol, DamagedMessagesAreRefusedNotTrusted) {
  const Packet whole = encode(Load{.inputs = {tensor::plain_border("A", Dtype::kF32, {3, 5})}});
  for (std::size_t length = 0; length < whole.body.size(); ++length)
    EXPECT_FALSE(decode<Load>({whole.type, whole.version, whole.body.substr(0, length)}));
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    Packet damaged = whole;
    for (int i = 0; i < 4; ++i)
      damaged.body[rng.below(damaged.body.size())] = static_cast<char>(rng.next());
    if (const auto load = decode<Load>(damaged))
      for (const auto& border : load->inputs)
        if (border.size < 1'000'000) (void)tensor::verify(border);  // must not crash
  }
}

}  // namespace
}  // namespace lathe::runner
