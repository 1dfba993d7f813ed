// The pieces of validate() with which the parser tells the place of an error.
#pragma once

#include "compiler/te/workload.h"

namespace lathe::te {

// Checks how many stages and tensors there are.
Status check_count(std::size_t stages, std::size_t tensors);
Status check_shape(const std::string& name, const std::vector<std::int64_t>& shape);
// Checks that the shape callers see merges neighbouring dimensions.
Status check_border_shape(const Tensor& tensor);
// No result is nearer to the exact one than its type holds. The default is for f32: coarser types
// have no other limit than the bounds of their rounding.
Status check_max_error(const Workload& workload);
// Only inputs have ranges, whose ends are numbers of their type.
Status check_range(const Tensor& tensor);
// Checks the rank of the index and the pad value; without padding, also that no iteration leaves
// the tensor.
Status check_read(const Tensor& tensor, const ir::Read& read, const std::vector<Iterator>& iters);
// The same for a Lookup: without padding, what is known of its index (ranges.h) must keep it
// inside.
Status check_lookup(const Workload& workload, const ir::Lookup& lookup,
                    const std::vector<Iterator>& iters);
// Checks a Read or a Lookup.
Status check_access(const Workload& workload, const ir::Expr& access,
                    const std::vector<Iterator>& iters);
Status check_depth(const ir::Expr& e);
// Writes "2*y + r - 1".
std::string index_text(const ir::Affine& index, const std::vector<Iterator>& iters);

}  // namespace lathe::te
