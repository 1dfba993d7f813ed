// The process that runs candidates: what one of them breaks ends with it, and so does what the
// driver breaks.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <map>

#include "base/file.h"
#include "support/fake_cuda/options.h"
#include "unit/runtime/cuda.h"

namespace lathe::cuda {
namespace {

class CudaProcess : public test::RunnerProcess {
 public:
  explicit CudaProcess(bool set_up = true) : RunnerProcess("lathe-cuda-runner", set_up) {}
};

TEST_F(CudaTest, TheRunnerAnswersLikeTheOtherRunner) {
  CudaProcess process;
  ASSERT_TRUE(process.ready()) << process.ready().error().text();
  const auto loaded = process->load(sum_image());
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(loaded->wrong);
  EXPECT_TRUE(process->ask<runner::Visited>(runner::VisitRequest{.id = 1}));
}

TEST_F(CudaTest, AnIllegalAccessEndsTheProcessAndTheNextIsWhole) {
  {
    CudaProcess process;
    const auto loaded =
        process->load(sum_image("mov.u64 %rd20, 4096;\nst.global.f32 [%rd20], %f3;\n"));
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().text(),
              "the card did not finish the candidate (CUDA_ERROR_ILLEGAL_ADDRESS)");
    EXPECT_FALSE(process->load(sum_image())) << "the process has ended";
  }
  CudaProcess next;
  EXPECT_TRUE(next.ready());
  EXPECT_TRUE(next->load(sum_image()));
}

TEST_F(CudaTest, ALoopWithoutAnEndIsTheProcesssMatter) {
  {
    CudaProcess process;
    const runner::Fd file = file_of(sum_image("$again:\nbra $again;\n"));
    const runner::Load load{1, Asking::inputs(), Asking::outputs(), true, {}};
    ASSERT_TRUE(process->channel().send(runner::encode(load), std::vector{file.get()}));
    pollfd entry{process->channel().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 500), 0) << "it still runs";
    process.end();
  }
  CudaProcess next;
  EXPECT_TRUE(next->load(sum_image()));
}

TEST_F(CudaTest, MachineCodeIsKept) {
  const std::string state = folder_.at("state");
  const Told double_told("state=" + state);
  const auto assembled = [&] {
    CudaProcess process;
    EXPECT_TRUE(process->load(sum_image()));
    const std::string bytes = *read_file(state);
    fake_cuda::State counted{};
    std::memcpy(&counted, bytes.data(), sizeof counted);
    for (const fake_cuda::Counter& counter : counted.functions)
      if (std::strcmp(counter.name, "cuLinkComplete") == 0) return counter.calls;
    return std::int64_t{0};
  };
  EXPECT_EQ(assembled(), 2) << "the sentinel and the candidate";
  EXPECT_EQ(assembled(), 2) << "nothing is assembled twice";
}

TEST_F(CudaTest, MemoryThatOthersHoldIsSaid) {
  const Told double_told("free=200000");
  CudaProcess process;
  ASSERT_FALSE(process.ready());
  EXPECT_EQ(process.ready().error().kind, ErrorKind::kIo);
  EXPECT_TRUE(process.ready().error().message.contains("bytes are free (CUDA_ERROR_OUT_OF_MEMORY)"))
      << process.ready().error().text();
}

