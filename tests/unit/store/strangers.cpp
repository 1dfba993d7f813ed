// What another user of the machine can do to a database, and who made one that was received.
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/claim.h"
#include "tuner/store/owners.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 65534;

class Strangers : public StoreTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  }
  static void give_away(const std::string& file) {
    ASSERT_EQ(::lchown(file.c_str(), kStranger, kStranger), 0);
  }
};

TEST_F(Strangers, PutNoLinkInTheWayOfADatabase) {
  open("other.db");
  const auto before = fs::last_write_time(path("other.db"));
  fs::create_symlink(path("other.db"), path());
  EXPECT_TRUE(open_sqlite(path())) << "a link of one's own";
  give_away(path());
  const auto refused = open_sqlite(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "another user put this link there, and it would be followed; remove it if nobody uses "
            "the database now, or give another file with --db");
  EXPECT_EQ(fs::last_write_time(path("other.db")), before);
}

TEST_F(Strangers, WriteNothingIntoADatabaseByAJournal) {
  open();
  for (const char* end : {"-journal", "-wal", "-shm"}) {
    std::ofstream(path() + end) << "a journal\n";
    give_away(path() + end);
    const auto refused = open_sqlite(path());
    ASSERT_FALSE(refused) << end;
    EXPECT_EQ(refused.error().place, path() + end);
    fs::remove(path() + end);
  }
  EXPECT_TRUE(open_sqlite(path()));
}

TEST_F(Strangers, WriteNothingIntoADatabaseThatALinkLeadsTo) {
  fs::create_directory(path("elsewhere"));
  open("elsewhere/other.db");
  fs::create_symlink(path("elsewhere/other.db"), path());
  EXPECT_TRUE(open_sqlite(path()));
  std::ofstream(path("elsewhere/other.db-wal")) << "a journal\n";
  give_away(path("elsewhere/other.db-wal"));
  const auto refused = open_sqlite(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, path("elsewhere/other.db-wal"));
}

TEST_F(Strangers, OwnWhatTheyMayWrite) {
  open();
  EXPECT_TRUE(may_write(path(), ::geteuid()));
  EXPECT_FALSE(may_write(path(), kStranger));
  EXPECT_FALSE(may_write(path(), std::nullopt));
  give_away(path());
  EXPECT_TRUE(may_write(path(), kStranger));
  ASSERT_EQ(::chown(path().c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0664), 0);
  EXPECT_TRUE(may_write(path(), kStranger));
  EXPECT_TRUE(may_write(path(), std::nullopt));
}

// A process of theirs that does this; what it returns is its exit status.
int as_a_stranger(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) _exit(::setuid(kStranger) == 0 ? work() : 99);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

TEST_F(Strangers, LeaveNothingBesideADatabaseThatTheyRead) {
  const std::string folder = fs::path(path()).parent_path();
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  {
    auto store = open();
    ASSERT_TRUE(store->open_run(a_run()));
  }
  const auto read = [&]() -> int {
    auto store = open_sqlite(path());
    if (!store) return 1;
    const auto runs = (*store)->runs();
    return !runs ? 2 : runs->size() == 1 ? 0 : 3;
  };
  EXPECT_EQ(as_a_stranger(read), 0);
  for (const char* end : {"-journal", "-wal", "-shm"})
    EXPECT_FALSE(fs::exists(path() + end)) << end;
  auto store = open_sqlite(path());
  ASSERT_TRUE(store) << store.error().text();
  ASSERT_TRUE((*store)->open_run(a_run()));
  EXPECT_EQ(as_a_stranger(read), 0) << "beside the owner's journal";
}

// In a process of theirs: holds the run's name until `work` is done here.
void while_a_stranger_claims(const std::string& name, const std::function<void()>& work) {
  std::array<int, 2> begun{}, end{};
  ASSERT_EQ(::pipe(begun.data()) + ::pipe(end.data()), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    ::close(end[1]);
    if (::setuid(kStranger) != 0) _exit(2);
    const Claim claim(name);
    if (!claim.held() || ::write(begun[1], &byte, 1) != 1) _exit(3);
    _exit(::read(end[0], &byte, 1) == 0 ? 0 : 4);
  }
  ::close(begun[1]);
  ASSERT_EQ(::read(begun[0], &byte, 1), 1);
  work();
  ::close(end[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Strangers, KeepNobodyFromTuning) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  struct stat info{};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  const std::string name = fmt::format("lathe/{:x}.{:x}/run/{}", info.st_dev, info.st_ino, run.id);
  while_a_stranger_claims(name, [&] {
    EXPECT_TRUE(store->claim(run)) << "who cannot write to the database is no tuner";
    ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
    EXPECT_FALSE(store->claim(run)) << "who can may be one";
  });
}

TEST_F(StoreTest, NothingInAReceivedDatabaseRuns) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
  }
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle,
                         "CREATE TRIGGER planted AFTER INSERT ON records BEGIN DELETE FROM runs; "
                         "DELETE FROM named_values; END;",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(handle);
  auto store = open();
  ASSERT_TRUE(store->put("key", "value"));
  const auto run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 1)};
  ASSERT_TRUE(store->add(records));
  EXPECT_EQ(store->get("key")->value_or(""), "value");
  EXPECT_EQ(store->runs()->size(), 1U);
  EXPECT_EQ(*store->count({}), 2);
}

}  // namespace
}  // namespace lathe::store
