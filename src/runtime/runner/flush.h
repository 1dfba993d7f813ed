// Cold caches: throws exactly the data of a candidate out of every cache, line by line. Reading a
// buffer twice the size of the last-level cache instead would take 20 ms and 200 MB on a server,
// and leave something behind.
#pragma once

#include <cstdint>

namespace lathe::runner {

void flush_from_caches(const void* data, std::int64_t bytes);
void flush_fence();  // after the last of them

}  // namespace lathe::runner
