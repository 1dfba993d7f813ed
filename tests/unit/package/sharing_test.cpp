// Handles of one library have one area of packed constants, whoever makes and frees them.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "compiler/codegen/package/package.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"
#include "unit/package/exported.h"
#include "unit/package/packed_program.h"

namespace lathe::package {
namespace {

class SharedConstants : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.at(name); }
  std::unique_ptr<Library> library(std::int64_t size, std::int64_t constant_bytes = 0) const {
    const Target t = target("cpu:host;threads=2");
    flat::Program program = packed_program(t, size);
    program.constant_bytes = std::max(program.constant_bytes, constant_bytes);
    const auto written =
        write_artifact("packed", program, t, codegen::llvm_backend(), at("packed.so"));
    EXPECT_TRUE(written) << written.error().text();
    return std::make_unique<Library>(at("packed.so"), "packed");
  }

  const test::TemporaryFolder folder_;
};

// Counts the loops that it runs: those of prepare, while handles are made.
struct Counter {
  std::atomic<int> loops = 0;
  const lathe_parallel parallel{[](void* self, std::int64_t count, lathe_body body, void* context) {
                                  ++static_cast<Counter*>(self)->loops;
                                  body(context, 0, count, 0);
                                },
                                this, 1};
};

TEST_F(SharedConstants, AreMadeOnceUntilTheLastHandleIsGone) {
  const auto made = library(1009);
  Counter counter;
  lathe_handle *first = nullptr, *second = nullptr;
  for (int round = 1; round <= 3; ++round) {
    ASSERT_EQ(made->create(&counter.parallel, &first), LATHE_OK);
    EXPECT_EQ(counter.loops, round);
    ASSERT_EQ(made->create(&counter.parallel, &second), LATHE_OK);
    EXPECT_EQ(counter.loops, round);
    for (lathe_handle* handle : {first, second}) expect_packed(*made, handle, 1009);
    made->destroy(first);
    expect_packed(*made, second, 1009);
    ASSERT_EQ(made->create(nullptr, &first), LATHE_OK);
    EXPECT_EQ(counter.loops, round);
    made->destroy(second);
    expect_packed(*made, first, 1009);
    made->destroy(first);
  }
}

TEST_F(SharedConstants, AreThereForThreadsThatCreateAndDestroyAtOnce) {
  const auto made = library(509);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread)
    threads.emplace_back([&, thread] {
      for (int r = 0; r < 100; ++r) {
        lathe_handle *handle = nullptr, *other = nullptr;
        ASSERT_EQ(made->create(nullptr, &handle), LATHE_OK);
        const bool two = (r + thread) % 3 == 0;
        ASSERT_EQ(two ? made->create(nullptr, &other) : LATHE_OK, LATHE_OK);
        expect_packed(*made, handle, 509);
        made->destroy(other);
        made->destroy(handle);
      }
    });
  for (auto& thread : threads) thread.join();
}

// Does it in a forked child, which has some seconds for it; true: it was fine.
template <class Work>
bool in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // where it hangs
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

bool works(const Library& library, lathe_handle* handle, std::int64_t size) {
  return packed_sum(library, handle, size) == expected_sum(size);
}

TEST_F(SharedConstants, AreMadeAnewInAChildForkedWhileTheyAreMade) {
  const auto made = library(1009);
  struct Gate {
    std::atomic<bool> inside = false, open = false;
  } gate;
  const lathe_parallel slow{[](void* self, std::int64_t count, lathe_body body, void* context) {
                              auto& there = *static_cast<Gate*>(self);
                              there.inside = true;
                              while (!there.open) std::this_thread::yield();
                              body(context, 0, count, 0);
                            },
                            &gate, 1};
  lathe_handle* slowly = nullptr;
  std::thread maker([&] { EXPECT_EQ(made->create(&slow, &slowly), LATHE_OK); });
  while (!gate.inside) std::this_thread::yield();
  EXPECT_TRUE(in_child([&] {
    lathe_handle *handle = nullptr, *other = nullptr;
    bool fine = made->create(nullptr, &handle) == LATHE_OK && works(*made, handle, 1009);
    fine &= made->create(nullptr, &other) == LATHE_OK && works(*made, other, 1009);
    made->destroy(handle);
    made->destroy(other);
    return fine && made->create(nullptr, &handle) == LATHE_OK && works(*made, handle, 1009);
  }));
  gate.open = true;
  maker.join();
  EXPECT_TRUE(works(*made, slowly, 1009));
  made->destroy(slowly);
}

TEST_F(SharedConstants, AreUsedAndFreedByChildrenAsByTheirParent) {
  const auto made = library(509);
  lathe_handle* handle = nullptr;
  ASSERT_EQ(made->create(nullptr, &handle), LATHE_OK);
  for (const bool destroys : {true, false})
    EXPECT_TRUE(in_child([&] {
      lathe_handle* own = nullptr;
      bool fine = works(*made, handle, 509) && made->create(nullptr, &own) == LATHE_OK;
      if (destroys) made->destroy(handle);
      fine &= works(*made, own, 509);
      made->destroy(own);
      return fine;
    }));
  EXPECT_TRUE(works(*made, handle, 509));
  made->destroy(handle);
}

TEST_F(SharedConstants, WithoutMemoryForThemThereIsNoHandle) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
  const auto made = library(17, std::int64_t{1} << 50);
  for (int round = 0; round < 2; ++round) {
    auto* handle = reinterpret_cast<lathe_handle*>(&round);
    ASSERT_EQ(made->create(nullptr, &handle), LATHE_OUT_OF_MEMORY);
    EXPECT_EQ(handle, nullptr);
    EXPECT_STREQ(made->message(nullptr), "there is not enough memory for the packed constants");
  }
}

// Resident bytes of what is mapped of the file.
std::int64_t resident(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t kilobytes = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.find('-') != std::string::npos) inside = line.ends_with(path);
    std::int64_t number = 0;
    if (inside && first == "Rss:" && words >> number) kilobytes += number;
  }
  return kilobytes * 1024;
}

TEST_F(SharedConstants, GiveBackTheLiteralsThatTheyWereMadeOf) {
  constexpr std::int64_t kSize = (4 << 20) + 3;  // 16 MiB
  const auto made = library(kSize);
  lathe_handle* handle = nullptr;
  ASSERT_EQ(made->create(nullptr, &handle), LATHE_OK);
  EXPECT_LT(resident(at("packed.so")), 4 * kSize / 2);
  EXPECT_TRUE(works(*made, handle, kSize));
  made->destroy(handle);
  // They are read again.
  ASSERT_EQ(made->create(nullptr, &handle), LATHE_OK);
  EXPECT_TRUE(works(*made, handle, kSize));
  made->destroy(handle);
}

}  // namespace
}  // namespace lathe::package
