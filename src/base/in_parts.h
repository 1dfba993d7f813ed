// Work on many items, shared among threads.
#pragma once

#include <cstddef>
#include <functional>

namespace lathe {

// Calls `work` with the first item of a part and how many there are, on up to `jobs` threads, this
// one among them, until all `count` items are done. A part has at least `smallest` items, unless
// there are fewer in all. `work` must not throw.
void in_parts(std::size_t count, int jobs, std::size_t smallest,
              const std::function<void(std::size_t begin, std::size_t items)>& work);

}  // namespace lathe
