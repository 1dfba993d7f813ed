#include "base/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

unsigned mode_of(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

TEST(PrivateFolders, AreNewWithNewFiles) {
  const test::TemporaryFolder place;
  const auto first = PrivateFolder::make(place.at("name"));
  const auto second = PrivateFolder::make(place.at("name"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path(), second->path());
  EXPECT_TRUE(first->path().starts_with(place.at("name-")));
  EXPECT_EQ(mode_of(first->path()), 0700U);
  ASSERT_TRUE(first->write("file", std::string("a\0b", 3)));
  EXPECT_EQ(mode_of(first->path() + "/file"), 0600U);
  EXPECT_EQ(*read_file(first->path() + "/file"), std::string("a\0b", 3));
}

TEST(PrivateFolders, WriteThroughNoLinkAndOverNoFile) {
  const test::TemporaryFolder place;
  const auto folder = PrivateFolder::make(place.at("name"));
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_whole(place.at("victim"), "precious"));
  fs::create_symlink(place.at("victim"), folder->path() + "/link");
  fs::create_symlink(place.at("none"), folder->path() + "/loose");
  ASSERT_TRUE(folder->write("there", "first"));
  for (const char* name : {"link", "loose", "there"}) {
    const Status written = folder->write(name, "other");
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().kind, ErrorKind::kIo);
  }
  EXPECT_EQ(*read_file(place.at("victim")), "precious");
  EXPECT_FALSE(fs::exists(place.at("none")));
  EXPECT_EQ(*read_file(folder->path() + "/there"), "first");
}

TEST(PrivateFolders, AreWrittenToWhereverTheyAreMoved) {
  const test::TemporaryFolder place;
  const auto folder = PrivateFolder::make(place.at("name"));
  ASSERT_TRUE(folder);
  fs::rename(folder->path(), place.at("moved"));
  fs::create_directory(folder->path());  // as somebody might, for what comes
  ASSERT_TRUE(folder->write("file", "text"));
  EXPECT_TRUE(fs::is_empty(folder->path()));
  EXPECT_EQ(*read_file(place.at("moved/file")), "text");
}

TEST(PrivateFolders, CannotBeMadeWhereThereIsNoPlace) {
  const auto folder = PrivateFolder::make("/no/such/place/name");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::kIo);
}

}  // namespace
}  // namespace lathe
