// Tells the process that set it from a child that was forked later, without a system call: the
// kernel empties its page in the child. A kernel that cannot do this (before Linux 4.14) is asked
// for the process's number instead. So are emulators that accept any advice and follow none; they
// give themselves away by accepting nonsense.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace lathe::pool {

// True where the kernel will empty these pages in forked children.
inline bool empties_on_fork(void* pages, std::size_t bytes) {
  constexpr int kNonsense = -1;
  return madvise(pages, bytes, kNonsense) != 0 && madvise(pages, bytes, MADV_WIPEONFORK) == 0;
}

class ProcessMark {
 public:
  ProcessMark() {
    void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (empties_on_fork(page, kBytes)) page_ = static_cast<volatile char*>(page);
    else munmap(page, kBytes);
  }
  ~ProcessMark() {
    if (page_ != nullptr) munmap(const_cast<char*>(page_), kBytes);
  }
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  void set() {
    process_ = getpid();
    if (page_ != nullptr) *page_ = 1;
  }
  bool here() const { return page_ != nullptr ? *page_ != 0 : getpid() == process_; }

 private:
  static constexpr std::size_t kBytes = 1;  // the kernel rounds up to a page
  volatile char* page_ = nullptr;
  pid_t process_ = 0;
};

}  // namespace lathe::pool
