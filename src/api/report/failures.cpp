#include "api/report/failures.h"

#include <algorithm>
#include <functional>

namespace lathe::report {
namespace {

// Messages of a kind that are told apart; where every message differs, none tells much.
constexpr std::size_t kMostMessages = 1000;
constexpr std::size_t kMostReasons = 5;  // of a kind, that are shown

}  // namespace

void FailureTable::add(const store::Record& record) {
  Kind& kind = kinds_[record.error_kind];
  ++kind.count;
  if (kind.reasons.size() == kMostMessages && !kind.reasons.contains(record.error_message)) return;
  const auto [reason, fresh] =
      kind.reasons.try_emplace(record.error_message, record.error_message, record.error_place, 0);
  ++reason->second.count;
}

std::vector<Failure> FailureTable::summary() const {
  std::vector<Failure> out;
  for (const auto& [name, kind] : kinds_) {
    Failure failure{name, kind.count, {}};
    for (const auto& [message, reason] : kind.reasons) failure.reasons.push_back(reason);
    std::ranges::stable_sort(failure.reasons, std::greater(), &Reason::count);
    failure.reasons.resize(std::min(failure.reasons.size(), kMostReasons));
    out.push_back(std::move(failure));
  }
  std::ranges::stable_sort(out, std::greater(), &Failure::count);
  return out;
}

}  // namespace lathe::report
