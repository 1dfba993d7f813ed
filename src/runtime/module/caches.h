// Cold and warm caches, with one meaning for whoever times a program: tuning, races, benchmarks.
// What a program reads and writes is thrown out of every cache, line by line. Reading a buffer of
// twice the last-level cache would do it too, but takes 20 ms and 200 MB on a server and leaves its
// own data behind.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::module {

struct Area {  // of memory
  const void* data = nullptr;
  std::int64_t bytes = 0;
};

// The data stay as they are. It returns when all of them have left the caches.
void make_cold(std::span<const Area> areas);
void make_warm(std::span<const Area> areas);  // brings them into the caches

}  // namespace lathe::module
