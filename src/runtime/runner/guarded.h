// Memory for a candidate's tensors and scratch, between pages that nothing may touch.
//
// A buffer ends (rounded up to 64 bytes) right before a page without access, and the page before
// its first one has no access either. The slack between is filled with a pattern, which is compared
// afterwards. Whatever a candidate has not written itself reads as NaN. A buffer keeps its memory
// when its size changes, so that a new candidate causes no page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace lathe::runner {

class GuardedBuffer {
 public:
  GuardedBuffer() = default;  // a caller's tensor, in the pages that the system gives
  // Memory that an artifact allocates itself: in huge pages where it is large.
  static GuardedBuffer scratch();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  // Gives the buffer `bytes` bytes; the content is undefined. It is 64-byte aligned, but for
  // `shift`: so many bytes of slack lie behind it. Fails with kOutOfMemory.
  Status resize(std::string_view name, std::int64_t bytes, std::int64_t shift = 0);
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  void fill_nan();  // fills the buffer and the slack around it
  Status set_writable(bool writable);
  // From resize() on the pages next to the buffer have no access. A masked vector of which no lane
  // that counts lies there still takes a processor a microsecond, so they are open where programs
  // are timed: what is next to a caller's tensor is other memory.
  Status set_guarded(bool guarded);
  // Says in words where the slack was written, if it was.
  std::optional<std::string> damage() const;

 private:
  Status reserve(std::int64_t bytes);
  void release();

  std::string name_;
  std::byte* map_ = nullptr;   // guard page, capacity, guard page
  std::int64_t capacity_ = 0;  // a multiple of the page size
  std::byte* data_ = nullptr;
  // The first page with access; earlier pages of the capacity have none.
  std::byte* first_page_ = nullptr;
  std::int64_t bytes_ = 0, shift_ = 0;
  bool scratch_ = false;
  bool guarded_ = true;
  int slot_ = -1;  // in the table of regions
};

// Finds where an address lies. A signal handler may call it: it takes no locks and allocates
// nothing.
struct Region {
  const char* name;
  int side;  // 1 before, 2 inside, 3 after the buffer
  std::int64_t distance;
};
std::optional<Region> find_region(const void* address) noexcept;

}  // namespace lathe::runner
