#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "compiler/codegen/llvm/codegen.h"

namespace lathe::codegen {
namespace {

Result<Target> resolve(const std::string& text) { return resolve_target(*parse_target(text)); }

struct Case {
  const char* text;
  int bits, registers;
  bool fma, f16c, masks;
};

TEST(ResolveTarget, DerivesWidthRegistersAndFeatures) {
  const Case cases[] = {
      {"cpu:x86-64", 128, 16, false, false, false},
      {"cpu:x86-64-v3", 256, 16, true, true, false},
      {"cpu:x86-64-v4", 512, 32, true, true, true},
      {"cpu:znver5", 512, 32, true, true, true},
      {"cpu:sandybridge", 256, 16, false, false, false},
      {"cpu:x86-64,+avx2,+fma", 256, 16, true, false, false},
      {"cpu:skylake-avx512,-avx512f", 256, 16, true, true, false},
      {"cpu:cortex-a72;isa=aarch64", 128, 32, true, true, false},
      {"cpu:neoverse-v2;isa=aarch64", 128, 32, true, true, false},
      {"cpu:cortex-a76", 128, 32, true, true, false},
      {"cpu:neoverse-n1,+sve;threads=2", 128, 32, true, true, false},
  };
  for (const Case& c : cases) {
    const auto target = resolve(c.text);
    ASSERT_TRUE(target) << target.error().text();
    EXPECT_EQ(target->as_cpu().vector_bits, c.bits) << c.text;
    EXPECT_EQ(target->as_cpu().vector_registers, c.registers) << c.text;
    EXPECT_EQ(target->as_cpu().has_fma, c.fma) << c.text;
    EXPECT_EQ(target->as_cpu().has_f16c, c.f16c) << c.text;
    EXPECT_EQ(target->as_cpu().has_avx512_masks, c.masks) << c.text;
  }
}

TEST(ResolveTarget, TheIsaFollowsFromTheCpu) {
  const auto target = resolve("cpu:cortex-a76;threads=2");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(target->as_cpu().isa, Isa::kAArch64);
  EXPECT_EQ(target->text(), "cpu:cortex-a76;isa=aarch64;threads=2");
  EXPECT_EQ(resolve("cpu:znver3")->as_cpu().isa, Isa::kX86);
}

TEST(ResolveTarget, HostIsNeverStoredAsHost) {
  const auto target = resolve("cpu:host;threads=2");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_NE(target->as_cpu().mcpu, "host");
  EXPECT_EQ(target->threads(), 2);
  EXPECT_GE(target->as_cpu().vector_bits, 128);
  // The stored text means the same target again.
  const auto again = resolve(target->text());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text(), target->text());
  EXPECT_EQ(again->as_cpu().vector_bits, target->as_cpu().vector_bits);
}

TEST(ResolveTarget, UsersFeaturesWinOnTheHost) {
  const auto target = resolve("cpu:host,-avx512f");
  if (!target || target->as_cpu().isa != Isa::kX86) GTEST_SKIP() << "not an x86 machine";
  EXPECT_LE(target->as_cpu().vector_bits, 256);
}

// Sets the variable by which a machine is taken for a lesser one, and puts it back.
class TakenFor {
 public:
  explicit TakenFor(const char* cpu) {
    if (const char* was = std::getenv(kName)) was_ = was;
    setenv(kName, cpu, 1);
  }
  ~TakenFor() {
    if (was_) setenv(kName, was_->c_str(), 1);
    else unsetenv(kName);
  }
  TakenFor(const TakenFor&) = delete;
  TakenFor& operator=(const TakenFor&) = delete;

 private:
  static constexpr const char* kName = "LATHE_HOST_CPU";
  std::optional<std::string> was_;
};

TEST(ResolveTarget, TheHostCanBeTakenForALesserCpu) {
  const bool x86 = resolve("cpu:host")->as_cpu().isa == Isa::kX86;
  const char* least = x86 ? "x86-64" : "generic";
  const TakenFor taken(least);
  const auto target = resolve("cpu:host;threads=2");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(target->as_cpu().mcpu, least);
  EXPECT_TRUE(target->as_cpu().features.empty()) << target->text();
  EXPECT_EQ(target->threads(), 2);
  EXPECT_EQ(target->as_cpu().vector_bits, 128);
  // It is said of the host alone.
  EXPECT_EQ(resolve("cpu:x86-64-v4")->as_cpu().vector_bits, 512);
}

TEST(ResolveTarget, TheHostIsNotTakenForACpuWhoseFeaturesItLacks) {
  if (resolve("cpu:host")->as_cpu().isa != Isa::kX86) GTEST_SKIP() << "not an x86 machine";
  std::string said;
  // No machine has fma4 and amx-tile.
  for (const char* cpu : {"bdver4", "graniterapids"}) {
    const TakenFor taken(cpu);
    const auto target = resolve("cpu:host");
    if (target) continue;
    EXPECT_EQ(target.error().kind, ErrorKind::kInvalidArgument);
    said += target.error().text();
  }
  EXPECT_NE(said.find("LATHE_HOST_CPU: this machine cannot be taken for \""), std::string::npos)
      << said;
  EXPECT_NE(said.find("for it lacks "), std::string::npos) << said;
}

TEST(ResolveTarget, TheHostIsNotTakenForWhatIsNoCpuOfItsKind) {
  const bool x86 = resolve("cpu:host")->as_cpu().isa == Isa::kX86;
  for (const char* cpu : {"znver33", x86 ? "cortex-a72" : "znver3"}) {
    const TakenFor taken(cpu);
    const auto target = resolve("cpu:host");
    ASSERT_FALSE(target) << cpu;
    EXPECT_NE(target.error().text().find("LATHE_HOST_CPU: unknown cpu \""), std::string::npos)
        << target.error().text();
  }
}

TEST(ResolveTarget, UnknownNamesAreAnsweredWithSimilarOnes) {
  const auto cpu = resolve("cpu:znver55");
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().kind, ErrorKind::kInvalidArgument);
  EXPECT_NE(cpu.error().message.find("znver5,"), std::string::npos) << cpu.error().message;

  EXPECT_NE(resolve("cpu:cortex-a766").error().message.find("cortex-a76,"), std::string::npos);
  EXPECT_EQ(resolve("cpu:cortex-a766;isa=x86").error().message.find("cortex-a76,"),
            std::string::npos);

  const auto feature = resolve("cpu:x86-64,+avx22");
  ASSERT_FALSE(feature);
  EXPECT_NE(feature.error().message.find("avx2"), std::string::npos) << feature.error().message;

  EXPECT_FALSE(resolve("cpu:znver5;isa=aarch64"));
  EXPECT_FALSE(resolve("cpu:cortex-a76;isa=x86"));
  EXPECT_FALSE(resolve("cpu:i486"));
}

}  // namespace
}  // namespace lathe::codegen
