// Measuring on a card, a double of whose driver stands in for it: what a candidate breaks costs
// that candidate alone.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "base/file.h"
#include "runtime/device/cuda/image.h"
#include "unit/measure/faults.h"

namespace lathe::measure {
namespace {

// C[i,j] = sum(k) A[k,i] * B[k,j] of 11, 13 and 17, an element a thread; `fault` comes before the
// store of %f1, with A, B and C at %rd1, %rd2 and %rd3.
std::string product_with(const std::string& fault) {
  return R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry product(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .f32 %f<4>;
.reg .b64 %rd<12>;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
ld.param.u64 %rd3, [p2];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd4, %rd1, %rd4;
mul.wide.u32 %rd5, %r2, 4;
add.s64 %rd5, %rd2, %rd5;
mov.f32 %f1, 0f00000000;
mov.u32 %r3, 11;
$again:
ld.global.f32 %f2, [%rd4];
ld.global.f32 %f3, [%rd5];
fma.rn.f32 %f1, %f2, %f3, %f1;
add.s64 %rd4, %rd4, 52;
add.s64 %rd5, %rd5, 68;
add.s32 %r3, %r3, -1;
setp.ne.s32 %p1, %r3, 0;
@%p1 bra $again;
mad.lo.s32 %r4, %r1, 17, %r2;
mul.wide.u32 %rd6, %r4, 4;
add.s64 %rd6, %rd3, %rd6;
)" + fault +
         "st.global.f32 [%rd6], %f1;\nret;\n}\n";
}

class CardFaults : public Faults {
 protected:
  CardFaults() {
    ::setenv("LATHE_CUDA_LIBRARY", LATHE_FAKE_CUDA_LIBRARY, 1);
    ::setenv("LATHE_TEST_CANDIDATES", folder_.path().c_str(), 1);
    ::setenv("XDG_CACHE_HOME", folder_.at("cache").c_str(), 1);
    options_.timeout_seconds = 2;
    keep("good", "");
    keep("loops", "$ever:\nbra $ever;\n");
    keep("illegal", "mov.u64 %rd7, 4096;\nst.global.f32 [%rd7], %f1;\n");
    keep("overrun", "st.global.f32 [%rd3+884], %f1;\n");
    keep("wrong", "add.rn.f32 %f1, %f1, 0f3F800000;\n");
    keep("refused_text", "nonsense.f32 %f1;\n");
  }
  ~CardFaults() override {
    for (const char* name : {"LATHE_CUDA_LIBRARY", "LATHE_TEST_CANDIDATES", "XDG_CACHE_HOME"})
      ::unsetenv(name);
  }

  void keep(const std::string& name, const std::string& fault) {
    cuda::Image image;
    image.ptx = product_with(fault);
    image.architecture = 75;
    image.inputs = {4 * 11 * 13, 4 * 11 * 17};
    image.outputs = {4 * 13 * 17};
    image.run = {
        {.kernel = "product",
         .arguments = {{cuda::Area::kInput, 0}, {cuda::Area::kInput, 1}, {cuda::Area::kOutput, 0}},
         .groups = {13, 1, 1},
         .items = {17, 1, 1}}};
    const auto bytes = cuda::bytes_of(image);
    ASSERT_TRUE(write_whole(folder_.at(name + ".so"),
                            {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }

  std::unique_ptr<Measurer> make_on_card() {
    const auto workload =
        te::parse_workload("A: f32[11, 13]; B: f32[11, 17]; C[i,j] = sum(k) A[k,i] * B[k,j]");
    auto measurer = make_measurer(*workload, *parse_target("cuda:Fake H200"), options_);
    EXPECT_TRUE(measurer.has_value()) << measurer.error().text();
    return std::move(*measurer);
  }

  // The fault, between candidates that must come out well.
  Outcome fault(const std::string& name) {
    const auto measurer = make_on_card();
    const auto outcomes = measure(*measurer, {"good@1", name, "good@2", "good@3"});
    EXPECT_EQ(outcomes.size(), 4U);
    for (const int tag : {0, 2, 3}) {
      EXPECT_FALSE(outcomes.at(tag).error) << outcomes.at(tag).error->text();
      EXPECT_GT(outcomes.at(tag).seconds, 0);
    }
    return outcomes.at(1);
  }
};

TEST_F(CardFaults, NoneIsFoundInARightProgram) {
  const auto measurer = make_on_card();
  EXPECT_EQ(measurer->machine().name(), "Fake H200");
  const auto outcomes = measure(*measurer, {"good@1", "good@2"});
  for (const auto& [tag, outcome] : outcomes) {
    EXPECT_FALSE(outcome.error) << outcome.error->text();
    EXPECT_LT(outcome.numerical_error, 1e-6);
    EXPECT_FALSE(outcome.visits.empty());
  }
}

TEST_F(CardFaults, AnIllegalAccessCostsOneTrial) {
  const Outcome outcome = fault("illegal");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::kRun);
  EXPECT_TRUE(outcome.error->text().contains("CUDA_ERROR_ILLEGAL_ADDRESS"))
      << outcome.error->text();
  EXPECT_TRUE(outcome.visits.empty());
}

TEST_F(CardFaults, ALoopWithoutAnEndCostsOneTrial) {
  const Outcome outcome = fault("loops");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, ErrorKind::kTimeout) << outcome.error->text();
}

TEST_F(CardFaults, OtherFaultsAreSaid) {
  for (const auto& [name, kind, words] :
       {std::tuple{"overrun", ErrorKind::kRun, "it wrote after the end of output C"},
        std::tuple{"refused_text", ErrorKind::kBuild, "the driver's assembler refuses"},
        std::tuple{"wrong", ErrorKind::kWrongAnswer, ""}}) {
    const Outcome outcome = fault(name);
    ASSERT_TRUE(outcome.error) << name;
    EXPECT_EQ(outcome.error->kind, kind) << outcome.error->text();
    EXPECT_TRUE(outcome.error->text().contains(words)) << outcome.error->text();
  }
}

TEST_F(CardFaults, ASecondRunnerStandsReady) {
  const auto measurer = make_on_card();
  measure(*measurer, {"good@1"});
  const auto count = [] {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      std::string number, name, state;
      int parent = 0;
      if (file >> number >> name >> state >> parent)
        found += parent == ::getpid() && state != "Z" && name.starts_with("(lathe-cuda-run");
    }
    return found;
  };
  // A process has the program's name once it has begun.
  const auto both_are_there = [&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (count() != 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return count() == 2;
  };
  EXPECT_TRUE(both_are_there());
  EXPECT_TRUE(measure(*measurer, {"illegal"}).at(0).error);
  const auto next = measure(*measurer, {"wrong"});  // another program than before: it is run
  ASSERT_TRUE(next.at(0).error);
  EXPECT_EQ(next.at(0).error->kind, ErrorKind::kWrongAnswer);
  EXPECT_TRUE(both_are_there());
}

TEST_F(CardFaults, ProgramsForAnotherCardAreNotTimed) {
  const auto workload = te::parse_workload("A: f32[11]; C[i] = A[i]");
  const auto measurer = make_measurer(*workload, *parse_target("cuda:A100"), options_);
  ASSERT_FALSE(measurer);
  EXPECT_TRUE(
      measurer.error().message.contains("cannot be timed here, where the card is Fake H200"))
      << measurer.error().text();
}

}  // namespace
}  // namespace lathe::measure
