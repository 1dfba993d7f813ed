// Cold and warm caches. A candidate's data are thrown out of every cache, line by line. Reading a
// buffer of twice the last-level cache would do it too, but takes 20 ms and 200 MB on a server and
// leaves its own data behind.
#pragma once

#include <cstdint>

namespace lathe::runner {

void flush_from_caches(const void* data, std::int64_t bytes);
void flush_fence();  // call it after the last flush
void bring_into_caches(const void* data, std::int64_t bytes);

}  // namespace lathe::runner
