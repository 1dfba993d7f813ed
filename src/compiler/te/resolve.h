// Resolves names: finds which iterator each name of a stage means, turns indices into affine forms
// where they are affine, and finds the extents.
#pragma once

#include <map>

#include "compiler/te/syntax.h"
#include "compiler/te/workload.h"

namespace lathe::te {

// An iterator of a stage as written. The stage's spatial ones come first, then those of each
// reduction in order of appearance. Two reductions side by side may both have an iterator k: these
// are two.
struct StageIter {
  std::string name;
  std::optional<std::int64_t> extent;
  IterKind kind;
  Place place;
};

struct StageScope {
  std::vector<StageIter> iters;
  std::vector<std::pair<const ReadSyntax*, Place>> reads;  // in order of appearance
  bool reduces = false;
};

// Fills in NameSyntax::iter, ReadSyntax::affine and IterSyntax::id.
Result<StageScope> resolve(StageSyntax& stage);

// The shapes that are known so far, by tensor name.
using ShapeOf = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

// Fills in the extents that the shapes of tensors determine; others stay unknown.
Status infer_extents(StageScope& scope, const StageSyntax& stage, const ShapeOf& shapes);
// Fails for the first iterator without an extent.
Status require_extents(const StageScope& scope);

}  // namespace lathe::te
