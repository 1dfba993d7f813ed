#include "runtime/pool/region.h"

#include <new>

namespace lathe::pool {
namespace {

constexpr unsigned kCountBits = 5;
constexpr unsigned kCountMask = (1U << kCountBits) - 1;

constexpr bool is_open(std::uint64_t now) { return (now & 1) != 0; }
constexpr std::uint64_t open_at(std::uint64_t number) { return 2 * number + 1; }
constexpr std::uint64_t closed_before(std::uint64_t number) { return 2 * number; }

std::size_t groups_of(int lanes, int size) {
  return static_cast<std::size_t>(lanes + size - 1) / static_cast<std::size_t>(size);
}

}  // namespace

Region::Claims Region::Claims::of(std::uint64_t word) {
  return {word >> (3 * kCountBits), static_cast<unsigned>(word >> (2 * kCountBits)) & kCountMask,
          static_cast<unsigned>(word >> kCountBits) & kCountMask,
          static_cast<unsigned>(word) & kCountMask};
}

std::uint64_t Region::Claims::word() const {
  return phase << (3 * kCountBits) | std::uint64_t{next} << (2 * kCountBits) |
         std::uint64_t{end} << kCountBits | done;
}

int Region::Slice::pieces() const {
  return end - begin < kPieces ? static_cast<int>(end - begin) : kPieces;
}

// Few iterations go to the first lanes, which are the ones that a caller finds awake.
Region::Slice Region::Phase::slice(int lane) const {
  if (count < lanes) return lane < count ? Slice{lane, lane + 1} : Slice{count, count};
  return {count * lane / lanes, count * (lane + 1) / lanes};
}

int Region::Phase::busy_lanes() const { return count < lanes ? static_cast<int>(count) : lanes; }
int Region::Phase::groups() const { return (busy_lanes() + kLanes - 1) / kLanes; }
int Region::Phase::busy_lanes(int group) const {
  const int left = busy_lanes() - group * kLanes;
  return left < kLanes ? left : kLanes;
}

std::size_t Region::bytes(int lanes) {
  const auto count = static_cast<std::size_t>(lanes);
  return sizeof(Region) + count * sizeof(Lane) +
         groups_of(lanes, kLanes) * (sizeof(Gate) + sizeof(Tally));
}

Region* Region::make(void* memory, int lanes) {
  auto* region = new (memory) Region;
  region->most_lanes_ = lanes;
  region->lanes_ = reinterpret_cast<Lane*>(region + 1);
  for (int i = 0; i < lanes; ++i) new (region->lanes_ + i) Lane{};
  const std::size_t groups = groups_of(lanes, kLanes);
  region->gates_ = reinterpret_cast<Gate*>(region->lanes_ + lanes);
  region->tallies_ = reinterpret_cast<Tally*>(region->gates_ + groups);
  for (std::size_t g = 0; g < groups; ++g) {
    new (region->gates_ + g) Gate{};
    region->gates_[g].now.store(closed_before(1), std::memory_order_relaxed);  // lanes say 0
    new (region->tallies_ + g) Tally{};
  }
  return region;
}

std::uint64_t Region::open(const lathe_phase* phases, int count, void* context, int lanes) {
  const std::uint64_t first = gates_[0].now.load(std::memory_order_acquire) / 2;
  // Releases keep the order of these stores: who reads one of them sees the region closed
  // afterwards (look).
  first_.store(first, std::memory_order_release);
  count_.store(count, std::memory_order_release);
  region_lanes_.store(lanes, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  for (int p = 0; p < count; ++p) {
    bodies_[p].store(phases[p].body, std::memory_order_release);
    counts_[p].store(phases[p].count, std::memory_order_release);
  }
  enter(first, lanes);
  return first;
}

// Tells all groups. Whoever is late with it must not undo what others have told since.
void Region::tell(int lanes, std::uint64_t now) {
  for (int g = static_cast<int>(groups_of(lanes, kLanes)) - 1; g >= 0; --g) {
    Gate& gate = gates_[g];
    std::uint64_t seen = gate.now.load(std::memory_order_relaxed);
    while (seen < now && !gate.now.compare_exchange_weak(seen, now, std::memory_order_seq_cst)) {
    }
    if (gate.sleepers.load(std::memory_order_seq_cst) != 0)
      futex_wake(low_half(gate.now), kEveryone);
  }
}

// Opens the phase of this number or the next one that has iterations, or closes the region.
void Region::enter(std::uint64_t number, int lanes) {
  const std::uint64_t first = first_.load(std::memory_order_relaxed);
  const std::uint64_t end =
      first + static_cast<std::uint64_t>(count_.load(std::memory_order_relaxed));
  Phase phase{number, nullptr, nullptr, 0, lanes, false};
  for (; phase.number != end; ++phase.number) {
    phase.count = counts_[phase.number - first].load(std::memory_order_relaxed);
    if (phase.count > 0) break;
  }
  if (phase.number == end) return tell(lanes, closed_before(end));
  for (int g = 0; g < phase.groups(); ++g)
    tallies_[g].left.store((1U << phase.busy_lanes(g)) - 1, std::memory_order_relaxed);
  tell(lanes, open_at(phase.number));
}

// What is open, as this gate tells; false: nothing of this region.
bool Region::look(std::uint64_t region, const Gate& gate, Phase& phase, std::uint64_t& now) const {
  for (;;) {
    now = gate.now.load(std::memory_order_acquire);
    if (!is_open(now)) return false;
    const std::uint64_t first = first_.load(std::memory_order_acquire);
    if (first != region) return false;
    phase.number = now / 2;
    const std::uint64_t place = phase.number - first;
    if (place >= kMostPhases) return false;
    phase.body = bodies_[place].load(std::memory_order_acquire);
    phase.count = counts_[place].load(std::memory_order_acquire);
    phase.context = context_.load(std::memory_order_acquire);
    phase.lanes = region_lanes_.load(std::memory_order_acquire);
    phase.last = place + 1 == static_cast<std::uint64_t>(count_.load(std::memory_order_acquire));
    // Nobody has written any of it since: the gate would have closed first.
    if (gate.now.load(std::memory_order_acquire) == now) return true;
  }
}

bool Region::work(std::uint64_t region, int lane, std::int64_t spin_ns, const Alarm* alarm) {
  Gate& mine = gate(lane);
  bool slept = false;
  Phase phase{};
  for (std::uint64_t now = 0; look(region, mine, phase, now);) {
    work_on(phase, lane, alarm);
    if (phase.last && lane != 0) break;
    if (spin_until_changed(mine.now, now, spin_ns)) continue;
    sleep_until_changed(mine.now, now, mine.sleepers);
    slept = true;
  }
  return slept;
}

void Region::work_on(const Phase& phase, int lane, const Alarm*& alarm) {
  if (lane < phase.busy_lanes()) work_off(phase, lane, alarm);
  const int groups = phase.groups(), own = lane / kLanes % groups;
  for (int g = 0; g < groups; ++g)
    while (help(phase, (own + g) % groups, lane)) {
    }
}

// Takes pieces of the slowest lane of a group; false: the group has none left.
bool Region::help(const Phase& phase, int group, int lane) {
  const unsigned left = tallies_[group].left.load(std::memory_order_acquire);
  int slowest = -1;
  unsigned most = 0;
  for (int i = 0; i < phase.busy_lanes(group); ++i) {
    if ((left >> i & 1U) == 0) continue;
    const int owner = group * kLanes + i;
    const Claims claims = Claims::of(lanes_[owner].claims.load(std::memory_order_acquire));
    if (claims.phase > phase.number) return false;  // this phase is over
    const unsigned pieces = claims.phase == phase.number
                                ? claims.end - claims.next
                                : static_cast<unsigned>(phase.slice(owner).pieces());
    if (pieces <= most) continue;
    most = pieces;
    slowest = owner;
  }
  if (slowest < 0) return false;
  const int piece = next_piece(phase, slowest, false, 0);
  if (piece < 0) return true;  // somebody else took the last; look again
  const Slice slice = phase.slice(slowest);
  const std::int64_t size = slice.end - slice.begin, pieces = slice.pieces();
  phase.body(phase.context, slice.begin + size * piece / pieces,
             slice.begin + size * (piece + 1) / pieces, lane);
  const Claims after = Claims::of(lanes_[slowest].claims.fetch_add(1, std::memory_order_acq_rel));
  if (after.done + 1 == static_cast<unsigned>(pieces)) lane_done(phase, slowest);
  return true;
}

// All pieces of the thread's own lane that are left. The alarm rings when one has told how long all
// will take, or at once where there are few.
void Region::work_off(const Phase& phase, int lane, const Alarm*& alarm) {
  const Slice slice = phase.slice(lane);
  const std::int64_t size = slice.end - slice.begin, pieces = slice.pieces();
  const std::int64_t begin_ns = alarm != nullptr ? now_ns() : 0;
  constexpr std::int64_t kFew = 8;
  const auto ring_if = [&](bool worth) {
    if (alarm == nullptr || !worth) return;
    alarm->ring(alarm->self);
    alarm = nullptr;
  };
  ring_if(pieces * phase.lanes < kFew);
  unsigned finished = 0;
  for (int piece; (piece = next_piece(phase, lane, true, finished)) >= 0; finished = 1) {
    const std::int64_t from = slice.begin + size * piece / pieces,
                       to = slice.begin + size * (piece + 1) / pieces;
    phase.body(phase.context, from, to, lane);
    if (alarm == nullptr) continue;
    const std::int64_t done = to - slice.begin;
    ring_if((now_ns() - begin_ns) * (phase.count - done) / done >= alarm->worth_ns);
  }
}

// Counts the pieces that this thread has finished since, and takes the first or the last of a lane
// that is left; -1: none is.
int Region::next_piece(const Phase& phase, int owner, bool own, unsigned finished) {
  Number& word = lanes_[owner].claims;
  const auto pieces = static_cast<unsigned>(phase.slice(owner).pieces());
  std::uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    Claims claims = Claims::of(seen);
    if (claims.phase > phase.number) return -1;
    if (claims.phase < phase.number) claims = {phase.number, 0, pieces, 0};
    claims.done += finished;
    const bool takes = claims.next != claims.end;
    if (!takes && finished == 0) return -1;
    int piece = -1;
    if (takes) piece = static_cast<int>(own ? claims.next++ : --claims.end);
    if (!word.compare_exchange_weak(seen, claims.word(), std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      continue;
    if (takes && claims.next == claims.end)
      tallies_[owner / kLanes].left.fetch_and(~(1U << owner % kLanes), std::memory_order_acq_rel);
    if (claims.done == pieces) lane_done(phase, owner);
    return piece;
  }
}

// The last to finish resets what it has counted: nobody counts again before the next phase opens.
void Region::lane_done(const Phase& phase, int owner) {
  const int group = owner / kLanes;
  Word& done = tallies_[group].done;
  if (done.fetch_add(1, std::memory_order_acq_rel) + 1 !=
      static_cast<std::uint32_t>(phase.busy_lanes(group)))
    return;
  done.store(0, std::memory_order_relaxed);
  if (groups_done_.fetch_add(1, std::memory_order_acq_rel) + 1 !=
      static_cast<std::uint32_t>(phase.groups()))
    return;
  groups_done_.store(0, std::memory_order_relaxed);
  enter(phase.number + 1, phase.lanes);
}

}  // namespace lathe::pool
