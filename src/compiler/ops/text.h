// Pieces of the text that operators write index expressions in.
#pragma once

#include "compiler/ops/values.h"

namespace lathe::ops {

Parameter dtype_parameter();
// Of operators that make no sense for integers.
Parameter float_parameter();

// Of operators that copy elements as they are: bools, too.
Parameter copied_parameter();

// The element type of the inputs, as these parameters give it.
Result<Dtype> dtype_of(const Values& values);
Result<Dtype> float_of(const Values& values);
Result<Dtype> copied_of(const Values& values);

// The number that a parameter gives as a word, as the text of one of this type; an infinity is one
// of floats, too.
Result<std::string> number_text(const Values& values, std::string_view name, Dtype dtype);

// Writes "X[1,3,7,7]".
std::string shaped(std::string_view name, const std::vector<std::int64_t>& shape);
// The same, followed by " as [1,21,7]" where callers see another shape.
std::string shaped(std::string_view name, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& border);
// Makes "X: f32[1,3]" of "X[1,3]".
std::string typed(const std::string& declaration, Dtype dtype);

// The number of elements, or 2^40 where there are more: such tensors are refused anyway.
std::int64_t elements_of(const std::vector<std::int64_t>& shape);

// Parses text that an operator wrote: its line numbers mean nothing to the caller, so the operator
// is the place of an error.
Result<te::Workload> parsed(std::string_view name, const std::string& text);
// Wraps a workload as the only algorithm, "direct".
Result<std::vector<Algorithm>> direct(Result<te::Workload> workload);

}  // namespace lathe::ops
