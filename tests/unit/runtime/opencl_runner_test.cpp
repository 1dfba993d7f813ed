// The process that runs candidates: what one of them breaks ends with it.
#include <gtest/gtest.h>
#include <poll.h>

#include "unit/runtime/opencl.h"

namespace lathe::opencl {
namespace {

class OpenclProcess : public test::RunnerProcess {
 public:
  OpenclProcess() : RunnerProcess("lathe-opencl-runner") {}
};

TEST_F(OpenclTest, TheRunnerAnswersLikeTheOtherRunner) {
  OpenclProcess process;
  ASSERT_TRUE(process.ready()) << process.ready().error().text();
  const auto loaded = process->load(make_image(kSum));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(loaded->wrong);
  EXPECT_TRUE(process->ask<runner::Visited>(runner::VisitRequest{.id = 1}));
}

TEST_F(OpenclTest, ACrashIsToldAndTheNextProcessIsWhole) {
  {
    OpenclProcess process;
    Image image = make_image(kSum);
    image.source.replace(image.source.find("c[i]"), 4,
                         "*(volatile __global float*)(size_t)8 = 1; c[i]");
    const auto loaded = process->load(image);
    // What a GPU makes of that is its driver's matter.
    if (device_->facts().kind == "cpu") {
      ASSERT_FALSE(loaded);
      EXPECT_TRUE(loaded.error().message.starts_with("the candidate crashed with SIGSEGV"))
          << loaded.error().text();
    }
  }
  OpenclProcess next;
  EXPECT_TRUE(next.ready());
  EXPECT_TRUE(next->load(make_image(kSum)));
}

TEST_F(OpenclTest, ALoopWithoutAnEndIsTheProcesssMatter) {
  {
    OpenclProcess process;
    Image image = make_image(kSum);
    image.source.replace(image.source.find("c[i]"), 4,
                         "for (volatile int k = 1; k != 0; k = 1) ; c[i]");
    const runner::Fd file = file_of(image);
    const runner::Load load{1, Asking::inputs(), Asking::outputs(), true, {}};
    ASSERT_TRUE(process->channel().send(runner::encode(load), std::vector{file.get()}));
    pollfd entry{process->channel().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 1000), 0) << "it still runs";
    process.end();
  }
  OpenclProcess next;
  EXPECT_TRUE(next->load(make_image(kSum)));
}

}  // namespace
}  // namespace lathe::opencl
