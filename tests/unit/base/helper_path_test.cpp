#include "base/helper_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/temporary_folder.h"

namespace lathe {
namespace {

TEST(FindHelper, NamesThePlacesItLooked) {
  const auto path = find_helper("lathe-no-such-program");
  ASSERT_FALSE(path.has_value());
  EXPECT_EQ(path.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(path.error().message.find("LATHE_LIBEXEC"), std::string::npos);
}

TEST(FindHelper, LooksBesideTheProgram) {
  const auto path = find_helper("base_test");
  ASSERT_TRUE(path.has_value()) << path.error().text();
  EXPECT_TRUE(path->ends_with("/base_test"));
}

// An executable file.
void put_program(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
}

TEST(FindHelper, LooksWhereTheCommandOnThePathIsInstalled) {
  const TemporaryFolder folder;
  const std::filesystem::path tree = folder.path();
  put_program(tree / "installed/bin/lathe");
  put_program(tree / "installed/libexec/lathe/lathe-of-the-path");
  std::filesystem::create_directories(tree / "links");
  std::filesystem::create_symlink(tree / "installed/bin/lathe", tree / "links/lathe");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (":/nowhere:" + (tree / "links").string()).c_str(), 1);
  const auto path = find_helper("lathe-of-the-path");
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(path.has_value()) << path.error().text();
  EXPECT_TRUE(path->ends_with("installed/libexec/lathe/lathe-of-the-path")) << *path;
}

// Sets an environment variable for as long as it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    else ::unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(FindHelper, PassesOverWhatOthersCanChange) {
  const TemporaryFolder folder;
  const std::filesystem::path tree = folder.path();
  put_program(tree / "libexec/lathe-planted");
  const Setting libexec("LATHE_LIBEXEC", (tree / "libexec").string());
  EXPECT_TRUE(find_helper("lathe-planted").has_value());
  ASSERT_EQ(::chmod((tree / "libexec").c_str(), 0777), 0);
  const auto refused = find_helper("lathe-planted");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("chmod go-w"), std::string::npos);
  // One that is safe comes before it, wherever it stands.
  put_program(tree / "installed/bin/lathe");
  put_program(tree / "installed/libexec/lathe/lathe-planted");
  const Setting path("PATH", (tree / "installed/bin").string());
  const auto safe = find_helper("lathe-planted");
  ASSERT_TRUE(safe.has_value()) << safe.error().text();
  EXPECT_TRUE(safe->ends_with("installed/libexec/lathe/lathe-planted"));
}

TEST(FindHelper, OfAStrangerInATemporaryFolderIsPassedOver) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TemporaryFolder folder;
  const std::filesystem::path tree = folder.path();
  put_program(tree / "for-all/lathe-planted");
  ASSERT_EQ(::chmod((tree / "for-all").c_str(), 01777), 0);
  const Setting libexec("LATHE_LIBEXEC", (tree / "for-all").string());
  EXPECT_TRUE(find_helper("lathe-planted").has_value()) << "nobody can replace it";
  ASSERT_EQ(::chown((tree / "for-all/lathe-planted").c_str(), 65534, 65534), 0);
  const auto refused = find_helper("lathe-planted");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("this belongs to"), std::string::npos);
}

TEST(FindOnPath, NeverLooksIntoTheCurrentFolder) {
  const TemporaryFolder folder;
  const std::filesystem::path tree = folder.path(), before = std::filesystem::current_path();
  put_program(tree / "here/lathe-planted");
  put_program(tree / "shared/lathe-planted");
  ASSERT_EQ(::chmod((tree / "shared").c_str(), 0777), 0);
  std::filesystem::current_path(tree / "here");
  for (const char* path : {"", ":", ".", "./", "/usr/bin:", "/usr/bin::/bin", "../here"}) {
    const Setting setting("PATH", path);
    EXPECT_FALSE(find_on_path("lathe-planted").has_value()) << path;
    EXPECT_FALSE(find_helper("lathe-planted").has_value()) << path;
  }
  const Setting shared("PATH", (tree / "shared").string());
  const auto refused = find_on_path("lathe-planted");
  const Setting both("PATH", (tree / "shared").string() + ":" + (tree / "here").string());
  const auto found = find_on_path("lathe-planted");
  std::filesystem::current_path(before);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("chmod go-w"), std::string::npos);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, (tree / "here/lathe-planted").string());
}

}  // namespace
}  // namespace lathe
