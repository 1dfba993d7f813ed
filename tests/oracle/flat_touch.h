// Who touches memory that the items of a grid share, from one barrier to the next and over a whole
// kernel, and which asynchronous copies are on their way: what finds races.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/flat_eval.h"

namespace lathe::interp {

// What is wrong with an access, in words that end a sentence about it.
struct Clash {
  FaultKind kind = FaultKind::kOther;
  const char* why = nullptr;  // null: it may be
};

// Turns are numbered as they begin: one item, from one barrier to the next.
class Touches {
 public:
  void begin_kernel() { kernel_ = group_ = interval_ = ++last_; }
  // `own`: the area of the group, which another one had before.
  void begin_group(int own) {
    group_ = interval_ = ++last_;
    if (static_cast<std::size_t>(own) < areas_.size())
      areas_[static_cast<std::size_t>(own)].clear();
  }
  void begin_interval() { interval_ = ++last_; }
  std::uint64_t new_turn() { return ++last_; }
  void resume(int item, std::uint64_t turn) { item_ = item, now_ = turn; }

  // Of the granule number `granule` of an area that has `granules` of them.
  Clash load(int area, std::size_t granule, std::size_t granules);
  Clash store(int area, std::size_t granule, std::size_t granules);
  // A copy to the granule begins; it is there, for the item that waited for it.
  Clash begin_copy(int area, std::size_t granule, std::size_t granules);
  void end_copy(int area, std::size_t granule, std::size_t granules);
  // What is copied from the granule must be as it was at that moment.
  std::uint64_t moment() const { return moment_; }
  Clash since(int area, std::size_t granule, std::size_t granules, std::uint64_t moment);

 private:
  struct Touch {
    std::uint64_t written = 0;  // the last turn that did
    // Turns that loaded: the first of this kernel, and the last two that differ.
    std::uint64_t first_read = 0, read_before = 0, read = 0;
    std::uint64_t written_at = 0;    // a moment
    std::uint64_t copied_since = 0;  // by a copy that began in this interval; 0: by a store
    int copying = -1;                // an item whose copy is on its way here
  };
  Touch& at(int area, std::size_t granule, std::size_t granules);
  // By another item since the last barrier; by another group in this kernel.
  bool beside(std::uint64_t turn) const { return turn >= interval_ && turn != now_; }
  bool elsewhere(std::uint64_t turn) const { return turn >= kernel_ && turn < group_; }
  Clash written_too(const Touch& touch) const;

  std::vector<std::vector<Touch>> areas_;
  // The first turns of what runs now.
  std::uint64_t kernel_ = 0, group_ = 0, interval_ = 0;
  std::uint64_t last_ = 0, now_ = 0, moment_ = 0;
  int item_ = 0;
};

}  // namespace lathe::interp
