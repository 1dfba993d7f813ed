#include "runtime/device/cuda/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unit/runtime/cuda.h"

namespace lathe::cuda {
namespace {

class CudaEngineTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    served_ = std::make_unique<ServedCard>();
    const Status ready = asking().set_up();
    ASSERT_TRUE(ready) << ready.error().text();
  }
  void TearDown() override {
    served_.reset();
    CudaTest::TearDown();
  }
  Asking& asking() { return *served_->operator->(); }
  void expect_right(const Image& image) { test::expect_right(asking(), image); }
  void expect_fault(const Image& image, const std::string& words,
                    ErrorKind kind = ErrorKind::kRun) {
    test::expect_fault(asking(), image, words, kind, sum_image());
  }

  std::unique_ptr<ServedCard> served_;
};

TEST_F(CudaEngineTest, ARightResultIsRight) { expect_right(sum_image()); }

TEST_F(CudaEngineTest, LaunchesRunInOrder) {
  const std::string half = "mov.f32 %f9, 0f3F000000;\n";
  Image image = make_image(
      kernel_of("first", 2,
                load_of(1) + half +
                    "fma.rn.f32 %f4, %f1, 0f40000000, 0f00000000;\n"
                    "add.s64 %rd12, %rd2, %rd9;\nst.global.f32 [%rd12], %f4;\n") +
      kernel_of("second", 2,
                load_of(1) + load_of(2) +
                    "add.rn.f32 %f4, %f1, %f2;\n"
                    "st.global.f32 [%rd12], %f4;\n") +
      kernel_of("third", 3, load_of(1) + load_of(2) + "sub.rn.f32 %f3, %f2, %f1;\n" + kStore));
  image.scratch_bytes = 4 * kElements;
  image.run = {{.kernel = "first",
                .arguments = {{Area::kInput, 0}, {Area::kScratch, 0}},
                .groups = {50, 1, 1},
                .items = {2, 1, 1}},
               {.kernel = "second",
                .arguments = {{Area::kInput, 1}, {Area::kScratch, 0}},
                .groups = {1, 1, 1},
                .items = {100, 1, 1}},
               {.kernel = "third",
                .arguments = {{Area::kInput, 0}, {Area::kScratch, 0}, {Area::kOutput, 0}},
                .groups = {100, 1, 1},
                .items = {1, 1, 1}}};
  expect_right(image);
}

Image with_constants(const std::string& end = "") {
  Image image = make_image(
      kernel_of("prepare", 2,
                load_of(1) + "add.rn.f32 %f4, %f1, %f1;\n"
                             "add.s64 %rd12, %rd2, %rd9;\nst.global.f32 [%rd12], %f4;\n") +
      kernel_of("f", 3,
                load_of(1) + load_of(2) +
                    "mul.rn.f32 %f2, %f2, 0f3F000000;\nadd.rn.f32 %f3, %f1, %f2;\n" + end +
                    kStore));
  image.constant_bytes = 4 * kElements;
  image.prepare = {{.kernel = "prepare",
                    .arguments = {{Area::kInput, 1}, {Area::kConstant, 0}},
                    .groups = {100, 1, 1},
                    .items = {1, 1, 1}}};
  image.run[0].arguments[1] = {Area::kConstant, 0};
  return image;
}

TEST_F(CudaEngineTest, ConstantsArePreparedOnce) {
  expect_right(with_constants());
  expect_fault(with_constants("st.global.f32 [%rd12], %f3;\n"), "wrote into its constants");
  Image image = with_constants();
  image.prepare[0].arguments[0] = {Area::kInput, 0};
  expect_fault(image, "not known before the first call");
}

TEST_F(CudaEngineTest, WritesOutOfBoundsAreFound) {
  expect_fault(sum_image("st.global.f32 [%rd3+400], %f3;\n"), "it wrote after the end of output C");
  expect_fault(sum_image("st.global.f32 [%rd3+-4], %f3;\n"), "it wrote before the start of output");
  expect_fault(sum_image("st.global.f32 [%rd1+400], %f3;\n"), "it wrote after the end of input A");
  Image image = sum_image();
  image.outputs = {4 * kElements + 4};
  expect_fault(image, "404 bytes for this output, its border 400");
}

TEST_F(CudaEngineTest, AChangedInputIsFoundAndMended) {
  expect_fault(sum_image("st.global.f32 [%rd2+28], %f3;\n"),
               "the candidate wrote into input B, which is not its own");
}

