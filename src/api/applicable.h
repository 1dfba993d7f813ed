// Records whose program can still be made: a record outlives the Lathe that wrote it, and may come
// from elsewhere.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "tuner/store/store.h"

namespace lathe::api {

// The trace of a record of this workload, if it applies: all its steps are known and can be done,
// and what they lead to can be lowered for the target. The error says why not. This alone decides
// which records are used.
Result<schedule::Trace> applied_trace(const store::Record& record, const te::Workload& workload,
                                      const Target& target);

// Records that were passed over on the way to one that applies.
struct PassedOver {
  std::set<std::int64_t> records;  // their ids
  std::string first;               // which was the first, and why: "trial 3 of run 1 (...)"
};

struct Applicable {
  store::Record record;
  schedule::Trace trace;
};

// The fastest record of the query that applies and was not passed over before. Records of this code
// generator come first: times of two compare badly, and an old one's record must not hide the
// present one's.
Result<std::optional<Applicable>> best_applicable(store::Store& store, store::Query query,
                                                  const te::Workload& workload,
                                                  const Target& target, PassedOver& passed);

}  // namespace lathe::api
