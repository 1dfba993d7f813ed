// The axes of images, and what surrounds them.
#pragma once

#include <string_view>

#include "compiler/ops/values.h"

namespace lathe::ops {

// "zyx", or what of it fewer axes have: the last letters are those of the innermost axes. Those of
// taps along them: "qrs".
std::string_view letters_of(std::size_t rank);
std::string_view taps_of(std::size_t rank);
// "one value, or z,y,x"
std::string one_or_each(std::size_t rank);

struct Padding {
  std::int64_t before = 0, after = 0;
};

// --pad takes one value for all sides, one for each axis, or all at the beginnings and then all at
// the ends, as in ONNX. `what` it is: "zeros around the input".
Parameter pad_parameter(std::size_t rank, const std::string& what);
Result<std::vector<Padding>> padding_of(const Values& values, std::size_t rank);

}  // namespace lathe::ops
