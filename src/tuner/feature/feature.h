// Features of a configuration's loop program (paper, section 4 and appendix, Table 2): fixed width, versioned.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/feature/version.h"
#include "tuner/space/space.h"

namespace lathe::feature {

enum class Kind {
  kConfiguration,  // knob values of s: the least invariant
  kContext,        // flattened loop context of x (Table 2), fixed number of loops and buffers
  kRelation,       // context relation R: touch count vs reuse ratio, touch count vs top-down
};

// Number of floats a row, fixed for a kind (kConfiguration: for a space).
int width(Kind kind, const space::Space& space);
std::vector<std::string> names(Kind kind, const space::Space& space);

// Rows for many configurations, row-major, `out` of configs.size() * width floats. Uses up to `jobs` threads. No
// allocation per row, no strings: 100,000 rows a second a core.
void extract(Kind kind, const space::Space& space, std::span<const search::Config> configs, std::span<float> out, int jobs);

// Table 2 for one program as text: `lathe show --what features`, and the test against HACKING.md's worked example.
std::string context_table(const ir::SizedNest& nest);

}  // namespace lathe::feature
