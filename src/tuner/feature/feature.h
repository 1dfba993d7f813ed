// Features of a configuration's loop program (paper, section 4 and appendix, Table 2): fixed width,
// versioned.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/nest/nest.h"
#include "tuner/feature/version.h"
#include "tuner/space/space.h"

namespace lathe::feature {

enum class Kind {
  kConfiguration,  // knob values of s: the least invariant
  kContext,        // flattened loop context of x (Table 2), fixed number of loops and buffers
  kRelation,       // context relation R: touch count vs reuse ratio, touch count vs top-down
  kTree,           // the tree of loops with each loop's context (tree.h): what TreeGRU reads
};

// By name: "context", "relation", "configuration", "tree"; the error lists them.
std::vector<std::string> known_kinds();
Result<Kind> kind_named(const std::string& name);

// Number of floats a row, fixed for a kind (kConfiguration: for a space).
int width(Kind kind, const space::Space& space);
std::vector<std::string> names(Kind kind, const space::Space& space);

// Rows of one space. What a sketch's rows have in common is worked out when the sketch is first met
// and kept. Safe from several threads; the space must outlive it.
class Extractor {
 public:
  Extractor(Kind kind, const space::Space& space);
  ~Extractor();
  int width() const;
  // Row-major; `out` has configs.size() * width() floats. Uses up to `jobs` threads.
  void rows(std::span<const space::Config> configs, std::span<float> out, int jobs) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same for once: a search keeps an Extractor.
void extract(Kind kind, const space::Space& space, std::span<const space::Config> configs,
             std::span<float> out, int jobs);

// Table 2 for one program as text, outermost loop first: `lathe show --what features`, and the test
// against the one in docs/nest.md. Buffers in the order of plan.h.
std::string context_table(const ir::SizedNest& nest);

}  // namespace lathe::feature
