#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

TEST(Subprocess, SaysHowItEndedAndWhatWasWrong) {
  const test::TemporaryFolder folder;
  const std::string errors = folder.at("errors");
  const auto good = run_to_end({"sh", "-c", "echo output; exit 0"}, errors);
  ASSERT_TRUE(good.has_value()) << good.error().text();
  EXPECT_EQ(good->status, 0);
  EXPECT_EQ(good->errors, "");
  const auto bad = run_to_end({"sh", "-c", "echo \"$0\" >&2; exit 3", "a 'word'"}, errors);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(WEXITSTATUS(bad->status), 3);
  EXPECT_EQ(bad->errors, "a 'word'\n");
  const auto killed = run_to_end({"sh", "-c", "kill -9 $$"}, errors);
  ASSERT_TRUE(killed.has_value());
  EXPECT_TRUE(WIFSIGNALED(killed->status));
}

TEST(Subprocess, ThatCannotBeStarted) {
  const test::TemporaryFolder folder;
  const auto absent = run_to_end({"lathe-no-such-program"}, folder.at("errors"));
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(absent.error().text().find("lathe-no-such-program"), std::string::npos);
  const auto refused = run_to_end({folder.path()}, folder.at("errors"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kIo);
  const auto nowhere = run_to_end({"true"}, folder.at("no/such/folder"));
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().kind, ErrorKind::kIo) << nowhere.error().text();
}

}  // namespace
}  // namespace lathe
