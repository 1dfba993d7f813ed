// Rows of features from stored records. Internal to this room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/nest/nest.h"
#include "tuner/feature/feature.h"
#include "tuner/store/store.h"

namespace lathe::learn {

// Keeps the naive nests of the workloads it met. The rows are those of feature::Extractor but for
// the work of copies, where a sketch's open sizes bound some loops a little higher.
class Featurizer {
 public:
  explicit Featurizer(feature::Kind kind) : kind_(kind) {}
  // Appends a row; false, and nothing is appended, where the record's trace does not replay.
  bool append(const store::Record& record, std::vector<float>& out);
  int width() const;

 private:
  struct Naive {
    ir::Nest nest;
    bool free_layout;
  };
  const Naive* naive(const std::string& workload);

  const feature::Kind kind_;
  std::map<std::string, std::optional<Naive>> nests_;
};

// Rows of configurations whose knobs are known by name only: a column a name, in alphabetical
// order; sizes as logarithms, choices as the number of their label among all in alphabetical order.
// 0 where a configuration has no such knob.
int configuration_rows(const std::vector<Json>& configs, std::vector<float>& out);

}  // namespace lathe::learn
