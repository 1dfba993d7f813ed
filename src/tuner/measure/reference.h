// What a workload's outputs should be, and by how much a candidate may differ.
//
// Both come from one workload that is derived from the given one: every stage in f64, and beside
// each stage that rounds, another one that computes its bound (bounds.h). Compiled under a plain
// schedule, it takes as long as a decent implementation of the operator, not as long as an
// interpreter. reference_check.h compares some of it with the interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/te/workload.h"
#include "runtime/runner/channel.h"

namespace lathe::measure {

struct ReferenceNames {
  std::string value, bound;  // tensors of the reference; an empty bound: it is exact
};
struct ReferenceWorkload {
  // Its inputs are those of the workload, with floating-point types as f64. For every output of the
  // workload it has a tensor of the same name and one of its bounds.
  te::Workload workload;
  std::vector<ReferenceNames> names;  // one entry for each output of the workload
  // True if rounding may turn a condition or move a step, so that an error may be a whole step.
  bool jumps = false;
};
ReferenceWorkload reference_workload(const te::Workload& workload);
// The same without bounds: tensors and stages are those of the workload.
te::Workload reference_values(const te::Workload& workload);

struct Reference {
  // One entry for each output, row-major. An infinite bound: nothing is known.
  std::vector<std::vector<double>> values, bounds;
};
// The largest error, relative to the largest output, that passes besides the bounds: the
// contract's, or what a single rounding makes where outputs saturate and so are small beside the
// sums, or where they magnify it, as near a division by 0. Where a smaller error than usual is
// asked for, only the former. Infinite where no schedule could keep it: for types coarser than f32,
// jumps, and numbers near the smallest of their type.
double allowed_error(const te::Workload& workload, bool jumps, const Reference& reference);
// Strassen's algorithm rounds with the size of rows and columns far away. So where a workload
// allows it (te::Numerics::kNormwise), bounds are widened to some times what the contract allows:
// it decides then, and only what is further off is wrong for another reason. For Cook-Toom
// algorithms the bounds of kLocal have room (neighbourhood.h).
Reference with_room_for_algorithms(const te::Workload& workload, Reference reference);
// The file that `lathe-runner` takes.
Result<runner::Fd> reference_file(const Reference& reference);

// References on disk, by workload, seed and version. A damaged or foreign file counts as none.
class ReferenceCache {
 public:
  // `folder` is Options::cache_folder.
  explicit ReferenceCache(const std::string& folder);
  std::optional<Reference> load(const te::Workload& workload, std::uint64_t seed) const;
  // Saves if it can: without a cache, things are only slower. It keeps the newest files within a
  // gigabyte.
  void save(const te::Workload& workload, std::uint64_t seed, const Reference& reference) const;

 private:
  std::string path_of(const te::Workload& workload, std::uint64_t seed) const;
  std::string folder_;  // empty: no cache
};

}  // namespace lathe::measure
