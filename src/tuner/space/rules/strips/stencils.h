// Pipelines of stencils: stages over images that read each other's neighbouring elements, as
// gradients, the sums of their products over windows and what is made of these.
//
// The output goes through in strips of its rows; several outputs of one shape do so together.
// Before each strip, stages that are read by windows compute what it needs of them, with a halo;
// that stays in the cache. A stage that is read where it is needed, element by element, is computed
// for one register tile of the output at a time:
//
//   strips of rows
//     a kept stage: rows and halo, in tiles of its own
//     tiles of the strip
//       a stage in registers
//       the output
//     tiles of the strip, of another output
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {

struct Stencils {
  // What is read element by element is inlined, and nothing else.
  Prepared prepared;
  CpuTarget target;
  int lanes = 1;             // of all stages alike
  int output = -1;           // the last of the outputs, a stage of the view as those below
  std::vector<int> outputs;  // all of them, in the order of their stages
  // Axes of the output, by iterator, outermost first. Of `batch`, every stage does its own part
  // only; along `rows` stages read neighbours, or strips are wanted to share loads; `inner` axes
  // are those that some stage does not have.
  std::vector<int> batch, rows, inner;
  int lane = -1;           // the last axis
  std::vector<int> moved;  // stages that strips or tiles compute, readers first
  // Of these, stages that a tile may compute: those first for which that is most work.
  std::vector<int> loose;

  const te::Stage& stage(int number) const {
    return prepared.view.stages[static_cast<std::size_t>(number)];
  }
  std::int64_t extent(int axis) const {
    return stage(output).iters[static_cast<std::size_t>(axis)].extent;
  }
  bool is_output(int number) const { return std::ranges::count(outputs, number) > 0; }
  const std::string& name(int number) const {
    return prepared.view.tensors[static_cast<std::size_t>(stage(number).tensor)].name;
  }
};

// Nothing where the workload is no such pipeline.
std::optional<Stencils> find_stencils(const CpuContext& context);

// By stage, how many iterations each of its iterators has where an output has so many: about, for
// all that is read is taken to begin together. None for stages that are not moved.
std::vector<std::vector<std::int64_t>> needed_of(const Stencils& pipeline,
                                                 const std::vector<std::int64_t>& output);

// True if the stage reads the tensor at the element that it computes, and nowhere else.
bool reads_own_place(const te::Stage& reader, int tensor);

}  // namespace lathe::space
