#include "runtime/device/opencl/engine.h"

#include <gtest/gtest.h>

#include "unit/runtime/opencl.h"

namespace lathe::opencl {
namespace {

class OpenclEngine : public OpenclTest {
 protected:
  void SetUp() override {
    OpenclTest::SetUp();
    if (IsSkipped()) return;
    served_ = std::make_unique<Served>();
    const Status ready = asking().set_up();
    ASSERT_TRUE(ready) << ready.error().text();
  }
  Asking& asking() { return *served_->operator->(); }
  void expect_right(const Image& image) { test::expect_right(asking(), image); }
  void expect_fault(const Image& image, const std::string& words,
                    ErrorKind kind = ErrorKind::kRun) {
    test::expect_fault(asking(), image, words, kind, make_image(kSum));
  }

  std::unique_ptr<Served> served_;
};

TEST_F(OpenclEngine, ARightResultIsRight) { expect_right(make_image(kSum)); }

TEST_F(OpenclEngine, LaunchesRunInOrder) {
  Image image = make_image(R"(
__kernel void first(__global const float* a, __global float* s) {
  s[get_global_id(0)] = 2 * a[get_global_id(0)];
}
__kernel void second(__global const float* b, __global float* s) {
  const int i = get_global_id(0);
  if (i == 0) for (int k = 0; k < 100; ++k) s[k] += b[k];
}
__kernel void third(__global const float* a, __global const float* s, __global float* c) {
  c[get_global_id(0)] = s[get_global_id(0)] - a[get_global_id(0)];
})");
  image.scratch_bytes = 4 * kElements;
  image.run = {{"first", {{Area::kInput, 0}, {Area::kScratch, 0}}, {50, 1, 1}, {2, 1, 1}},
               {"second", {{Area::kInput, 1}, {Area::kScratch, 0}}, {1, 1, 1}, {1, 1, 1}},
               {"third",
                {{Area::kInput, 0}, {Area::kScratch, 0}, {Area::kOutput, 0}},
                {1, 1, 1},
                {100, 1, 1}}};
  expect_right(image);
}

Image with_constants() {
  Image image = make_image(R"(
__kernel void prepare(__global const float* b, __global float* k) {
  k[get_global_id(0)] = 3 * b[get_global_id(0)];
}
__kernel void f(__global const float* a, __global const float* k, __global float* c) {
  c[get_global_id(0)] = a[get_global_id(0)] + k[get_global_id(0)] / 3;
})");
  image.constant_bytes = 4 * kElements;
  image.prepare = {{"prepare", {{Area::kInput, 1}, {Area::kConstant, 0}}, {100, 1, 1}, {1, 1, 1}}};
  image.run[0].arguments[1] = {Area::kConstant, 0};
  return image;
}

TEST_F(OpenclEngine, ConstantsArePreparedOnceAndKept) {
  expect_right(with_constants());
  const auto loaded = asking().load(with_constants());
  EXPECT_EQ(loaded->resident_bytes, 4 * kElements);
  EXPECT_GT(loaded->prepare_seconds, 0);
}

TEST_F(OpenclEngine, ConstantsComeFromWhatIsConstant) {
  Image image = with_constants();
  image.prepare[0].arguments[0].position = 0;
  expect_fault(image, "prepare prepares constants from what is not known before the first call");
}

TEST_F(OpenclEngine, ConstantsStay) {
  Image image = with_constants();
  image.source.replace(image.source.find("c[get"), 0, "((__global float*)k)[0] += 1; ");
  expect_fault(image, "wrote into its constants");
}

TEST_F(OpenclEngine, WritesOutOfBoundsAreFound) {
  Image image = make_image(kSum);
  image.run[0].groups[0] = 11;
  expect_fault(image, "it wrote after the end of output C");
  image = make_image(kSum);
  image.source.replace(image.source.find("c[i]"), 4, "if (i == 5) c[-1] = 0; c[i]");
  expect_fault(image, "it wrote before the start of output C");
  image = make_image(kSum);
  image.scratch_bytes = 40;
  image.run[0].arguments[2] = {Area::kScratch, 0};
  expect_fault(image, "it wrote after the end of scratch");
  image = with_constants();
  image.prepare[0].groups[0] = 101;
  expect_fault(image, "it wrote after the end of constants");
  image = make_image(kSum);
  image.source.replace(image.source.find("c[i]"), 4, "((__global float*)a)[100] = 0; c[i]");
  expect_fault(image, "it wrote after the end of input A");
}

TEST_F(OpenclEngine, AChangedInputIsFoundAndMended) {
  Image image = make_image(kSum);
  image.source.replace(image.source.find("c[i]"), 4,
                       "if (i == 7) ((__global float*)b)[i] = 0; c[i]");
  expect_fault(image, "the candidate wrote into input B, which is not its own");
}

TEST_F(OpenclEngine, AnElementThatIsNotWrittenIsWrong) {
  expect_right(make_image(kSum));  // leaves right values where they were
  Image image = make_image(kSum);
  image.source.replace(image.source.find("c[i]"), 4, "if (i != 42) c[i]");
  const auto loaded = asking().load(image);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_TRUE(loaded->wrong);
  EXPECT_EQ(loaded->index, 42);
  EXPECT_TRUE(std::isnan(loaded->got));
}

TEST_F(OpenclEngine, ScratchIsNanBeforeItIsWritten) {
  Image image = make_image(kSum);
  image.scratch_bytes = 4 * kElements;
  image.source.replace(image.source.find("a[i] + b[i]"), 11, "a[i] + 0 * b[i]");
  image.run[0].arguments[1] = {Area::kScratch, 0};
  const auto loaded = asking().load(image);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_TRUE(loaded->wrong);
  EXPECT_TRUE(std::isnan(loaded->got));
}

TEST_F(OpenclEngine, BuffersHaveTheSizesOfTheirBorders) {
  Image image = make_image(kSum);
  image.outputs = {4 * kElements + 4};
  expect_fault(image, "404 bytes for this output, its border 400");
  image = make_image(kSum);
  image.inputs.pop_back();
  image.run[0].arguments[1] = {Area::kInput, 0};
  expect_fault(image, "1 inputs, the workload 2");
}

TEST_F(OpenclEngine, FaultsOfBuildingAreErrorsOfTheCandidate) {
  expect_fault(make_image("nonsense"), "OpenCL's compiler refuses", ErrorKind::kBuild);
  Image image = make_image(kSum);
  image.run[0].items[0] = 2 * device_->facts().group_size;
  expect_fault(image, "a group of f has", ErrorKind::kUnsupported);
  const auto file = runner::make_memory_file("image", std::as_bytes(std::span("no image")));
  const auto loaded = asking().ask<runner::Loaded>(
      runner::Load{1, Asking::inputs(), Asking::outputs(), true, {}}, {file->get()});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().message.contains("no image of an OpenCL program"));
}

TEST_F(OpenclEngine, MemoryOfACandidateHasALimit) {
  ASSERT_TRUE(asking().set_up(1 << 20));
  Image image = make_image(kSum);
  image.scratch_bytes = (1 << 20) + 1;
  expect_fault(image, "may have 1048576", ErrorKind::kOutOfMemory);
}

TEST_F(OpenclEngine, PackedTensorsAreStoredAsTheirBorders) {
  // A is stored in reverse digits: element i at 10 * (i % 10) + i / 10; so is C.
  auto inputs = Asking::inputs();
  auto outputs = Asking::outputs();
  inputs[0].layout = outputs[0].layout = {{0, 1, 10, 10, 0}, {0, 10, 10, 1, 0}};
  Image image = make_image(R"(
__kernel void f(__global const float* a, __global const float* b, __global float* c) {
  const int i = get_global_id(0), at = i % 10 * 10 + i / 10;
  c[at] = a[at] + b[i];
})");
  const runner::Fd file = file_of(image);
  const auto loaded =
      asking().ask<runner::Loaded>(runner::Load{1, inputs, outputs, true, {}}, {file.get()});
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(loaded->wrong) << loaded->index << ": " << loaded->got;
  EXPECT_EQ(loaded->resident_bytes, 4 * kElements);
}

TEST_F(OpenclEngine, VisitsTellTimes) {
  ASSERT_TRUE(asking().load(make_image(kSum), 5));
  Image slow = make_image(kSum);
  slow.source.replace(slow.source.find("c[i]"), 4,
                      "float x = a[i]; for (int k = 0; k < 20000; ++k) x = x * 0.5f + 1; "
                      "c[i] = x; c[i]");
  ASSERT_TRUE(asking().load(slow, 6));
  const auto visit = [&](std::int64_t id, bool cold) {
    const auto visited = asking().ask<runner::Visited>(runner::VisitRequest{
        .id = id, .min_seconds = 0.02, .cache = cold ? CacheMode::kCold : CacheMode::kWarm});
    EXPECT_TRUE(visited) << visited.error().text();
    return *visited;
  };
  for (const bool cold : {false, true}) {
    const runner::Visited quick = visit(5, cold), slower = visit(6, cold);
    ASSERT_FALSE(quick.seconds.empty() && quick.disturbed.empty());
    ASSERT_FALSE(slower.seconds.empty() && slower.disturbed.empty());
    const double least = std::ranges::min(quick.seconds.empty() ? quick.disturbed : quick.seconds);
    EXPECT_GT(least, 0);
    EXPECT_LT(least, std::ranges::min(slower.seconds.empty() ? slower.disturbed : slower.seconds));
    EXPECT_GT(quick.sentinel_before, 0);
    EXPECT_GT(quick.sentinel_after, 0);
    EXPECT_LE(least * quick.calls, quick.wall_seconds);
    EXPECT_EQ(quick.calls > 1, !cold) << "short calls are timed together";
  }
  EXPECT_FALSE(asking().ask<runner::Visited>(runner::VisitRequest{.id = 7}));
}

TEST_F(OpenclEngine, ProgramsRunOnTensorsOfTheirOwn) {
  std::vector<float> data(2 * 112, 2), result(kElements);
  const runner::Fd code = file_of(make_image(kSum));
  const auto inputs = runner::make_memory_file("inputs", std::as_bytes(std::span(data)));
  const auto outputs = runner::make_memory_file("outputs", std::int64_t{4 * kElements});
  const auto executed = asking().ask<runner::Executed>(
      runner::Execute{.inputs = Asking::inputs(), .outputs = Asking::outputs(), .repeats = 3},
      {code.get(), inputs->get(), outputs->get()});
  ASSERT_TRUE(executed) << executed.error().text();
  EXPECT_EQ(executed->seconds.size(), 3U);
  ASSERT_EQ(::pread(outputs->get(), result.data(), 4 * kElements, 0), 4 * kElements);
  EXPECT_EQ(std::ranges::count(result, 4.0F), kElements);
  expect_right(make_image(kSum));
}

TEST(OpenclEngineAlone, SaysWhatIsMissing) {
  Served served({.device = {}, .library = "libOpenCL-that-nobody-has.so", .cache = {}});
  const Status status = served->set_up();
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.contains("install ocl-icd-libopencl1"));
  EXPECT_FALSE(served->load(make_image(kSum)));
}

}  // namespace
}  // namespace lathe::opencl
