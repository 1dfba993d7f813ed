#include "tuner/measure/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "runtime/runner/protocol.h"
#include "tuner/measure/helper.h"

namespace lathe::measure {
namespace {

std::string script(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + std::to_string(::getpid()) + name;
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

Helper::Reply ask(Helper& helper, double seconds = 5) {
  Helper::Reply result = fail(ErrorKind::kInternal, "no answer");
  helper.request({1, 0, "question"}, {}, seconds,
                 [&](Helper::Reply reply) { result = std::move(reply); });
  EventLoop({&helper}).finish(helper);
  return result;
}

TEST(Helper, AMissingProgramIsAnErrorWithItsName) {
  Helper helper({"runner", "/nowhere/lathe-runner", ErrorKind::kRun});
  const auto reply = ask(helper);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().place, "/nowhere/lathe-runner");
}

TEST(Helper, SaysHowAProcessDied) {
  Helper exits({"runner", script("exits", "exit 7"), ErrorKind::kRun});
  EXPECT_EQ(ask(exits).error().message, "the runner died: it exited with status 7");
  Helper signals({"builder", script("signals", "kill -SEGV $$"), ErrorKind::kBuild});
  const auto reply = ask(signals);
  EXPECT_EQ(reply.error().kind, ErrorKind::kBuild);
  EXPECT_EQ(reply.error().message, "the builder died: SIGSEGV ended it");
  Helper memory({"builder", script("memory", "exit 77"), ErrorKind::kBuild});
  EXPECT_EQ(ask(memory).error().kind, ErrorKind::kOutOfMemory);
  Helper killed({"runner", script("killed", "kill -KILL $$"), ErrorKind::kRun});
  EXPECT_EQ(ask(killed).error().kind, ErrorKind::kOutOfMemory);
}

TEST(Helper, StopsOneThatHangsWithItsChildren) {
  const std::string mark = testing::TempDir() + "/" + std::to_string(::getpid()) + "child";
  Helper helper(
      {"runner", script("hangs", "sleep 600 & echo $! > " + mark + "; wait"), ErrorKind::kRun});
  const auto reply = ask(helper, 0.5);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().kind, ErrorKind::kTimeout);
  EXPECT_FALSE(helper.running());
  std::ifstream file(mark);
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  for (int i = 0; i < 500 && ::kill(child, 0) == 0; ++i) {
    // gone, or a zombie its new parent has not reaped
    std::ifstream state("/proc/" + std::to_string(child) + "/stat");
    std::string pid, name, status;
    if (state >> pid >> name >> status && status == "Z") return;
    ::usleep(10'000);
  }
  EXPECT_NE(::kill(child, 0), 0);
}

TEST(Helper, NonsenseIsNotTrusted) {
  Helper helper({"builder",
                 script("nonsense", "echo Segmentation fault, core dumped, sorry >&3; sleep 600"),
                 ErrorKind::kBuild});
  const auto reply = ask(helper);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().kind, ErrorKind::kInternal);
  EXPECT_FALSE(helper.running());
}

TEST(Helper, HasOnlyItsOwnDescriptors) {
  const std::string mark = testing::TempDir() + "/" + std::to_string(::getpid()) + "fds.list";
  Helper helper({"runner", script("fds", "ls -l /proc/$$/fd > " + mark), ErrorKind::kRun});
  const auto file = runner::make_memory_file("secret", 10);
  (void)ask(helper);
  std::ifstream list(mark);
  const std::string text((std::istreambuf_iterator<char>(list)), {});
  EXPECT_NE(text.find(" 3 -> "), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

// The greeting as a text for printf.
std::string octal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out;
}

std::string framed(const runner::Packet& packet) {
  const auto header = runner::bytes_of(
      runner::Header{.type = packet.type, .length = packet.body.size(), .version = packet.version});
  return std::string(header.begin(), header.end()) + packet.body;
}

// What comes of a runner that greets with these bytes, then fails what it is asked.
Error greeted_with(const std::string& name, std::string_view bytes) {
  const std::string reply = framed(runner::encode(Error{ErrorKind::kTimeout, "late", {}}));
  Helper helper(
      {"runner",
       script(name, fmt::format("printf '{}{}' >&3; sleep 600", octal(bytes), octal(reply))),
       ErrorKind::kRun, runner::RunnerMessages::greeting()});
  return ask(helper).error();
}

TEST(Helper, KnowsARunnerOfItsOwnVersion) {
  const auto greeting = framed(runner::encode(runner::RunnerMessages::greeting()));
  EXPECT_EQ(greeted_with("same", greeting).message, "late");
}

TEST(Helper, ARunnerOfAnotherVersionIsRefused) {
  auto newer = runner::RunnerMessages::greeting();
  ++newer.messages.back().version;
  auto next_protocol = runner::encode(runner::RunnerMessages::greeting());
  ++next_protocol.version;
  next_protocol.body += "more";
  // The second version of the protocol had one number for all messages.
  const std::string old("LTH1\144\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0", 28);
  for (const auto& [name, bytes] :
       {std::pair{"newer", framed(runner::encode(newer))},
        std::pair{"next_protocol", framed(next_protocol)}, std::pair{"old", old}})
    EXPECT_EQ(greeted_with(name, bytes).message,
              "the runner is of another version of Lathe; install both together")
        << name;
}

}  // namespace
}  // namespace lathe::measure
