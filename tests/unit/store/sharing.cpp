// Several processes on one database, and processes killed while they write.
#include <array>
#include <csignal>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

constexpr int kNever = 1 << 20;

// In a child: adds trials from `first` on, and says so through the pipe after each.
[[noreturn]] void write_records(const std::string& path, std::uint64_t seed, int first, int count,
                                int pipe) {
  auto store = open_sqlite(path);
  if (!store) _exit(2);
  const auto run = (*store)->open_run(a_run(seed));
  if (!run) _exit(3);
  for (int i = first; i < first + count; ++i) {
    std::vector<Record> records = {a_record(*run, i)};
    if (!(*store)->add(records)) _exit(4);
    if (write(pipe, &i, sizeof i) != sizeof i) _exit(5);
  }
  _exit(0);
}

TEST_F(StoreTest, AKilledWriterLosesNothingItFinished) {
  open();
  Rng rng(7);
  int first = 0;
  std::set<int> finished;
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) write_records(path(), 0, first, kNever, pipe_ends[1]);
    close(pipe_ends[1]);
    // In the middle of a write, some finished ones after the start, however slow the machine is.
    for (auto wanted = 1 + rng.below(6); wanted > 0; --wanted) {
      int written = 0;
      ASSERT_EQ(read(pipe_ends[0], &written, sizeof written), static_cast<ssize_t>(sizeof written));
      finished.insert(written);
    }
    usleep(static_cast<useconds_t>(rng.below(2'000)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int index = 0; read(pipe_ends[0], &index, sizeof index) == sizeof index;)
      finished.insert(index);
    close(pipe_ends[0]);

    auto store = open();
    std::set<int> found;
    for (const auto& record : all(*store))
      EXPECT_TRUE(found.insert(record.index).second) << "repeated";
    for (const int index : finished)
      EXPECT_TRUE(found.contains(index)) << "trial " << index << " is lost";
    // At most the one it was writing may be there without its word.
    first = found.empty() ? 0 : *found.rbegin() + 1;
    EXPECT_EQ(static_cast<int>(found.size()), first);
  }
  EXPECT_GT(finished.size(), 20U);
}

TEST_F(StoreTest, TwoTunersShareANewDatabase) {
  constexpr int kWriters = 4, kEach = 50;
  std::vector<pid_t> children;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    if (child == 0)
      write_records(path(), static_cast<std::uint64_t>(writer % 2), writer / 2 * kEach, kEach,
                    pipe_ends[1]);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "exit " << WEXITSTATUS(status);
  }
  auto store = open();
  EXPECT_EQ(*store->count({}), kWriters * kEach);
  EXPECT_EQ(store->runs()->size(), 2U);
}

// None takes the other's half-made file for that of another program.
TEST_F(StoreTest, AnyNumberBeginANewDatabaseAtOnce) {
  constexpr int kRounds = 40, kOpeners = 6;
  for (int round = 0; round < kRounds; ++round) {
    const std::string file = path(std::to_string(round));
    std::array<int, 2> gate{};
    ASSERT_EQ(pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (int opener = 0; opener < kOpeners; ++opener) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(gate[1]);
      char end = 0;
      if (read(gate[0], &end, 1) != 0) _exit(3);  // until the parent opens it for all
      _exit(open_sqlite(file) ? 0 : 2);
    }
    close(gate[0]);
    close(gate[1]);
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "exit " << WEXITSTATUS(status);
    }
  }
}

}  // namespace
}  // namespace lathe::store
