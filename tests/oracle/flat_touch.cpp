#include "oracle/flat_touch.h"

namespace lathe::interp {

Touches::Touch& Touches::at(int area, std::size_t granule, std::size_t granules) {
  const auto a = static_cast<std::size_t>(area);
  if (areas_.size() <= a) areas_.resize(a + 1);
  if (areas_[a].size() < granules) areas_[a].resize(granules);
  return areas_[a][granule];
}

Clash Touches::load(int area, std::size_t granule, std::size_t granules) {
  Touch& t = at(area, granule, granules);
  const bool staged = t.copied_since != 0 && t.copied_since != interval_;
  if (t.copying >= 0) {
    if (!staged && t.copying != item_)
      return {FaultKind::kRace, "which another item's copy fills since the last barrier"};
    return {FaultKind::kEarly, "which a copy fills that nobody has awaited"};
  }
  if (beside(t.written)) {
    if (staged)
      return {FaultKind::kEarly, "which a copy filled that was awaited without a barrier"};
    return {FaultKind::kRace, "which another item stores since the last barrier"};
  }
  if (elsewhere(t.written)) return {FaultKind::kRace, "which another group stores"};
  if (t.first_read < kernel_) t.first_read = now_;
  if (t.read != now_) t.read_before = t.read;
  t.read = now_;
  return {};
}

Clash Touches::written_too(const Touch& t) const {
  if (t.copying >= 0) return {FaultKind::kRace, "which a copy fills that nobody has awaited"};
  if (beside(t.written)) return {FaultKind::kRace, "which another item stores, too"};
  if (beside(t.read) || beside(t.read_before))
    return {FaultKind::kRace, "which another item loads since the last barrier"};
  if (elsewhere(t.written)) return {FaultKind::kRace, "which another group stores, too"};
  if (elsewhere(t.first_read)) return {FaultKind::kRace, "which another group loads"};
  return {};
}

Clash Touches::store(int area, std::size_t granule, std::size_t granules) {
  Touch& t = at(area, granule, granules);
  if (const Clash clash = written_too(t); clash.why != nullptr) return clash;
  t.written = now_;
  t.written_at = ++moment_;
  t.copied_since = 0;
  return {};
}

Clash Touches::begin_copy(int area, std::size_t granule, std::size_t granules) {
  Touch& t = at(area, granule, granules);
  if (const Clash clash = written_too(t); clash.why != nullptr) return clash;
  t.copying = item_;
  t.copied_since = interval_;
  return {};
}

void Touches::end_copy(int area, std::size_t granule, std::size_t granules) {
  Touch& t = at(area, granule, granules);
  t.copying = -1;
  t.written = now_;
  t.written_at = ++moment_;
}

Clash Touches::since(int area, std::size_t granule, std::size_t granules, std::uint64_t moment) {
  if (at(area, granule, granules).written_at <= moment) return {};
  return {FaultKind::kRace, "which is stored to before the copy is awaited"};
}

}  // namespace lathe::interp
