// Records as rows to learn from. Features are computed anew from the stored traces, so records of
// any space teach, even of a space that exists no more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tuner/learn/relation.h"
#include "tuner/model/model.h"
#include "tuner/store/store.h"

namespace lathe::learn {

// Which records to read. An empty member takes all.
struct Selection {
  std::string target;
  std::optional<CacheMode> cache_mode;
  std::string cpu;
  std::vector<std::string> targets;        // any of these
  std::vector<std::string> only, without;  // workloads, compared by shape_of
  std::string except;                      // not this canonical key
  // Only those that are related to this one.
  std::string like;
  Relation relation = Relation::kOperator;
  int rows_a_group = 0;  // at most, spread evenly over the time when they were measured; 0: all
  int rows = 0;          // at most in all, those of the latest runs first; 0: all
};

// Times compare only within one group: workload, target, cache mode, CPU and code generator.
struct Conditions {
  std::string workload, target;
  CacheMode cache_mode = CacheMode::kWarm;
  std::string cpu;
  int codegen_version = 0;
};

struct History {
  model::Rows rows;                // an index into `groups`
  std::vector<Conditions> groups;  // each has at least one row
  // For each row; equal where one program was measured more than once.
  std::vector<std::uint64_t> programs;
  std::vector<Json> configs;  // for each row, where features are configurations
  std::int64_t skipped = 0;   // records whose trace does not apply any more
  std::int64_t copies = 0;    // trials that were read before, e.g. from another store, and left out
  std::unordered_set<std::uint64_t> trials;    // identities of the trials that were read
  std::vector<std::string> workloads() const;  // keys, each once, in order
  std::vector<std::string> targets() const;
};

// Adds the records of a store. `features` is one of feature::known_kinds(); knobs of configurations
// are told apart by name. `history` must have the same features.
Status read_history(store::Store& store, const Selection& selection, const std::string& features,
                    History& history);

}  // namespace lathe::learn
