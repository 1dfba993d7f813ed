#include "base/target.h"

#include <string>

#include <gtest/gtest.h>

#include "base/target_json.h"

namespace lathe {
namespace {

std::string canonical(std::string_view text) {
  const auto target = parse_target(text);
  EXPECT_TRUE(target.has_value()) << text;
  return target ? target->text() : "";
}

std::string refusal_of_target(std::string_view text) {
  const auto target = parse_target(text);
  EXPECT_FALSE(target.has_value()) << text;
  if (target) return "";
  EXPECT_EQ(target.error().kind, ErrorKind::kInvalidArgument);
  return target.error().message;
}

TEST(Target, CanonicalTextSortsFeaturesAndStatesThreads) {
  EXPECT_EQ(canonical("cpu:znver5"), "cpu:znver5;threads=1");
  EXPECT_EQ(canonical("cpu:x86-64,+fma,+avx2;threads=2"), "cpu:x86-64,+avx2,+fma;threads=2");
  EXPECT_EQ(canonical("cpu:cortex-a72;threads=4;isa=aarch64"),
            "cpu:cortex-a72;isa=aarch64;threads=4");
  EXPECT_EQ(canonical("cpu:znver5;isa=x86"), "cpu:znver5;threads=1");
}

TEST(Target, CanonicalTextParsesToItself) {
  for (const char* text : {"cpu:a;threads=1", "cpu:a,+b,-c;threads=1024",
                           "cpu:neoverse-v2,+sve;isa=aarch64;threads=3"})
    EXPECT_EQ(canonical(text), text);
}

TEST(Target, FieldsAreFilled) {
  const Target target = *parse_target("cpu:cortex-a72,-sve;isa=aarch64;threads=3");
  EXPECT_EQ(target.as_cpu().mcpu, "cortex-a72");
  EXPECT_EQ(target.as_cpu().features, std::vector<std::string>{"-sve"});
  EXPECT_EQ(target.as_cpu().isa, Isa::kAArch64);
  EXPECT_EQ(target.threads(), 3);
}

TEST(Target, RefusalsSayWhatIsWrongAndWhatToWrite) {
  EXPECT_NE(refusal_of_target("gpu:0").find("unknown target \"gpu:0\"; write it as cpu:MCPU"),
            std::string::npos);
  EXPECT_NE(refusal_of_target("").find("unknown target"), std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:").find("names no cpu"), std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:,+avx2").find("names no cpu"), std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a,avx2").find("\"avx2\" must start with + or -"),
            std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a,").find("must start with + or -"), std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a,+").find("must start with + or -"), std::string::npos);
  for (const char* threads : {"0", "-1", "1025", "two", "2x", "", "99999999999999999999"})
    EXPECT_NE(refusal_of_target(std::string("cpu:a;threads=") + threads).find("from 1 to 1024"),
              std::string::npos)
        << threads;
  EXPECT_NE(refusal_of_target("cpu:a;isa=mips").find("unknown target option \"isa=mips\""),
            std::string::npos);
  EXPECT_NE(
      refusal_of_target("cpu:a;threads=2;threads=3").find("gives threads twice; give it once"),
      std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a;threads=2;isa=x86;threads=2").find("gives threads twice"),
            std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a;isa=x86;isa=aarch64").find("gives isa twice"),
            std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a,+avx2,+fma,-avx2").find("gives the feature avx2 twice"),
            std::string::npos);
  EXPECT_NE(refusal_of_target("cpu:a;").find("unknown target option \"\""), std::string::npos);
}

TEST(Target, LanesFollowTheVectorWidth) {
  Target target;
  target.as_cpu().vector_bits = 512;
  EXPECT_EQ(target.as_cpu().lanes(4), 16);
  EXPECT_EQ(target.as_cpu().lanes(8), 8);
  EXPECT_EQ(target.as_cpu().lanes(2), 32);
}

TEST(Target, OfAnOpenClDeviceIsItsName) {
  for (const char* text : {"opencl:generic", "opencl:host", "opencl:boards/a b;c.json"})
    EXPECT_EQ(canonical(text), text);
  EXPECT_TRUE(parse_target("opencl:host")->is_host());
  EXPECT_EQ(parse_target("opencl:a")->kind(), DeviceKind::kOpenCl);
  EXPECT_NE(refusal_of_target("opencl:").find("names no device"), std::string::npos);
  Target target = *parse_target("opencl:a");
  target.set_threads(4);
  EXPECT_EQ(target.threads(), 1);
  EXPECT_STREQ(target.lacking_on(*parse_target("cpu:a")), "is of another kind");
}

TEST(Target, OfAnOpenClDeviceKeepsItsFactsInJson) {
  OpenClTarget device{.name = "a", .compute_units = 3, .group_items = 128, .local_bytes = 1 << 15};
  device.local_is_real = device.images = device.fp64 = true;
  device.vector_width = 8;
  const auto again = target_from_json(to_json(Target{device}));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(dump(to_json(*again)), dump(to_json(Target{device})));
  EXPECT_EQ(again->as_opencl().group_items, 128);
  EXPECT_EQ(again->lanes(4), 8);
  EXPECT_EQ(again->lanes(1), 16);
  Target less = *again;
  less.as_opencl().fp64 = false;
  EXPECT_STREQ(again->lacking_on(less), "has no f64");
  EXPECT_EQ(less.lacking_on(*again), nullptr);
}

TEST(Fingerprint, OfAnOpenClDeviceKeepsItsNamesInJson) {
  const Fingerprint print{OpenClFingerprint{"platform", "device", "3.1"}};
  const auto again = fingerprint_from_json(to_json(print));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text(), print.text());
  EXPECT_EQ(again->cpu(), "platform/device/3.1");
  EXPECT_EQ(again->name(), "device");
}

TEST(Fingerprint, OfThisMachineIsFilledAndStable) {
  const Fingerprint print = host_fingerprint();
  EXPECT_FALSE(print.as_cpu().cpu_name.empty());
  EXPECT_GE(print.as_cpu().cores, 1);
  EXPECT_EQ(print.text(), host_fingerprint().text());
  EXPECT_EQ(print.text().find('\n'), std::string::npos);
}

TEST(Fingerprint, CpuIsFamilyModelStepping) {
  Fingerprint print;
  print.as_cpu().family = 26;
  print.as_cpu().model = 2;
  print.as_cpu().stepping = 1;
  EXPECT_EQ(print.cpu(), "26/2/1");
}

}  // namespace
}  // namespace lathe
