// What a workload's outputs should be, and by how much a candidate may differ.
//
// Both come from one program derived from the workload's: every stage in f64, and beside each that
// rounds one that computes its bound (bounds.h). Compiled under a plain schedule, it takes as long
// as a decent implementation of the operator, not as long as an interpreter; reference_check.h
// compares some of it with the interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/te/program.h"
#include "runtime/runner/channel.h"

namespace lathe::measure {

struct ReferenceNames {
  std::string value, bound;  // of tensors of the reference; bound empty: exact
};
struct ReferenceProgram {
  // Inputs as in the workload, those of floating-point types as f64. Its outputs are, for every
  // output of the workload, a tensor of the same name and one of its bounds.
  te::Program program;
  std::vector<ReferenceNames> names;  // an entry an output of the workload
  // rounding may turn a condition or a step, so that an error is a whole step
  bool jumps = false;
};
ReferenceProgram reference_program(const te::Program& program);

struct Reference {
  // an entry an output, row-major; bound infinite: nothing is known
  std::vector<std::vector<double>> values, bounds;
};
// The largest error of the largest output that passes beside the bounds: the contract's. Infinite
// where no schedule could keep it: types coarser than f32, jumps, numbers near the smallest of
// their type.
double allowed_error(const te::Program& program, bool jumps, const Reference& reference);
// The file `lathe-runner` takes.
Result<runner::Fd> reference_file(const Reference& reference);

// References on disk, by workload, seed and version; a damaged or foreign file is as good as none.
class ReferenceCache {
 public:
  // As Options::cache_folder says.
  explicit ReferenceCache(const std::string& folder);
  std::optional<Reference> load(const te::Program& program, std::uint64_t seed) const;
  // Best effort: a cache that cannot be written is only slower. Keeps the newest files within a
  // gigabyte.
  void save(const te::Program& program, std::uint64_t seed, const Reference& reference) const;

 private:
  std::string path_of(const te::Program& program, std::uint64_t seed) const;
  std::string folder_;  // empty: no cache
};

}  // namespace lathe::measure
