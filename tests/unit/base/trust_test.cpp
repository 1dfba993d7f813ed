#include "base/trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 65534;

class Trust : public testing::Test {
 protected:
  Trust() {
    fs::create_directories(at("outer/inner"));
    std::ofstream(at("outer/inner/file")) << "text\n";
    set(at("outer"), 0755);
    set(at("outer/inner"), 0755);
    set(at("outer/inner/file"), 0644);
  }

  std::string at(const std::string& name) const { return folder_.at(name); }
  static void set(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  // The path is refused, and the error names what is open to others and how to mend it.
  static void expect_open(const std::string& path, const std::string& place) {
    const Status status = check_unshared(path);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().place, place);
    EXPECT_TRUE(status.error().message.contains("`chmod go-w ")) << status.error().text();
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Trust, HoldsForWhatIsOnesOwn) {
  EXPECT_TRUE(check_unshared(at("outer/inner/file")));
  EXPECT_TRUE(check_unshared(at("outer/inner")));
  EXPECT_TRUE(check_unshared(at("outer/../outer/./inner/")));
  EXPECT_TRUE(check_unshared("/usr/bin/env"));
  EXPECT_TRUE(check_unshared("/"));
  const Status none = check_unshared(at("outer/none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
}

TEST_F(Trust, EndsWhereOthersMayWrite) {
  const std::string file = at("outer/inner/file");
  for (const std::string& open : {file, at("outer/inner"), at("outer")}) {
    const mode_t before = open == file ? 0644 : 0755;
    set(open, before | S_IWOTH);
    expect_open(file, open);
    set(open, before);
    EXPECT_TRUE(check_unshared(file));
  }
}

TEST_F(Trust, HoldsForOnesOwnFileInAStickyFolder) {
  set(at("outer"), 01777);
  EXPECT_TRUE(check_unshared(at("outer/inner/file")));
  EXPECT_TRUE(check_unshared(at("outer/inner")));
  expect_open(at("outer"), at("outer"));  // anybody may add a file
  std::ofstream(at("outer/file")) << "text\n";
  EXPECT_TRUE(check_unshared(at("outer/file")));
}

TEST_F(Trust, LooksBehindLinks) {
  fs::create_directory_symlink(at("outer/inner"), at("link"));
  EXPECT_TRUE(check_unshared(at("link/file")));
  EXPECT_TRUE(check_unshared(at("link")));
  fs::create_symlink("../link/file", at("outer/again"));
  EXPECT_TRUE(check_unshared(at("outer/again")));
  set(at("outer/inner"), 0777);
  expect_open(at("link/file"), at("outer/inner"));
  expect_open(at("link"), at("outer/inner"));
  expect_open(at("outer/again"), at("outer/inner"));
  // Who may write where a link is can point it elsewhere.
  set(at("outer/inner"), 0755);
  set(at("outer"), 0777);
  fs::create_symlink("/usr/bin/env", at("outer/program"));
  expect_open(at("outer/program"), at("outer"));
  fs::create_symlink(at("circle"), at("circle"));
  EXPECT_FALSE(check_unshared(at("circle")));
}

class StrangersFiles : public Trust {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  }
  static void give_away(const std::string& path) {
    ASSERT_EQ(::lchown(path.c_str(), kStranger, kStranger), 0);
  }
  static void expect_strange(const std::string& path, const std::string& place) {
    const Status status = check_unshared(path);
    ASSERT_FALSE(status) << path;
    EXPECT_EQ(status.error().place, place);
    EXPECT_TRUE(status.error().message.contains("this belongs to ")) << status.error().text();
  }
};

TEST_F(StrangersFiles, AreNotTrusted) {
  const std::string file = at("outer/inner/file");
  for (const std::string& strange : {file, at("outer/inner"), at("outer")}) {
    give_away(strange);
    expect_strange(file, strange);
    ASSERT_EQ(::chown(strange.c_str(), 0, 0), 0);
  }
  EXPECT_TRUE(check_unshared(file));
}

TEST_F(StrangersFiles, LinksAreNotFollowed) {
  set(at("outer"), 01777);
  fs::create_symlink("/usr/bin/env", at("outer/planted"));
  give_away(at("outer/planted"));
  expect_strange(at("outer/planted"), at("outer/planted"));
}

TEST_F(StrangersFiles, GroupsCountOnlyWhereOthersAreInThem) {
  const std::string file = at("outer/inner/file");
  ASSERT_EQ(::chown(file.c_str(), 0, kStranger), 0);
  set(file, 0664);
  expect_open(file, file);
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  EXPECT_TRUE(check_unshared(file)) << "root's own group";
}

TEST_F(Trust, MakesPrivateFolders) {
  ASSERT_TRUE(make_private_folder(at("new/and/newer")));
  for (const char* name : {"new", "new/and", "new/and/newer"}) {
    struct stat info{};
    ASSERT_EQ(::stat(at(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U) << name;
  }
  EXPECT_TRUE(make_private_folder(at("outer/inner"))) << "it may be there";
  set(at("outer/inner"), 01777);
  EXPECT_FALSE(make_private_folder(at("outer/inner"))) << "anybody may add a file";
  EXPECT_FALSE(make_private_folder(at("outer/inner/file/x")));
}

TEST_F(Trust, CachesAreOnesOwnOrNone) {
  const char* before = ::getenv("XDG_CACHE_HOME");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("XDG_CACHE_HOME", at("outer").c_str(), 1);
  EXPECT_EQ(own_cache_folder(), at("outer/lathe"));
  set(at("outer/lathe"), 0777);
  EXPECT_EQ(own_cache_folder(), "");
  set(at("outer/lathe"), 0700);
  set(at("outer"), 0777);
  EXPECT_EQ(own_cache_folder(), "") << "others may put another in its place";
  if (before == nullptr) ::unsetenv("XDG_CACHE_HOME");
  else ::setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace lathe
