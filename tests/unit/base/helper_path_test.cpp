#include "base/helper_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace lathe
