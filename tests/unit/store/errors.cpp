// Every way a database can be unusable gets its own sentence, with the file and what to do.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/store/database.h"
#include "tuner/store/schema.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

bool says(const Error& error, const std::string& what, const std::string& where) {
  return error.message.find(what) != std::string::npos && error.place == where;
}

TEST_F(StoreTest, Locked) {
  auto store = open();
  auto other = *Database::open(path(), 1);
  auto transaction = *Transaction::begin(other);
  auto waiting = *open_sqlite(path(), 0.05);
  const auto refused = waiting->open_run(a_run());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(
      says(refused.error(), "another program has locked the database for more than 0.05 s", path()))
      << refused.error().text();
  EXPECT_EQ(refused.error().kind, ErrorKind::kIo);
}

TEST_F(StoreTest, LockedWhileNew) {
  auto other = *Database::open(path(), 1);
  ASSERT_TRUE(other.exec("CREATE TABLE t (x); DROP TABLE t; BEGIN EXCLUSIVE"));
  const auto refused = open_sqlite(path(), 0.05);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), "locked", path())) << refused.error().text();
}

TEST_F(StoreTest, NotADatabase) {
  std::ofstream(path())
      << "this is a letter to my aunt, and it is long enough to be looked at as a header, really";
  const auto refused = open_sqlite(path());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), "not a Lathe database", path())) << refused.error().text();
}

TEST_F(StoreTest, AnotherProgramsDatabase) {
  {
    auto other = *Database::open(path(), 1);
    ASSERT_TRUE(other.exec("CREATE TABLE aunts (name)"));
  }
  const auto refused = open_sqlite(path());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), "database of another program", path()))
      << refused.error().text();
}

TEST_F(StoreTest, NewerVersion) {
  open();
  {
    auto database = *Database::open(path(), 1);
    ASSERT_TRUE(database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion + 1).c_str()));
  }
  const auto refused = open_sqlite(path());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), "written by a newer Lathe", path())) << refused.error().text();
  EXPECT_EQ(refused.error().kind, ErrorKind::kDataLoss);
}

TEST_F(StoreTest, AFolder) {
  const auto refused = open_sqlite(folder_.path().string());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), "this is a folder", folder_.path().string()))
      << refused.error().text();
}

TEST_F(StoreTest, AFolderThatCannotBeMade) {
  std::ofstream(path("file")) << "x";
  const auto refused = open_sqlite(path("file/records.db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kIo);
  EXPECT_NE(refused.error().message.find("--db"), std::string::npos);
}

TEST_F(StoreTest, Damaged) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records;
    for (int i = 0; i < 200; ++i) records.push_back(a_record(run, i));
    ASSERT_TRUE(store->add(records));
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path()));
  for (std::streamoff at = 4096; at < size; at += 64) {
    file.seekp(at);
    file << "garbage garbage garbage";
  }
  file.close();
  auto store = open_sqlite(path());
  const auto status = store ? (*store)->each({}, [](const Record&) { return true; })
                            : Status(std::unexpected(store.error()));
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error(), "damaged", path())) << status.error().text();
  EXPECT_EQ(status.error().kind, ErrorKind::kDataLoss);
}

TEST_F(StoreTest, ADamagedRecordIsNamed) {
  open();
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
    auto database = *Database::open(path(), 1);
    ASSERT_TRUE(database.exec("UPDATE records SET trace = '[{'"));
  }
  const auto status = open()->each({}, [](const Record&) { return true; });
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error(), "record 1 (not valid JSON at byte 3) is damaged", path()))
      << status.error().text();
  EXPECT_FALSE(open()->best({}));
}

TEST_F(StoreTest, ACacheModeThatIsNoneIsDamage) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
    auto database = *Database::open(path(), 1);
    ASSERT_TRUE(database.exec("UPDATE names SET text = 'tepid' WHERE text = 'warm'"));
    ASSERT_TRUE(database.exec("UPDATE runs SET cache_mode = 'hot'"));
  }
  const auto status = open()->each({}, [](const Record&) { return true; });
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error(),
                   "record 1 (cache_mode: must be warm, cold or far, not \"tepid\") is damaged",
                   path()))
      << status.error().text();
  const auto runs = open()->runs();
  ASSERT_FALSE(runs);
  const std::string wanted =
      "run 1 (cache_mode: must be warm, cold or far, not \"hot\") is damaged";
  EXPECT_TRUE(says(runs.error(), wanted, path())) << runs.error().text();
}

TEST_F(StoreTest, DamagedRecordsDoNotHideTheOthers) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records;
  for (int i = 0; i < 5; ++i) records.push_back(a_record(run, i));
  ASSERT_TRUE(store->add(records));
  auto database = *Database::open(path(), 1);
  ASSERT_TRUE(database.exec("UPDATE records SET config = '{' WHERE idx IN (1, 3)"));
  std::ostringstream lines;
  const auto status = export_lines(*store, {}, lines);
  ASSERT_FALSE(status);
  EXPECT_TRUE(
      says(status.error(), "and 1 more are damaged; `lathe export` writes the others", path()))
      << status.error().text();
  EXPECT_EQ(std::ranges::count(lines.str(), '\n'), 3);
}

