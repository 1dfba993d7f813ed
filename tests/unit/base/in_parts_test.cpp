#include "base/in_parts.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lathe {
namespace {

TEST(InParts, EveryItemOnceWhateverTheNumbers) {
  for (const std::size_t count : {0, 1, 2, 7, 64, 101})
    for (const int jobs : {-1, 0, 1, 2, 3, 8})
      for (const std::size_t smallest : {0, 1, 5, 200}) {
        std::vector<int> done(count, 0);
        std::mutex mutex;
        std::size_t parts = 0;
        in_parts(count, jobs, smallest, [&](std::size_t begin, std::size_t items) {
          for (std::size_t i = begin; i < begin + items; ++i) ++done[i];
          const std::lock_guard lock(mutex);
          ++parts;
          EXPECT_TRUE(items >= std::min(smallest, count) && items > 0);
        });
        EXPECT_EQ(done, std::vector<int>(count, 1)) << count << " items, " << jobs << " jobs";
        EXPECT_LE(parts, static_cast<std::size_t>(std::max(1, jobs)));
      }
}

TEST(InParts, OneOfThePartsRunsHere) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  in_parts(10, 2, 1, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace lathe
