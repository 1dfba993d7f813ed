#include "runtime/runner/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/module/scratch.h"

namespace lathe::runner {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kHuge = module::kHugePage;
constexpr int kNan = 0xff;  // all bits set is a NaN in every float type

// The one table of the process: a signal handler gets no argument that could carry it.
struct Entry {
  std::atomic<bool> used{false};
  char name[64] = {};
  std::atomic<const std::byte*> map_begin{nullptr}, map_end{nullptr}, begin{nullptr}, end{nullptr};
};
std::array<Entry, 512> regions;
std::mutex regions_mutex;

int take_slot() {
  const std::lock_guard lock(regions_mutex);
  for (std::size_t i = 0; i < regions.size(); ++i)
    if (!regions[i].used.exchange(true)) return static_cast<int>(i);
  return -1;  // crashes in this buffer will not be named; no worse follows
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

bool all_nan(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == std::byte{kNan}; });
}

std::int64_t page_size() {
  static const std::int64_t size = std::max<std::int64_t>(kPage, ::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(map_, other.map_);
  std::swap(capacity_, other.capacity_);
  std::swap(data_, other.data_);
  std::swap(first_page_, other.first_page_);
  std::swap(bytes_, other.bytes_);
  std::swap(shift_, other.shift_);
  std::swap(scratch_, other.scratch_);
  std::swap(guarded_, other.guarded_);
  std::swap(slot_, other.slot_);
  return *this;
}

GuardedBuffer GuardedBuffer::scratch() {
  GuardedBuffer buffer;
  buffer.scratch_ = true;
  return buffer;
}

GuardedBuffer::~GuardedBuffer() { release(); }

void GuardedBuffer::release() {
  if (slot_ >= 0) {
    regions[slot_].map_begin = nullptr;
    regions[slot_].map_end = nullptr;
    regions[slot_].used = false;
    slot_ = -1;
  }
  if (map_ != nullptr) ::munmap(map_, static_cast<std::size_t>(capacity_ + 2 * page_size()));
  map_ = nullptr;
  data_ = first_page_ = nullptr;
  bytes_ = shift_ = capacity_ = 0;
  guarded_ = true;
}

Status GuardedBuffer::reserve(std::int64_t bytes) {
  release();
  const std::int64_t page = page_size();
  const std::int64_t capacity = std::max(page, round_up(bytes, page));
  // Big buffers start at a huge page's boundary, where an allocator would place them in an
  // artifact.
  const std::int64_t slack = capacity >= kHuge ? kHuge : 0;
  const std::int64_t total = capacity + 2 * page;
  void* raw = ::mmap(nullptr, static_cast<std::size_t>(total + slack), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return fail_at(name_, ErrorKind::kOutOfMemory, "there is no memory for {} bytes of {}", bytes,
                   name_);
  auto* begin = static_cast<std::byte*>(raw);
  auto* map = begin;
  if (slack > 0) {
    const auto first =
        round_up(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin)) + page, kHuge);
    map = reinterpret_cast<std::byte*>(first - page);
    if (map > begin) ::munmap(begin, static_cast<std::size_t>(map - begin));
    if (map + total < begin + total + slack)
      ::munmap(map + total, static_cast<std::size_t>(begin + slack - map));
  }
  map_ = map;
  capacity_ = capacity;
  if (::mprotect(map_ + page, static_cast<std::size_t>(capacity), PROT_READ | PROT_WRITE) != 0) {
    release();
    return fail_at(name_, ErrorKind::kOutOfMemory, "there is no memory for {} bytes of {}", bytes,
                   name_);
  }
  if (scratch_) module::prefer_huge_pages(map_ + page, capacity);
  return {};
}

Status GuardedBuffer::resize(std::string_view name, std::int64_t bytes, std::int64_t shift) {
  if (bytes < 0 || bytes > (std::int64_t{1} << 46))
    return fail_at(std::string(name), ErrorKind::kOutOfMemory, "{} bytes of {} are out of range",
                   bytes, name);
  const std::int64_t rounded = round_up(std::max<std::int64_t>(bytes, 1), 64) + shift;
  if (map_ != nullptr && bytes == bytes_ && shift == shift_ && name == name_) return {};
  LATHE_TRY_STATUS(set_guarded(true));
  name_ = name;
  const std::int64_t page = page_size();
  if (map_ == nullptr || rounded > capacity_) LATHE_TRY_STATUS(reserve(rounded));
  std::byte* const end = map_ + page + capacity_;
  std::byte* const data = end - rounded;
  std::byte* const first_page = end - round_up(rounded, page);
  if (first_page > map_ + page)
    ::mprotect(map_ + page, static_cast<std::size_t>(first_page - map_ - page), PROT_NONE);
  if (::mprotect(first_page, static_cast<std::size_t>(end - first_page), PROT_READ | PROT_WRITE) !=
      0)
    return fail_at(name_, ErrorKind::kOutOfMemory, "there is no memory for {} bytes of {}", bytes,
                   name_);
  data_ = data;
  first_page_ = first_page;
  bytes_ = bytes;
  shift_ = shift;
  if (slot_ < 0) slot_ = take_slot();
  if (slot_ >= 0) {
    Entry& entry = regions[slot_];
    std::strncpy(entry.name, name_.c_str(), sizeof entry.name - 1);
    entry.begin = data_;
    entry.end = data_ + bytes_;
    entry.map_begin = map_;
    entry.map_end = end + page;
  }
  return {};
}

void GuardedBuffer::fill_nan() {
  std::byte* const end = map_ + page_size() + capacity_;
  std::memset(first_page_, kNan, static_cast<std::size_t>(end - first_page_));
}

Status GuardedBuffer::set_writable(bool writable) {
  std::byte* const end = map_ + page_size() + capacity_;
  const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (::mprotect(first_page_, static_cast<std::size_t>(end - first_page_), access) != 0)
    return fail_at(name_, ErrorKind::kOutOfMemory, "cannot protect {}: {}", name_,
                   std::strerror(errno));
  return {};
}

Status GuardedBuffer::set_guarded(bool guarded) {
  if (data_ == nullptr || guarded == guarded_) return {};
  const std::int64_t page = page_size();
  for (std::byte* const at : {first_page_ - page, map_ + page + capacity_}) {
    const int access = guarded ? PROT_NONE : PROT_READ | PROT_WRITE;
    if (::mprotect(at, static_cast<std::size_t>(page), access) != 0)
      return fail_at(name_, ErrorKind::kOutOfMemory, "cannot protect {}: {}", name_,
                     std::strerror(errno));
    if (!guarded) *static_cast<volatile std::byte*>(at) = std::byte{kNan};  // it is there now
  }
  guarded_ = guarded;
  return {};
}

std::optional<std::string> GuardedBuffer::damage() const {
  if (!all_nan(first_page_, data_)) return fmt::format("it wrote before the start of {}", name_);
  const std::byte* const end = map_ + page_size() + capacity_;
  if (!all_nan(data_ + bytes_, end)) return fmt::format("it wrote after the end of {}", name_);
  return std::nullopt;
}

std::optional<Region> find_region(const void* address) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const Entry& entry : regions) {
    const std::byte *map_begin = entry.map_begin, *map_end = entry.map_end;
    if (map_begin == nullptr || at < map_begin || at >= map_end) continue;
    const std::byte *begin = entry.begin, *end = entry.end;
    if (at < begin) return Region{entry.name, 1, begin - at};
    if (at >= end) return Region{entry.name, 3, at - end};
    return Region{entry.name, 2, at - begin};
  }
  return std::nullopt;
}

}  // namespace lathe::runner
