// The loops of a pipeline in strips.
#pragma once

#include "tuner/space/rules/strips/stencils.h"

namespace lathe::space {

// A number, or what a knob gives.
struct StripSize {
  std::int64_t value = 1;
  int knob = -1;
  std::string name;  // the knob's
};

struct StripChoice {
  std::int64_t rows = 32;  // of a strip, along the last of the axes with neighbours
  std::int64_t depth = 1;  // along the one before, if there are two
  std::int64_t width = 0;  // of a strip along the last axis; 0: all
  std::size_t kept = 0;    // so many of the stages that tiles may compute are kept at strips, too
  StripSize vectors, height;            // of a tile of the output
  StripSize kept_vectors, kept_height;  // of a tile of what is kept
};

Result<Sketch> build_strips(const Stencils& pipeline, const StripChoice& choice);

}  // namespace lathe::space
