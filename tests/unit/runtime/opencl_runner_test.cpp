// The process that runs candidates: what one of them breaks ends with it.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_path.h"
#include "unit/runtime/opencl.h"

namespace lathe::opencl {
namespace {

// A running lathe-opencl-runner; it is killed when this object goes.
class OpenclProcess {
 public:
  OpenclProcess() {
    auto ends = *runner::make_pair_of_ends();
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, ends.second.get(), runner::kChannelFd);
    std::string path = *find_helper("lathe-opencl-runner");
    char* arguments[] = {path.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, path.c_str(), &files, nullptr, arguments, environ), 0);
    ::posix_spawn_file_actions_destroy(&files);
    asking_ = std::make_unique<Asking>(std::move(ends.first));
    ready_ = asking_->set_up();
  }
  ~OpenclProcess() { end(); }
  void end() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  Asking* operator->() { return asking_.get(); }
  const Status& ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  std::unique_ptr<Asking> asking_;
  Status ready_;
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
