// Records as rows to learn from. Features are worked out anew from the stored traces, so records of
// any space teach, also of one that no longer is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "tuner/model/model.h"
#include "tuner/store/store.h"

namespace lathe::learn {

// Which records. Empty members take all.
struct Selection {
  std::string target, cache_mode, cpu;
  std::vector<std::string> targets;        // any of these
  std::vector<std::string> only, without;  // workloads, compared by shape_of
  std::string except;                      // this canonical key alone
  // only what differs from this key in numbers: the same operator
  std::string like;
  int rows_a_group = 0;  // at most, spread evenly over the time they were measured; 0: all
  int rows = 0;          // at most in all, the latest runs' first; 0: all
};

// What is computed, whatever the layout mode, the tolerance and which inputs are constants: the
// workload key without those. The text itself if it is no program.
std::string shape_of(const std::string& workload);

// Times compare within one group: workload, target, cache mode, CPU and code generator.
struct Group {
  std::string workload, target, cache_mode, cpu;
  int codegen_version = 0;
};

struct History {
  model::Rows rows;           // rows.workload: index in `groups`
  std::vector<Group> groups;  // with at least one row
  // of the rows: equal where one program was measured more than once
  std::vector<std::uint64_t> programs;
  std::vector<Json> configs;  // of the rows, where features are configurations
  std::int64_t skipped = 0;   // records whose trace does not replay any more
  std::int64_t copies = 0;    // left out: trials that were read before, of another store say
  std::unordered_set<std::uint64_t> trials;    // identities of those that were read
  std::vector<std::string> workloads() const;  // keys, each once, in order
  std::vector<std::string> targets() const;
};

// Adds records of a store. `features` as in feature::known_kinds(); knobs of configurations are
// told apart by name. `history` is of the same features.
Status read_history(store::Store& store, const Selection& selection, const std::string& features,
                    History& history);

}  // namespace lathe::learn
