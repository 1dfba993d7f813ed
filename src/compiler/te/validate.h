// The pieces of validate() that the parser uses to name the place of an error.
#pragma once

#include "compiler/te/program.h"

namespace lathe::te {

// How many stages and tensors there are.
Status check_count(std::size_t stages, std::size_t tensors);
Status check_shape(const std::string& name, const std::vector<std::int64_t>& shape);
// Whether the shape that callers see merges neighbouring dimensions.
Status check_border_shape(const Tensor& tensor);
// Rank of the index, pad value, and, without padding, that no iteration leaves the tensor.
Status check_read(const Tensor& tensor, const ir::Read& read, const std::vector<Iterator>& iters);
Status check_depth(const ir::Expr& e);
// "2*y + r - 1"
std::string index_text(const ir::Affine& index, const std::vector<Iterator>& iters);

}  // namespace lathe::te