// Records that their table has lost, while an index still knows them: as if nothing had ever been
// recorded.
TEST_F(StoreTest, LostRecordsAreNotTakenForNone) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
    EXPECT_TRUE(store->check());
    auto database = *Database::open(path(), 1);
    ASSERT_TRUE(
        database.exec("PRAGMA writable_schema = ON; CREATE TABLE kept AS SELECT * FROM "
                      "sqlite_schema WHERE name = 'best_anywhere';"
                      "DELETE FROM sqlite_schema WHERE name = 'best_anywhere'"));
  }
  {
    auto database = *Database::open(path(), 1);  // knows nothing of the index
    ASSERT_TRUE(
        database.exec("DELETE FROM records; PRAGMA writable_schema = ON; INSERT INTO sqlite_schema "
                      "SELECT * FROM kept"));
  }
  auto store = open();
  EXPECT_EQ(*store->count({}), 0);
  std::ostringstream lines;
  const auto status = export_lines(*store, {}, lines);
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error(), "the database is damaged", path())) << status.error().text();
}

TEST_F(StoreTest, NoFile) {
  EXPECT_EQ(open_sqlite("").error().message, "the database has no name; give a file with --db");
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(says(open_sqlite(path("fifo")).error(), "not a database", path("fifo")));
}

// Runs `body` in a child that is not root; its exit status is the number of failed expectations.
template <class Body>
void unprivileged(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(77);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "cannot give up root here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(StoreTest, ReadOnlyCanBeReadAndSaysSoWhenWritten) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
  }
  std::filesystem::permissions(path(), std::filesystem::perms{0444});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0555});
  unprivileged([this] {
    auto store = open_sqlite(path());
    ASSERT_TRUE(store.has_value()) << store.error().text();
    EXPECT_EQ(*(*store)->count({}), 1);
    store::Run run = a_run();
    const auto refused = (*store)->open_run(run);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(says(refused.error(), "the database is read-only", path()))
        << refused.error().text();
  });
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
}

TEST_F(StoreTest, AFolderThatMayNotBeWritten) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0555});
  unprivileged([this] {
    const auto refused = open_sqlite(path());
    ASSERT_FALSE(refused);
    EXPECT_TRUE(says(refused.error(), "cannot be opened", path())) << refused.error().text();
  });
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
}

// The store goes on, in a file of another name, and says so whenever something is added.
TEST_F(StoreTest, AFileThatIsRemovedWhileItIsInUse) {
  for (const bool replaced : {false, true}) {
    SCOPED_TRACE(replaced);
    const std::string file = path(replaced ? "replaced/records.db" : "removed/records.db");
    const auto folder = std::filesystem::path(file).parent_path();
    std::filesystem::create_directories(folder);
    auto store = *open_sqlite(file);
    const auto run = *store->open_run(a_run());
    std::vector<Record> first = {a_record(run, 0)}, second = {a_record(run, 1)},
                        third = {a_record(run, 2)};
    ASSERT_TRUE(store->add(first));
    EXPECT_TRUE(store->still_there());
    std::filesystem::remove_all(folder);
    if (replaced) {
      std::filesystem::create_directories(folder);
      ASSERT_TRUE(open_sqlite(file));
    }
    const auto refused = store->add(second);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(says(
        refused.error(),
        "was removed or replaced while it was in use; all that it held and what came since is in " +
            file + ".rescued: move it back",
        file))
        << refused.error().text();
    EXPECT_FALSE(store->add(third));
    EXPECT_FALSE(store->still_there());
    EXPECT_FALSE(store->set_race({{1, 1e-3}}));
    store.reset();
    auto rescued = *open_sqlite(file + ".rescued");
    const auto records = all(*rescued);
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[2].index, 2);
    EXPECT_TRUE(records[0].raced);
    EXPECT_EQ(std::filesystem::exists(file), replaced);
  }
}

TEST_F(StoreTest, AFileThatMayNotGrow) {
  const pid_t child = fork();
  if (child == 0) {
    auto store = open();
    const auto run = *store->open_run(a_run());
    signal(SIGXFSZ, SIG_IGN);  // as the command does
    const rlimit limit{std::filesystem::file_size(path()), RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    Status status;
    for (int i = 0; i < 1000 && status; ++i) {
      std::vector<Record> records = {a_record(run, i)};
      status = store->add(records);
    }
    const bool said =
        !status &&
        says(status.error(), "may not grow beyond the limit of this shell (ulimit -f)", path());
    if (!said)
      std::fprintf(stderr, "%s\n", status ? "nothing failed" : status.error().text().c_str());
    _exit(said ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(StoreTest, DiskFull) {
  if (mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "cannot mount a small disk here";
  Status status;
  std::int64_t written = 0;
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    for (int i = 0; i < 1000 && status; ++i) {
      std::vector<Record> records = {a_record(run, i)};
      status = store->add(records);
      written += status.has_value();
    }
  }
  ASSERT_FALSE(status);
  EXPECT_TRUE(says(status.error(), "the disk is full", path())) << status.error().text();
  EXPECT_EQ(*open()->count({}), written) << "what was recorded before the disk was full must stay";
  EXPECT_EQ(umount(folder_.path().c_str()), 0);
}

}  // namespace
}  // namespace lathe::store
