// Sums over neighbours in an image.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "compiler/cook_toom/matrices.h"
#include "compiler/te/workload.h"

namespace lathe::space {

// An axis of the image: results y, read at stride*y + dilation*tap + what other iterators shift.
struct ImageAxis {
  std::string iter, tap;  // iterators of the block
  std::int64_t extent = 0, taps = 0, stride = 1, dilation = 1;
  int input_dim = -1, filter_dim = -1;
  int shifts = 0;  // other iterators in the input's dimension

  cook_toom::Strands strands() const { return cook_toom::strands_of(stride, dilation); }
  cook_toom::Residues residues() const {
    return cook_toom::residues_of(taps, strands().inner_stride);
  }
  // Results that tiles of one strand compute together.
  std::int64_t results() const { return strands().longest(extent); }
};

// What the iterators of a sum over neighbours are for.
struct ImageSum {
  std::string block, input;        // the input is a tensor
  std::vector<std::string> outer;  // of the result, none of the below
  std::int64_t outer_extent = 1;   // of all these together
  std::int64_t input_extent = 1;   // of those of them that move the input
  std::string vector;
  std::int64_t vector_extent = 0;
  int vector_dim = -1;          // of the filter
  std::vector<ImageAxis> axes;  // one or two, outer first
  std::string channels;         // the reduction that is neither of an axis
  std::int64_t channel_extent = 0;
  int input_channels = -1, filter_channels = -1;
  int input_dims = 0, filter_dims = 0;
  int result_dims = 0;
  std::vector<std::string> result;  // iterators by dimension
};

// The sum of a stage as one over neighbours in an image; else why it is none.
std::expected<ImageSum, std::string> image_sum_of(const te::Workload& view, const te::Stage& stage);

}  // namespace lathe::space
