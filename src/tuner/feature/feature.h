// Features of a configuration's loop program (paper, section 4 and appendix, Table 2). A row has a
// fixed width, and features have a version.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/feature/block_row.h"
#include "tuner/feature/version.h"
#include "tuner/space/space.h"

namespace lathe::feature {

enum class Kind {
  kConfiguration,  // knob values of the space: the least invariant
  // Loop context of the nest (Table 2), flattened, for a fixed number of loops and buffers
  kContext,
  kRelation,  // context relation R: touch count against reuse ratio, touch count against top-down
  kTree,      // the tree of loops with the context of each (tree.h): what TreeGRU reads
  // Columns of the whole, and the context of every block (blocks.h), whose scores are added up
  kBlocks,
};

// By name: "context", "relation", "configuration", "tree", "blocks". An error lists these.
std::vector<std::string> known_kinds();
Result<Kind> kind_named(const std::string& name);

// A kind of features, as it is for programs of one kind of device.
struct Features {
  Kind kind;
  DeviceKind device;
  CudaTarget card = {};  // of kCuda: for whose programs
};
BlockRow block_row_of(Kind kind);
// Fails where no features describe programs for such devices. A card must be resolved.
Result<Features> features_for(Kind kind, const Target& target);
Result<Features> features_for(const std::string& name, const Target& target);
// Whether a row's last column is log2 of the cycles that a model without data predicts: of context
// features of cards (card_plan.h).
bool tells_cycles(const Features& features);

// Floats in a row: fixed for these features (for kConfiguration: for a space).
int width(const Features& features, const space::Space& space);
std::vector<std::string> names(const Features& features, const space::Space& space);

// Makes rows for one space. What the rows of a sketch have in common is computed when the sketch is
// first met, and kept. Several threads may use it; the space must outlive it.
class Extractor {
 public:
  Extractor(const Features& features, const space::Space& space);
  ~Extractor();
  int width() const;
  // Row-major; `out` has configs.size() * width() floats. It uses up to `jobs` threads.
  void rows(std::span<const space::Config> configs, std::span<float> out, int jobs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same for a single use. A search keeps an Extractor instead.
void extract(const Features& features, const space::Space& space,
             std::span<const space::Config> configs, std::span<float> out, int jobs);

// Table 2 for one program as text, outermost loop first, for `lathe show --what features`; a test
// compares it with the table in docs/nest.md. Buffers come in the order of plan.h.
std::string context_table(const ir::SizedNest& nest);

}  // namespace lathe::feature
