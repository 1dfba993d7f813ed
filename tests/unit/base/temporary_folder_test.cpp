#include "base/temporary_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

class TemporaryFolders : public testing::Test {
 protected:
  TemporaryFolders() { setenv("TMPDIR", place_.path().c_str(), 1); }
  ~TemporaryFolders() override { unsetenv("TMPDIR"); }
  int count() const {
    return static_cast<int>(
        std::distance(fs::directory_iterator(place_.path()), fs::directory_iterator()));
  }
  const test::TemporaryFolder place_;
};

TEST_F(TemporaryFolders, GoWithTheirOwner) {
  {
    const TemporaryFolder folder;
    ASSERT_TRUE(fs::is_directory(folder.path()));
    std::ofstream(folder.path() + "/file") << "content";
    remove_abandoned_folders();
    EXPECT_TRUE(fs::exists(folder.path() + "/file")) << "its owner lives";
  }
  EXPECT_EQ(count(), 0);
}

TEST_F(TemporaryFolders, OfAKilledProcessAreRemovedByTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/file") << "content";
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(count(), 1);
  // What has nothing to do with it stays.
  for (const char* other :
       {"lathe-wrong-answer-0123456789abcdef", "lathe-new-XXXXXX", "lathe-abc-XXXXXX",
        "lathe-99999999", "lathe-2024-backup", "lathe-1-models", "other"})
    fs::create_directory(place_.at(other));
  remove_abandoned_folders();
  EXPECT_EQ(count(), 7);
}

// A killed process may leave a child that holds the lock until it ends.
TEST_F(TemporaryFolders, AreRemovedOnceTheirLastProcessHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder folder;
    if (fork() == 0) {
      usleep(50'000);
      std::ofstream(folder.path() + "/file") << "content";
      _exit(0);
    }
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(count(), 1);
  remove_abandoned_folders();
  EXPECT_EQ(count(), 0);
}

TEST_F(TemporaryFolders, AreNotTakenFromTheirOwnersWhileTheyAreMade) {
  const pid_t remover = fork();
  if (remover == 0)
    for (;;) remove_abandoned_folders();
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const TemporaryFolder folder;
    EXPECT_NE(folder.path(), "");
    std::ofstream(folder.path() + "/file") << "content";
    EXPECT_TRUE(fs::exists(folder.path() + "/file")) << i;
  }
  kill(remover, SIGKILL);
  waitpid(remover, nullptr, 0);
  remove_abandoned_folders();
  EXPECT_EQ(count(), 0);
}

TEST_F(TemporaryFolders, AreNotMadeWhereOthersCanReplaceThem) {
  ASSERT_EQ(::chmod(place_.path().c_str(), 0777), 0);
  EXPECT_EQ(TemporaryFolder().path(), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place_.path()), {}), 0);
  ASSERT_EQ(::chmod(place_.path().c_str(), 01777), 0);
  EXPECT_NE(TemporaryFolder().path(), "");
}

TEST_F(TemporaryFolders, CannotBeMadeWhereThereIsNoPlace) {
  setenv("TMPDIR", place_.at("nowhere").c_str(), 1);
  EXPECT_EQ(TemporaryFolder().path(), "");
  remove_abandoned_folders();
}

}  // namespace
}  // namespace lathe
