// What a workload's outputs should be, and by how much a candidate may differ.
//
// Both come from one program derived from the workload's: every stage in f64, and beside each stage of floating-point
// numbers a second one that computes its magnitude, the sum |a||b| of the rounding bound carried through the whole
// expression. Compiled under a plain schedule, it takes as long as a decent implementation of the operator, not as long
// as an interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/te/program.h"
#include "runtime/runner/channel.h"

namespace lathe::measure {

// Inputs as in `program`, those of floating-point types as f64. Its outputs are, for every output of `program`, a tensor
// of the same name and, after all of these, one of its magnitudes (reference_names).
te::Program reference_program(const te::Program& program);
struct ReferenceNames {
  std::string value, magnitude;      // magnitude empty: exact
};
std::vector<ReferenceNames> reference_names(const te::Program& program);

// The factor c * eps that turns a magnitude into the bound of an element: eps is the coarsest type's the program rounds
// to, c grows with the square root of the terms that are added up, as errors of random sign do.
double error_factor(const te::Program& program);
// The largest error of the largest output that passes: the contract's, or what the output's type can hold at all.
double allowed_error(const te::Program& program);

struct Reference {
  std::vector<std::vector<double>> values, bounds;   // an entry an output, row-major
};
// The file `lathe-runner` takes.
Result<runner::Fd> reference_file(const Reference& reference);

// References on disk, by workload, seed and version; a damaged or foreign file is as good as none.
class ReferenceCache {
 public:
  // As Options::cache_folder says.
  explicit ReferenceCache(const std::string& folder);
  std::optional<Reference> load(const te::Program& program, std::uint64_t seed) const;
  // Best effort: a cache that cannot be written is only slower. Keeps the newest files within a gigabyte.
  void save(const te::Program& program, std::uint64_t seed, const Reference& reference) const;

 private:
  std::string path_of(const te::Program& program, std::uint64_t seed) const;
  std::string folder_;               // empty: no cache
};

}  // namespace lathe::measure
