// The loader of modules, and what throws data out of the caches.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/module/caches.h"
#include "runtime/module/module.h"

namespace lathe::module {
namespace {

long open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST(Module, OfNoLibraryIsRefusedAndItsFileClosed) {
  const long before = open_files();
  const std::vector<std::byte> nothing(100);
  EXPECT_EQ(load_module(nothing).error().kind, ErrorKind::kDataLoss);
  EXPECT_EQ(open_module(::open("/dev/null", O_RDONLY)).error().kind, ErrorKind::kDataLoss);
  EXPECT_EQ(open_files(), before);
}

TEST(Module, OfALibraryThatIsNotLathesIsRefused) {
  const long before = open_files();
  const auto loaded = open_module(::open("/proc/self/exe", O_RDONLY));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kDataLoss);
  EXPECT_EQ(open_files(), before);
}

// Two pages, with no access behind them.
class Caches : public testing::Test {
 protected:
  Caches() : page_(::sysconf(_SC_PAGESIZE)) {
    const auto size = static_cast<std::size_t>(3 * page_);
    void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(map, MAP_FAILED);
    begin_ = static_cast<unsigned char*>(map);
    EXPECT_EQ(::mprotect(begin_ + 2 * page_, static_cast<std::size_t>(page_), PROT_NONE), 0);
    std::iota(begin_, begin_ + 2 * page_, static_cast<unsigned char>(1));
  }
  ~Caches() override { ::munmap(begin_, static_cast<std::size_t>(3 * page_)); }

  const long page_;
  unsigned char* begin_ = nullptr;
};

TEST_F(Caches, KeepTheDataAndTouchNothingElse) {
  const std::vector<unsigned char> wanted(begin_, begin_ + 2 * page_);
  const Area areas[] = {{begin_, 2 * page_},            // up to what must not be touched
                        {begin_ + 2 * page_ - 65, 65},  // begins and ends within a line
                        {begin_ + 2 * page_, 0},        // empty, where there is no access
                        {nullptr, 0}};
  make_cold(areas);
  make_warm(areas);
  EXPECT_EQ(std::vector<unsigned char>(begin_, begin_ + 2 * page_), wanted);
}

}  // namespace
}  // namespace lathe::module
