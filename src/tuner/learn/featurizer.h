// Rows of features from stored records. Internal to this room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/nest/nest.h"
#include "tuner/feature/feature.h"
#include "tuner/feature/program_plan.h"
#include "tuner/store/store.h"

namespace lathe::learn {

// Keeps the naive nests of the workloads that it met. Its rows are those of feature::Extractor but
// for the work of copies: Extractor knows a sketch's open sizes, which bound some loops a little
// higher.
class Featurizer {
 public:
  explicit Featurizer(feature::Kind kind) : kind_(kind) {}
  // Appends a row. If the record's trace does not apply any more, or no features describe programs
  // for its target, or it is a card that is not known by name, appends nothing and returns false.
  bool append(const store::Record& record, std::vector<float>& out);
  // Of the rows; 0 before the first.
  int width() const { return features_ ? feature::program_width(*features_) : 0; }

 private:
  struct Naive {
    ir::Nest nest;
    bool free_layout;
  };
  const Naive* naive(const std::string& workload);
  // Whether the target's programs have rows like those before.
  bool describes(const std::string& target);

  const feature::Kind kind_;
  std::optional<feature::Features> features_;  // of the rows
  std::map<std::string, std::optional<Naive>> nests_;
};

// Rows of configurations whose knobs are known by name only: one column for each name, in
// alphabetical order. A size becomes its logarithm, a choice the number of its label among all
// labels in alphabetical order. A configuration without the knob gets 0.
int configuration_rows(const std::vector<Json>& configs, std::vector<float>& out);

}  // namespace lathe::learn