TEST_F(CudaEngineTest, AnElementThatIsNotWrittenIsWrong) {
  expect_right(sum_image());  // leaves right values where they were
  const auto loaded = asking().load(sum_image("setp.eq.s32 %p1, %r1, 42;\n@%p1 ret;\n"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_TRUE(loaded->wrong);
  EXPECT_EQ(loaded->index, 42);
  EXPECT_TRUE(std::isnan(loaded->got));
}

TEST_F(CudaEngineTest, FaultsOfBuildingAreErrorsOfTheCandidate) {
  expect_fault(make_image(kernel_of("f", 3, "nonsense.f32 %f1, %f2;\n")),
               "the driver's assembler refuses the program: ptxas fatal", ErrorKind::kBuild);
  Image image = sum_image();
  image.run[0].kernel = "g";
  expect_fault(image, "the program has no kernel g");
  image = sum_image();
  image.run[0].arguments.pop_back();
  expect_fault(image, "the kernel f takes 3 arguments, and its launch has 2");
  const auto file = runner::make_memory_file("image", std::as_bytes(std::span("no image")));
  const auto loaded = asking().ask<runner::Loaded>(
      runner::Load{1, Asking::inputs(), Asking::outputs(), true, {}}, {file->get()});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().message.contains("no image of a CUDA program"));
}

TEST_F(CudaEngineTest, WhatTheCardLacksIsRefused) {
  const auto refused = [&](const std::string& words, const auto& change) {
    Image image = sum_image();
    change(image);
    expect_fault(image, words, ErrorKind::kUnsupported);
  };
  refused("a block of f has 1025 threads, and Fake H200 allows 1024",
          [](Image& i) { i.run[0].items[0] = 1025; });
  refused("has 65 threads along z", [](Image& i) { i.run[0].items = {1, 1, 65}; });
  refused("has 65536 blocks along y", [](Image& i) { i.run[0].groups[1] = 65'536; });
  refused("uses 232449 bytes of shared memory, and Fake H200 allows 232448",
          [](Image& i) { i.run[0].group_bytes = 232'449; });
  refused("more bytes together than the 1073741824 of Fake H200",
          [](Image& i) { i.scratch_bytes = std::int64_t{1} << 62; });
  refused("the program is for sm_100, and Fake H200 is sm_90",
          [](Image& i) { i.architecture = 100; });
}

TEST_F(CudaEngineTest, SharedMemoryIsWhatALaunchAsksFor) {
  const std::string body = load_of(1) + load_of(2) +
                           "shl.b32 %r5, %r4, 2;\nmov.u32 %r6, all;\nadd.s32 %r5, %r5, %r6;\n"
                           "add.s32 %r5, %r5, 65536;\nst.shared.f32 [%r5], %f1;\n"
                           "bar.sync 0;\nld.shared.f32 %f4, [%r5];\n"
                           "add.rn.f32 %f3, %f4, %f2;\n" +
                           std::string(kStore);
  Image image = make_image(".extern .shared .align 16 .b8 all[];\n" + kernel_of("f", 3, body));
  image.run[0].group_bytes = 65'536 + 40;
  expect_right(image);
}

TEST_F(CudaEngineTest, MemoryOfACandidateHasALimit) {
  ASSERT_TRUE(asking().set_up(1 << 20));
  Image image = sum_image();
  image.scratch_bytes = (1 << 20) + 1;
  expect_fault(image, "may have 1048576", ErrorKind::kOutOfMemory);
}

TEST_F(CudaEngineTest, PackedTensorsAreStoredAsTheirBorders) {
  // A and C are stored in reverse digits: element i at 10 * (i % 10) + i / 10.
  auto inputs = Asking::inputs();
  auto outputs = Asking::outputs();
  inputs[0].layout = outputs[0].layout = {{0, 1, 10, 10, 0}, {0, 10, 10, 1, 0}};
  const Image image = make_image(
      kernel_of("f", 3,
                load_of(2) +
                    "rem.u32 %r5, %r1, 10;\ndiv.u32 %r6, %r1, 10;\nmad.lo.s32 %r7, %r5, 10, %r6;\n"
                    "mul.wide.u32 %rd9, %r7, 4;\n" +
                    load_of(1) + "add.rn.f32 %f3, %f1, %f2;\n" + kStore));
  const runner::Fd file = file_of(image);
  const auto loaded =
      asking().ask<runner::Loaded>(runner::Load{1, inputs, outputs, true, {}}, {file.get()});
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(loaded->wrong) << loaded->index << ": " << loaded->got;
  EXPECT_EQ(loaded->resident_bytes, 4 * kElements);
}

std::string rounds_of(int rounds) {
  return fmt::format(
      "mov.u32 %r9, {};\n$again:\nadd.s32 %r9, %r9, -1;\nsetp.ne.s32 %p1, %r9, 0;\n"
      "@%p1 bra $again;\n",
      rounds);
}

TEST_F(CudaEngineTest, VisitsTellTimes) {
  ASSERT_TRUE(asking().load(sum_image(), 5));
  ASSERT_TRUE(asking().load(sum_image(rounds_of(2000)), 6));
  ASSERT_TRUE(asking().load(with_constants(), 7));
  const auto visit = [&](std::int64_t id, bool cold) {
    const auto visited = asking().ask<runner::Visited>(runner::VisitRequest{
        .id = id, .min_seconds = 0.02, .cache = cold ? CacheMode::kCold : CacheMode::kWarm});
    EXPECT_TRUE(visited) << visited.error().text();
    return *visited;
  };
  for (const bool cold : {false, true, false}) {
    const runner::Visited quick = visit(5, cold), slower = visit(6, cold);
    ASSERT_FALSE(quick.seconds.empty());
    ASSERT_FALSE(slower.seconds.empty());
    EXPECT_TRUE(quick.disturbed.empty());
    const double least = std::ranges::min(quick.seconds);
    EXPECT_GT(least, 0);
    EXPECT_LT(least, std::ranges::min(slower.seconds));
    EXPECT_GT(quick.sentinel_before, 0);
    EXPECT_GT(quick.sentinel_after, 0);
    EXPECT_FALSE(visit(7, cold).seconds.empty());
    expect_right(sum_image());  // others' tensors are as they were
  }
  const auto paused = asking().ask<runner::Visited>(
      runner::VisitRequest{.id = 5, .pause_seconds = 1e-3, .pauses = 3});
  ASSERT_TRUE(paused);
  EXPECT_EQ(paused->seconds.size(), 3U);
  EXPECT_FALSE(asking().ask<runner::Visited>(runner::VisitRequest{.id = 8}));
}

TEST_F(CudaEngineTest, MemoryThatMovesIsFoundAgain) {
  ASSERT_TRUE(asking().load(sum_image(), 5));
  ASSERT_TRUE(asking().ask<runner::Visited>(runner::VisitRequest{.id = 5, .min_seconds = 0.001}));
  Image large = sum_image();
  large.scratch_bytes = 1 << 20;
  ASSERT_TRUE(asking().load(large, 6));
  for (const std::int64_t id : {5, 6, 5})
    for (const bool cold : {false, true})
      EXPECT_TRUE(asking().ask<runner::Visited>(runner::VisitRequest{
          .id = id, .min_seconds = 0.001, .cache = cold ? CacheMode::kCold : CacheMode::kWarm}));
}

TEST_F(CudaEngineTest, ProgramsRunOnTensorsOfTheirOwn) {
  std::vector<float> data(2 * 112, 2), result(kElements);
  const runner::Fd code = file_of(sum_image());
  const auto inputs = runner::make_memory_file("inputs", std::as_bytes(std::span(data)));
  const auto outputs = runner::make_memory_file("outputs", std::int64_t{4 * kElements});
  const auto executed = asking().ask<runner::Executed>(runner::Execute{.inputs = Asking::inputs(),
                                                                       .outputs = Asking::outputs(),
                                                                       .repeats = 3,
                                                                       .min_sample_seconds = 1e-3},
                                                       {code.get(), inputs->get(), outputs->get()});
  ASSERT_TRUE(executed) << executed.error().text();
  EXPECT_EQ(executed->seconds.size(), 3U);
  ASSERT_EQ(::pread(outputs->get(), result.data(), 4 * kElements, 0), 4 * kElements);
  EXPECT_EQ(std::ranges::count(result, 4.0F), kElements);
  expect_right(sum_image());
}

TEST_F(CudaEngineTest, TheCardIsDescribed) {
  const auto described = asking().ask<runner::Described>(runner::Describe{});
  ASSERT_TRUE(described) << described.error().text();
  EXPECT_TRUE(described->fingerprint.contains("Fake H200")) << described->fingerprint;
}

TEST_F(CudaTest, SaysWhatIsMissing) {
  ServedCard served({.device = {}, .library = "libcuda-that-nobody-has.so", .cache = {}});
  const Status status = served->set_up();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(status.error().message.contains("install NVIDIA's driver"));
  EXPECT_FALSE(served->load(sum_image()));
}

}  // namespace
}  // namespace lathe::cuda
