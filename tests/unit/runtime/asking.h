// A tuner's end of a channel to a runner of a device, for a workload of a sum; a runner's server in
// a thread, and as a process.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/helper_path.h"
#include "runtime/runner/protocol.h"
#include "runtime/runner/server.h"

namespace lathe::test {

inline constexpr std::int64_t kElements = 100;

template <class Image>
runner::Fd file_of(const Image& image) {
  const auto bytes = bytes_of(image);
  return *runner::make_memory_file("image", std::span(bytes));
}

// A tuner's end of a channel.
class Asking {
 public:
  explicit Asking(runner::Fd end) : channel_(std::move(end), runner::Patience::kEndless) {
    EXPECT_TRUE(channel_.receive()) << "the greeting";
  }

  template <class Answer, class Question>
  Result<Answer> ask(const Question& question, const std::vector<int>& fds = {}) {
    LATHE_TRY_STATUS(channel_.send(runner::encode(question), fds));
    const runner::Message reply = LATHE_TRY(channel_.receive());
    if (runner::is<Error>(reply)) return std::unexpected(LATHE_TRY(runner::decode<Error>(reply)));
    if (runner::is<runner::Broken>(reply))
      return std::unexpected(LATHE_TRY(runner::decode<runner::Broken>(reply)).error);
    if (runner::is<runner::Crash>(reply))
      return std::unexpected(LATHE_TRY(runner::decode<runner::Crash>(reply)).error());
    return runner::decode<Answer>(reply);
  }

  // A[i] = i and B[i] = 1000 + i; the reference of C is their sum. B is constant.
  Status set_up(std::int64_t memory_bytes = 0) {
    runner::RunnerSetup setup;
    setup.inputs = inputs();
    setup.outputs = outputs();
    setup.memory_bytes = memory_bytes;
    std::vector<float> data(2 * 112);  // each begins at a multiple of 64 bytes
    std::vector<double> want(2 * kElements);
    for (int i = 0; i < kElements; ++i) {
      data[i] = static_cast<float>(i);
      data[112 + i] = static_cast<float>(1000 + i);
      want[i] = 1000 + 2 * i;  // then as many bounds of 0
    }
    const auto file = runner::make_memory_file("inputs", std::as_bytes(std::span(data)));
    setup.inputs_asset = "inputs";
    LATHE_TRY(ask<runner::Ready>(runner::KeepAsset{"inputs", {}}, {file->get()}));
    LATHE_TRY(ask<runner::Ready>(setup));
    const auto reference = runner::make_memory_file("reference", std::as_bytes(std::span(want)));
    LATHE_TRY(ask<runner::Ready>(runner::KeepAsset{"reference", {}}, {reference->get()}));
    LATHE_TRY(ask<runner::Ready>(runner::ReferenceInfo{"reference", 0}));
    return {};
  }
  template <class Image>
  Result<runner::Loaded> load(const Image& image, std::int64_t id = 1) {
    const runner::Fd file = file_of(image);
    return ask<runner::Loaded>(runner::Load{id, inputs(), outputs(), true, {}}, {file.get()});
  }
  runner::Channel& channel() { return channel_; }

  static std::vector<tensor::Border> inputs() {
    return {tensor::plain_border("A", Dtype::kF32, {kElements}),
            tensor::plain_border("B", Dtype::kF32, {kElements}, true)};
  }
  static std::vector<tensor::Border> outputs() {
    return {tensor::plain_border("C", Dtype::kF32, {kElements})};
  }

 private:
  runner::Channel channel_;
};

// The candidate must come out well.
template <class Image>
void expect_right(Asking& asking, const Image& image) {
  const auto loaded = asking.load(image);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_FALSE(loaded->wrong) << loaded->index << ": " << loaded->got;
  EXPECT_EQ(loaded->max_error, 0);
}
// The fault, and then a candidate that must come out well.
template <class Image>
void expect_fault(Asking& asking, const Image& image, const std::string& words, ErrorKind kind,
                  const Image& right) {
  const auto loaded = asking.load(image);
  ASSERT_FALSE(loaded) << words;
  EXPECT_TRUE(loaded.error().text().contains(words)) << loaded.error().text();
  EXPECT_EQ(loaded.error().kind, kind) << loaded.error().text();
  expect_right(asking, right);
}

// A server in a thread of this process.
class Served {
 public:
  explicit Served(const std::function<std::unique_ptr<runner::Engine>()>& make)
      : ends_(*runner::make_pair_of_ends()),
        thread_([this, make] {
          runner::Channel channel(std::move(ends_.second), runner::Patience::kEndless);
          const auto engine = make();
          runner::Server(channel, *engine).serve();
        }),
        asking_(std::make_unique<Asking>(std::move(ends_.first))) {}
  ~Served() {
    asking_.reset();
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  Asking* operator->() { return asking_.get(); }

 private:
  std::pair<runner::Fd, runner::Fd> ends_;
  std::thread thread_;
  std::unique_ptr<Asking> asking_;
};

// A running helper of this name; it is killed when this object goes.
class RunnerProcess {
 public:
  // With a workload, unless told otherwise.
  explicit RunnerProcess(const std::string& name, bool set_up = true) {
    auto ends = *runner::make_pair_of_ends();
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, ends.second.get(), runner::kChannelFd);
    std::string path = *find_helper(name);
    char* arguments[] = {path.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, path.c_str(), &files, nullptr, arguments, environ), 0);
    ::posix_spawn_file_actions_destroy(&files);
    ends.second = {};
    asking_ = std::make_unique<Asking>(std::move(ends.first));
    if (set_up) ready_ = asking_->set_up();
  }
  ~RunnerProcess() { end(); }
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

}  // namespace lathe::test
