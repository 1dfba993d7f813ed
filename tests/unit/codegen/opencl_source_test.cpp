// The text of small programs, their images, and the back end's answers.
#include <gtest/gtest.h>

#include "base/file.h"
#include "compiler/backends/backends.h"
#include "compiler/codegen/opencl/codegen.h"
#include "compiler/driver/driver.h"
#include "compiler/te/parse.h"
#include "support/bound_trace.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

using schedule::Annotate;
using schedule::Split;

opencl::Image image_of(const std::string& text, const schedule::Trace& trace) {
  const auto built = driver::build(*te::parse_workload(text), trace, generic_opencl(), backends());
  EXPECT_TRUE(built) << built.error().text();
  if (!built) return {};
  EXPECT_EQ(built->code.library, built->code.object.bytes);
  const auto image = opencl::image_from(built->code.library);
  EXPECT_TRUE(image) << image.error().text();
  return image ? *image : opencl::Image{};
}

Annotate kind(const std::string& loop, ir::LoopKind kind) { return {.loop = loop, .kind = kind}; }

TEST(OpenClSource, AVectorOnAGrid) {
  const opencl::Image image =
      image_of("X: f32[24]; Y[i] = X[i] * 2 + 1",
               {Split{"Y.i", std::int64_t{4}, "io", "il"}, kind("io", ir::LoopKind::kBlockX),
                kind("il", ir::LoopKind::kVectorized)});
  EXPECT_EQ(image.source, R"(#pragma OPENCL FP_CONTRACT OFF

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void lathe_run(__global const float* restrict X, __global float* restrict Y) {
  const long io_ = get_group_id(0);
  const long t0 = io_ * 4L;
  vstore4((vload4(0, X + t0) * ((float4)(2.0f))) + ((float4)(1.0f)), 0, Y + t0);
}
)");
  EXPECT_EQ(image.options, "-cl-std=CL1.2");
  EXPECT_EQ(image.inputs, std::vector<std::int64_t>{96});
  const opencl::Launch launch{
      "lathe_run", {{opencl::Area::kInput, 0}, {opencl::Area::kOutput, 0}}, {6, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(image.run, std::vector{launch});
  EXPECT_TRUE(image.prepare.empty());
}

TEST(OpenClSource, AMaskIsAskedLaneByLane) {
  const std::string source =
      image_of("X: f32[7]; Y[i] = X[i] * 2",
               {Split{"Y.i", std::int64_t{4}, "io", "il"}, kind("io", ir::LoopKind::kBlockX),
                kind("il", ir::LoopKind::kVectorized)})
          .source;
  EXPECT_NE(source.find(".s3) Y["), std::string::npos) << source;
}

TEST(OpenClSource, AreasAndLiterals) {
  const opencl::Image image = image_of(
      "X: f32[6]; const W: f32[6]; L: i8[3] = {1, -2, 3}; V[i] = exp(W[i]); "
      "S[i:3] = X[2*i] + X[2*i+1]; Y[i:3] = max(S[i], V[i]) * f32(L[i])",
      {});
  EXPECT_NE(image.source.find("__constant char L[3] = {((char)1), ((char)-2), ((char)3)};"),
            std::string::npos)
      << image.source;
  EXPECT_NE(image.source.find("inline float lathe_max_float(float a, float b)"), std::string::npos);
  ASSERT_EQ(image.prepare.size(), 1U);
  EXPECT_EQ(
      image.prepare[0].arguments,
      (std::vector<opencl::Argument>{{opencl::Area::kInput, 1}, {opencl::Area::kConstant, 0}}));
  EXPECT_GE(image.constant_bytes, 24);
}

TEST(OpenClSource, WhatADeviceLacksIsSaid) {
  const auto generic = codegen::opencl_device("generic");
  ASSERT_TRUE(generic);
  EXPECT_FALSE(generic->fp64);
  const auto built = driver::build(*te::parse_workload("X: f64[6]; Y[i] = X[i] * 2"), {},
                                   Target{*generic}, backends());
  EXPECT_EQ(built.error().text(), "the program computes in f64, which opencl:generic has not");
}

TEST(OpenClTarget, NamesResolveOrSayWhy) {
  const auto resolved = [](const char* text) {
    return driver::resolve_target(*parse_target(text), backends());
  };
  const auto generic = resolved("opencl:generic");
  ASSERT_TRUE(generic) << generic.error().text();
  EXPECT_EQ(generic->text(), "opencl:generic");
  EXPECT_EQ(generic->lanes(4), 4);
  EXPECT_EQ(generic->lanes(8), 2);
  EXPECT_EQ(generic->threads(), 1);
  const auto host = resolved("opencl:host");
  EXPECT_TRUE(host || host.error().kind == ErrorKind::kNotFound) << host.error().text();
  EXPECT_EQ(resolved("opencl:/none/such.json").error().place, "/none/such.json");
}

TEST(OpenClTarget, HasNoOptions) {
  const auto refusal = [](const char* text) {
    const auto target = driver::resolve_target(*parse_target(text), backends());
    EXPECT_FALSE(target) << text;
    if (target) return std::string();
    EXPECT_EQ(target.error().kind, ErrorKind::kInvalidArgument);
    return target.error().message;
  };
  EXPECT_EQ(refusal("opencl:host;threads=2"),
            "only a processor's target has options; write opencl:host without \";threads=2\"");
  EXPECT_EQ(refusal("opencl:generic,+fma"),
            "only a processor's target has options; write opencl:generic without \",+fma\"");
}

constexpr const char* kBoard =
    R"({"compute_units": 4, "work_group_items": 256, "local_bytes": 32768,
        "local_memory": "emulated", "vector_width": 4, "images": true, "fp16": true,
        "fp64": false})";

TEST(OpenClTarget, AFileDescribesADevice) {
  test::TemporaryFolder folder;
  const std::string path = folder.at("board.json");
  const auto from = [&](std::string text) {
    EXPECT_TRUE(write_whole(path, text));
    return codegen::opencl_device(path);
  };
  const auto board = from(kBoard);
  ASSERT_TRUE(board) << board.error().text();
  EXPECT_EQ(board->text(), "opencl:" + path);
  EXPECT_EQ(board->compute_units, 4);
  EXPECT_FALSE(board->local_is_real);
  EXPECT_TRUE(board->fp16);
  const auto changed = [&](std::string_view old, std::string_view fresh) {
    std::string text = kBoard;
    text.replace(text.find(old), old.size(), fresh);
    const auto device = from(text);
    EXPECT_FALSE(device) << text;
    if (device) return std::string();
    EXPECT_EQ(device.error().place, path);
    return device.error().message;
  };
  EXPECT_EQ(changed("\"compute_units\": 4,", ""), "member \"compute_units\" is missing");
  EXPECT_EQ(changed("256", "0"), "work_group_items is 0; it must be from 1 to 1048576");
  EXPECT_EQ(changed("emulated", "none"),
            "local_memory is \"none\"; it must be \"real\" or \"emulated\"");
  EXPECT_EQ(changed("\"vector_width\": 4", "\"vector_width\": 3"),
            "vector_width is 3; it must be 1, 2, 4, 8 or 16");
  EXPECT_TRUE(changed("\"fp64\"", "\"fp65\"").starts_with("unknown member \"fp65\""));
  EXPECT_EQ(changed("\"fp64\"", "\"fp16\""), "the member \"fp16\" is given twice; give it once");
  EXPECT_TRUE(changed("}", "").starts_with("not valid JSON"));
}

}  // namespace
}  // namespace lathe
