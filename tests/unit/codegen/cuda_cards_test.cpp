// Targets that are cards: what their names stand for, files that describe them, and refusals.
#include "compiler/codegen/nvptx/cards.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/cuda/cuda_json.h"
#include "base/target_json.h"
#include "compiler/backends/backends.h"
#include "compiler/driver/driver.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

Result<Target> resolved_card(const std::string& text) {
  return driver::resolve_target(LATHE_TRY(parse_target(text)), backends());
}

std::string refusal_of_card(const std::string& text) {
  const auto target = resolved_card(text);
  EXPECT_FALSE(target) << text;
  return target ? "" : target.error().text();
}

TEST(CudaTarget, IsItsName) {
  for (const char* text : {"cuda:sm_80", "cuda:H200", "cuda:host", "cuda:boards/a b;c.json",
                           "cuda:host:1", "cuda:host:GPU-8a1f", "cuda:NVIDIA A100-SXM4-40GB"})
    EXPECT_EQ(parse_target(text)->text(), text);
  for (const char* text : {"cuda:host", "cuda:host:1", "cuda:host:MIG-1"})
    EXPECT_TRUE(parse_target(text)->is_host()) << text;
  EXPECT_FALSE(parse_target("cuda:hostess")->is_host());
  EXPECT_EQ(parse_target("cuda:A100")->kind(), DeviceKind::kCuda);
  for (const char* text : {"cuda:", "cuda:host:"})
    EXPECT_NE(parse_target(text).error().message.find("names no card"), std::string::npos) << text;
  Target target = *parse_target("cuda:A100");
  target.set_threads(4);
  EXPECT_EQ(target.threads(), 1);
}

TEST(CudaTarget, CardsHaveWhatTheirArchitectureAndDataSheetSay) {
  const Target a100 = *resolved_card("cuda:A100"), t4 = *resolved_card("cuda:T4");
  EXPECT_EQ(a100.as_cuda().architecture, 80);
  EXPECT_EQ(a100.as_cuda().multiprocessors, 108);
  EXPECT_EQ(a100.as_cuda().block_bytes, 163 << 10);
  EXPECT_EQ(a100.lanes(4), 4);
  EXPECT_EQ(a100.grids()->most_items, 1024);
  EXPECT_TRUE(a100.grids()->copies);
  EXPECT_TRUE(t4.grids()->exchanges);
  EXPECT_FALSE(t4.grids()->copies);
  EXPECT_STREQ(a100.lacking_on(t4), "has an older architecture");
  EXPECT_EQ(t4.lacking_on(a100), nullptr);
  EXPECT_STREQ(a100.lacking_on(*parse_target("cpu:host")), "is of another kind");
  for (const char* name : {"L4", "RTX4090", "H100", "H200", "sm_75", "sm_86", "sm_87", "sm_90"})
    EXPECT_TRUE(resolved_card(std::string("cuda:") + name)) << name;
}

TEST(CudaTarget, CardsAreKnownByWhatTheirDriversCallThem) {
  for (const auto& [told, name] : {std::pair{"NVIDIA H200", "H200"},
                                   {"NVIDIA H100 80GB HBM3", "H100"},
                                   {"Tesla T4", "T4"},
                                   {"NVIDIA A100-SXM4-40GB", "A100"},
                                   {"NVIDIA GeForce RTX 4090", "RTX4090"},
                                   {"L4", "L4"},
                                   {"sm_80", "sm_80"}}) {
    const auto card = codegen::known_card(told);
    ASSERT_TRUE(card) << told;
    EXPECT_EQ(card->name, name);
  }
  for (const char* stranger :
       {"", "NVIDIA", "NVIDIA H300", "NVIDIA RTX 6000 L4 x", "host", "sm_70"})
    EXPECT_FALSE(codegen::known_card(stranger)) << stranger;
}

TEST(CudaTarget, UnknownNamesAreAnsweredWithKnownOnes) {
  EXPECT_NE(refusal_of_card("cuda:sm_70").find("knows no architecture sm_70; it knows sm_75, "),
            std::string::npos);
  EXPECT_NE(refusal_of_card("cuda:sm_100").find("a later card runs programs for the last of them"),
            std::string::npos);
  EXPECT_NE(refusal_of_card("cuda:H300").find("unknown card \"H300\"; known are T4, A100"),
            std::string::npos);
  EXPECT_NE(refusal_of_card("cuda:RTX4080").find("did you mean RTX4090?"), std::string::npos);
  EXPECT_EQ(resolved_card("cuda:/none/such.json").error().place, "/none/such.json");
}

TEST(CudaTarget, KeepsItsFactsInJson) {
  const Target target = *resolved_card("cuda:L4");
  const auto again = target_from_json(to_json(target));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(dump(to_json(*again)), dump(to_json(target)));
  const Fingerprint print{CudaFingerprint{"NVIDIA L4", "580.65.06"}};
  const auto other = fingerprint_from_json(to_json(print));
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_EQ(other->text(), print.text());
  EXPECT_EQ(other->cpu(), "NVIDIA L4/580.65.06");
  EXPECT_EQ(other->name(), "NVIDIA L4");
}

TEST(CudaTarget, AFileDescribesACard) {
  const test::TemporaryFolder folder;
  const std::string path = folder.at("card.json");
  const Json whole = cuda_members(*codegen::cuda_card("H200"));
  const auto with = [&](const Json& json) {
    std::ofstream(path) << json.dump();
    return resolved_card("cuda:" + path);
  };
  const auto fault_with = [&](const char* member, const Json& value) {
    Json json = whole;
    json[member] = value;
    const auto target = with(json);
    return target ? "" : target.error().text();
  };
  EXPECT_EQ(with(whole)->as_cuda().multiprocessors, 132);
  EXPECT_EQ(with(whole)->text(), "cuda:" + path);
  for (const auto& [name, value] : whole.items()) {
    Json json = whole;
    json.erase(name);
    const auto target = with(json);
    ASSERT_FALSE(target) << name;
    EXPECT_EQ(target.error().place, path);
    EXPECT_NE(target.error().message.find(name), std::string::npos) << target.error().message;
    EXPECT_NE(fault_with(name.c_str(), -1).find(name + " is -1; it must be from"),
              std::string::npos);
    EXPECT_NE(fault_with(name.c_str(), "many").find(name), std::string::npos);
  }
  EXPECT_NE(fault_with("clock", 3).find("unknown member \"clock\"; known are"), std::string::npos);
  EXPECT_NE(fault_with("architecture", 100).find("architecture is 100; the compiler knows sm_75"),
            std::string::npos);
  EXPECT_NE(fault_with("block_threads", 4096).find("block_threads is 4096"), std::string::npos);
  EXPECT_NE(fault_with("block_bytes", 1 << 20).find("it cannot have more"), std::string::npos);
  EXPECT_NE(with(Json::array()).error().text().find("is a JSON object"), std::string::npos);
}

}  // namespace
}  // namespace lathe
