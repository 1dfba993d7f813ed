// Indices that are data: of which type they are, and what those outside of a tensor mean.
#pragma once

#include "compiler/ops/values.h"

namespace lathe::ops {

// What an index outside of the places 0 to SIZE - 1 is.
enum class Outside {
  kPromised,  // there is none: the caller promises it
  kNegative,  // -1 is the last place, as in Python; there is none beyond these either
  kClip,      // the nearest place
  kWrap,      // the place modulo the size
  kFill,      // no place: --value is read, and nothing is changed there
};

struct Lookup {
  Outside outside;
  Dtype index_dtype;
  std::string value;  // of kFill, as a number of the elements' type

  // Writes "I: i32[20] in 0..999" for indices into dimensions of these sizes.
  std::string declared(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& sizes) const;
  // Writes the place along a dimension of so many elements that "I[n]" gives, where indices were
  // declared for the largest of several dimensions.
  std::string place(const std::string& index, std::int64_t size, std::int64_t largest) const;
  // The same as an i64, and -1 of what is no place.
  std::string number(const std::string& index, std::int64_t size, std::int64_t largest) const;
  // " else 0" where an index may be no place.
  std::string otherwise() const;
};

// --index-dtype, --outside and --value.
std::vector<Parameter> lookup_parameters();
// `dtype`: of the elements.
Result<Lookup> lookup_of(const Values& values, Dtype dtype);

// Of places that are changed: no --value, and what is no place is dropped.
std::vector<Parameter> changed_parameters();
Result<Lookup> changed_of(const Values& values);

// The dimension that a parameter of one dimension gives.
Result<std::size_t> one_axis(const Values& values, std::string_view name,
                             const std::vector<std::int64_t>& shape);
// --axis, along which an element of --indices, which have the rank of --input, says where.
Result<std::size_t> axis_of_elements(const Values& values);

}  // namespace lathe::ops
