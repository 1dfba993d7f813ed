// The work of a parallel region, which several threads do together. It needs libc only.
//
// The iterations of a phase are cut into one contiguous slice for each lane, always the same one,
// and slices into pieces. A thread works in one lane: it takes the pieces of its own slice from the
// front, so that it finds its data in its own cache again. When there are none left it takes those
// of others from the back, one at a time. So a phase takes hardly longer where a thread comes late,
// or never: nobody waits but for pieces that somebody has begun.
//
// Phases are numbered on and on through all regions that one object ever runs. A thread takes a
// piece by changing its lane's word, which holds the phase's number: so a thread that comes too
// late finds that the word has gone on, and takes nothing. That is why threads need no permission
// to look, and why the caller need not wait for anybody who has taken nothing.
//
// Eight lanes make a group. Threads of a group look at words of their own, so that the end of a
// phase is told to eight readers at a time, and counted in the same way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/module/abi.h"
#include "runtime/pool/waiting.h"

namespace lathe::pool {

// Wakes those who sleep, once that seems worth what it costs the caller: a kernel takes some
// microseconds for it, and the woken take longer to come.
struct Alarm {
  std::int64_t worth_ns;  // what one thread would need for the rest of a phase
  void (*ring)(void* self);
  void* self;
};

class Region {
 public:
  static constexpr int kMostPhases = 128;

  // Memory for a region of so many lanes, a multiple of 64.
  static std::size_t bytes(int lanes);
  // In such memory, which is aligned to 64 bytes and zero.
  static Region* make(void* memory, int lanes);
  int most_lanes() const { return most_lanes_; }

  // Opens a region and returns its number. One caller at a time, when the one before is closed.
  // 1 <= count <= kMostPhases, one phase at least has iterations; lanes <= most_lanes().
  std::uint64_t open(const lathe_phase* phases, int count, void* context, int lanes);
  // Works in a lane of the region of this number until nothing is left to take; in lane 0, the
  // caller's, until all is finished. Each lane has one thread at most. True: it has slept.
  bool work(std::uint64_t region, int lane, std::int64_t spin_ns, const Alarm* alarm = nullptr);

 private:
  static constexpr int kPieces = 16;  // of a slice, at most
  static constexpr int kLanes = 8;    // of a group

  struct alignas(64) Lane {
    Number claims;  // Claims
  };
  // What threads of a group wait for, and what they count.
  struct alignas(64) Gate {
    Number now;  // twice the number of the open phase, plus one; or of the next, where none is open
    Word sleepers;
  };
  struct alignas(64) Tally {
    Word done;  // lanes whose pieces are all finished
    Word left;  // a bit a lane that has pieces which nobody has taken
  };
  // How far a lane's slice of a phase has come; a word.
  struct Claims {
    std::uint64_t phase;
    unsigned next, end, done;  // pieces next ... end-1 are left, `done` are finished
    static Claims of(std::uint64_t word);
    std::uint64_t word() const;
  };
  struct Slice {
    std::int64_t begin, end;
    int pieces() const;
  };
  // A phase as a thread sees it.
  struct Phase {
    std::uint64_t number;
    lathe_body body;
    void* context;
    std::int64_t count;
    int lanes;
    bool last;  // no phase follows
    Slice slice(int lane) const;
    int busy_lanes() const;  // the first ones
    int groups() const;      // with busy lanes
    int busy_lanes(int group) const;
  };

  bool look(std::uint64_t region, const Gate& gate, Phase& phase, std::uint64_t& now) const;
  void work_on(const Phase& phase, int lane, const Alarm*& alarm);
  bool help(const Phase& phase, int group, int lane);
  void work_off(const Phase& phase, int lane, const Alarm*& alarm);
  int next_piece(const Phase& phase, int owner, bool own, unsigned finished);
  void lane_done(const Phase& phase, int owner);
  void advance(const Phase& phase);
  void enter(std::uint64_t number, int lanes);
  void tell(int lanes, std::uint64_t now);

  Gate& gate(int lane) const { return gates_[lane / kLanes]; }

  int most_lanes_ = 0;
  Lane* lanes_ = nullptr;
  Gate* gates_ = nullptr;
  Tally* tallies_ = nullptr;
  alignas(64) Word groups_done_{0};
  // The region. It is written while none is open, and read by threads that may come too late.
  alignas(64) Number first_{0};  // number of its first phase
  std::atomic<int> count_{0}, region_lanes_{0};
  std::atomic<void*> context_{nullptr};
  std::atomic<lathe_body> bodies_[kMostPhases]{};
  std::atomic<std::int64_t> counts_[kMostPhases]{};
};

// Cuts a list of phases into lists that a region takes, and tells for how many lanes each has work:
// run(phases, count, lanes).
template <class Run>
void in_regions(const lathe_phase* phases, std::int64_t count, int threads, const Run& run) {
  while (count > 0) {
    const int now = count < Region::kMostPhases ? static_cast<int>(count) : Region::kMostPhases;
    std::int64_t widest = 0;
    for (int p = 0; p < now; ++p)
      if (phases[p].count > widest) widest = phases[p].count;
    run(phases, now, widest < threads ? static_cast<int>(widest) : threads);
    phases += now;
    count -= now;
  }
}

}  // namespace lathe::pool
