#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <span>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.at(name); }
  long entries() const { return std::distance(fs::directory_iterator(folder_.path()), {}); }

  const test::TemporaryFolder folder_;
};

TEST_F(Files, ComeBackAsTheyWere) {
  const std::string bytes("a\0b\r\n\xff", 6);
  ASSERT_TRUE(write_whole(path("a"), bytes));
  EXPECT_EQ(*read_file(path("a")), bytes);
  ASSERT_TRUE(write_whole(path("a"), ""));
  EXPECT_EQ(*read_file(path("a")), "");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, WhatIsNotMovedLeavesNothing) {
  ASSERT_TRUE(write_whole(path("a"), "old"));
  {
    const PendingFile file(path("a"));
    const std::string bytes = "new";
    ASSERT_TRUE(file.write(std::as_bytes(std::span(bytes))));
  }
  EXPECT_EQ(*read_file(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, SayWhyTheyCannotBeRead) {
  EXPECT_EQ(read_file(path("none")).error().text(),
            path("none") + ": the file cannot be read (No such file or directory)");
  EXPECT_EQ(read_file(folder_.path().string()).error().text(),
            folder_.path().string() + ": the file cannot be read (Is a directory)");
}

TEST_F(Files, ThatNeverEndAreRefused) {
  for (const char* device : {"/dev/full", "/dev/zero", "/dev/urandom"}) {
    const auto refused = read_file(device);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kIo);
    EXPECT_EQ(refused.error().text(),
              std::string(device) + ": this is a device, which may never end; give a file");
  }
  ASSERT_TRUE(write_whole(path("a"), std::string(100'000, 'x')));
  EXPECT_EQ(read_file(path("a"), 100'000)->size(), 100'000U);
  EXPECT_EQ(read_file(path("a"), 99'999).error().message,
            "this holds more than 99999 bytes, the most that is read; give another file");
}

TEST_F(Files, WhatIsNoFileIsNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  for (const char* name : {"pipe", "folder"}) {
    const Status written = write_whole(path(name), "bytes");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message,
              "this is a device, a pipe or a folder and would be replaced; give another file");
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  ASSERT_TRUE(write_whole(path("file"), "old"));
  fs::create_symlink(path("file"), path("link"));
  ASSERT_TRUE(write_whole(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("file")), "new");
}

TEST_F(Files, AreWrittenUnderNamesThatNobodyForesees) {
  const PendingFile first(path("a")), second(path("a"));
  EXPECT_NE(first.path(), second.path());
  const std::string bytes = "bytes";
  const auto bytes_of_it = std::as_bytes(std::span(bytes));
  ASSERT_TRUE(write_whole(path("victim"), "precious"));
  fs::create_symlink(path("victim"), first.path());
  EXPECT_FALSE(first.write(bytes_of_it)) << "a link waited there";
  EXPECT_EQ(*read_file(path("victim")), "precious");
  const mode_t before = ::umask(027);
  ASSERT_TRUE(second.write(bytes_of_it));
  ::umask(before);
  ASSERT_TRUE(second.move_to_place());
  struct stat info{};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640U) << "as the user wants it";
}

TEST_F(Files, AreNotWrittenBehindALinkOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives links away";
  ASSERT_TRUE(write_whole(path("victim"), "precious"));
  fs::create_symlink(path("victim"), path("link"));
  constexpr uid_t kStranger = 65534;
  ASSERT_EQ(::lchown(path("link").c_str(), kStranger, kStranger), 0);
  ASSERT_TRUE(write_whole(path("link"), "new"));
  EXPECT_EQ(*read_file(path("victim")), "precious");
  EXPECT_FALSE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("link")), "new");
}

TEST_F(Files, SayWhyTheyCannotBeWritten) {
  const auto written = write_whole(path("none/a"), "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kIo);
  EXPECT_EQ(written.error().text(),
            path("none/a") +
                ": the file cannot be written (No such file or directory); give another one");
  fs::create_directories(path("folder/full"));
  EXPECT_FALSE(write_whole(path("folder"), "x"));
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace lathe
