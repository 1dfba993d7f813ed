// Cold and warm caches. A candidate's data are thrown out of every cache, line by line: reading a
// buffer twice the size of the last-level cache instead would take 20 ms and 200 MB on a server,
// and leave something behind.
#pragma once

#include <cstdint>

namespace lathe::runner {

void flush_from_caches(const void* data, std::int64_t bytes);
void flush_fence();  // after the last of them
void bring_into_caches(const void* data, std::int64_t bytes);

}  // namespace lathe::runner