TEST_F(CudaTest, ACardThatIsLostIsSaidByTheNextProcess) {
  const Told double_told("lost=12 state=" + folder_.at("state"));
  {
    CudaProcess process;
    ASSERT_TRUE(process.ready()) << process.ready().error().text();
    Result<runner::Loaded> loaded;
    for (int i = 1; i < 12 && (loaded = process->load(sum_image(), i)); ++i) {
    }
    EXPECT_FALSE(loaded);
  }
  CudaProcess next;
  ASSERT_FALSE(next.ready());
  EXPECT_EQ(next.ready().error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(next.ready().error().message.contains("finds no card"))
      << next.ready().error().text();
}

// What happens to a process whose driver fails once: it answers with a sentence, or it ends.
struct Ended {
  bool answered = false, ended = false, worked = false;
  std::string sentence;
};

Ended work() {
  CudaProcess process;
  Ended ended;
  const auto judge = [&](const auto& answer) {
    if (answer) return true;
    const bool gone = answer.error().kind == ErrorKind::kIo && answer.error().place.empty() &&
                      !answer.error().message.contains("CUDA_ERROR");
    (gone ? ended.ended : ended.answered) = true;
    ended.sentence = answer.error().text();
    return false;
  };
  if (!judge(process.ready())) return ended;
  for (const bool cold : {false, true}) {
    if (!judge(process->load(sum_image(), cold ? 2 : 1))) return ended;
    const runner::VisitRequest visit{.id = cold ? 2 : 1,
                                     .min_seconds = 1e-4,
                                     .cache = cold ? CacheMode::kCold : CacheMode::kWarm};
    if (!judge(process->ask<runner::Visited>(visit))) return ended;
  }
  ended.worked = true;
  return ended;
}

std::map<std::string, std::int64_t> calls_of(const std::string& state) {
  const std::string bytes = *read_file(state);
  fake_cuda::State counted{};
  std::memcpy(&counted, bytes.data(), sizeof counted);
  std::map<std::string, std::int64_t> calls;
  for (const fake_cuda::Counter& counter : counted.functions)
    if (counter.name[0] != 0) calls[counter.name] = counter.calls;
  return calls;
}

// Each of the first calls of each function fails, once with a code that leaves the context whole
// and once with one that does not. No process hangs, and each says what it was.
TEST_F(CudaTest, EveryCallThatFailsIsSaid) {
  const std::string state = folder_.at("state");
  {
    const Told double_told("state=" + state);
    const Ended ended = work();
    ASSERT_TRUE(ended.worked) << ended.sentence;
  }
  // A card that cannot be opened before it is needed is opened again.
  const std::string opening_state = folder_.at("opening");
  {
    std::filesystem::remove_all(folder_.at("cache"));
    const Told double_told("state=" + opening_state);
    const CudaProcess process(false);
  }
  auto opening = calls_of(opening_state);
  // What the driver does not tell of a card is left out, and what cannot be released is kept.
  const auto may_be_missing = [](const std::string& name) {
    return name.starts_with("cuDeviceGetName") || name.starts_with("cuDeviceGetUuid") ||
           name.starts_with("cuDeviceGetAttribute") || name.starts_with("cuDriverGetVersion") ||
           name.starts_with("cuFuncGetAttribute") || name.contains("Destroy") ||
           name.starts_with("cuModuleUnload") || name.starts_with("cuMemFree") ||
           name.starts_with("cuMemGetInfo") || name.starts_with("cuDeviceTotalMem");
  };
  constexpr std::int64_t kMostCalls = 12;
  const std::string counted = folder_.at("counted");
  int failed = 0;
  for (const auto& [name, calls] : calls_of(state))
    for (const int code : {1, 719})
      for (std::int64_t call = 1; call <= std::min(calls, kMostCalls); ++call) {
        std::filesystem::remove_all(folder_.at("cache"));
        std::filesystem::remove(counted);
        const Told double_told(fmt::format("state={} fail={}:{}:{}", counted, name, call, code));
        const Ended ended = work();
        if (ended.worked) {
          // How many calls there are depends on how long they take.
          if (calls_of(counted)[name] < call) continue;
          // Code of the cache that does not load is assembled anew.
          const bool from_cache = name == "cuModuleLoadDataEx" && call > 2;
          EXPECT_TRUE(code == 1 && (may_be_missing(name) || call <= opening[name] || from_cache))
              << name << " " << call;
          continue;
        }
        ++failed;
        EXPECT_FALSE(ended.sentence.empty());
        if (ended.answered)
          EXPECT_EQ(std::ranges::count(ended.sentence, '\n'), 0) << ended.sentence;
      }
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace lathe::cuda
