// Whether indices that are not affine stay inside their tensors.
#include <algorithm>

#include "compiler/ir/expr/print.h"
#include "compiler/te/ranges.h"
#include "compiler/te/types.h"
#include "compiler/te/validate.h"

namespace lathe::te {
namespace {

std::string text_of(const Workload& workload, const ir::Expr& e,
                    const std::vector<Iterator>& iters) {
  std::vector<std::string> tensors, names;
  for (const Tensor& tensor : workload.tensors) tensors.push_back(tensor.name);
  for (const Iterator& iter : iters) names.push_back(iter.name);
  return ir::print_index(e, {tensors, names});
}

// The first input that the index depends on without a range for its elements; empty: none.
std::string open_input(const Workload& workload, const ir::Expr& e) {
  for (const int t : ir::tensors_of(e)) {
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(t)];
    if (tensor.role == TensorRole::kInput && !tensor.range && !is_float(tensor.dtype) &&
        tensor.dtype != Dtype::kBool)
      return tensor.name;
  }
  return "";
}

std::unexpected<Error> leaves(const Workload& workload, const ir::Lookup& lookup, std::size_t d,
                              const ir::IndexRange& range, const std::vector<Iterator>& iters) {
  const Tensor& tensor = workload.tensors[static_cast<std::size_t>(lookup.tensor)];
  const std::int64_t last = tensor.shape[d] - 1;
  const std::string input = open_input(workload, lookup.index[d]);
  const std::string promise =
      input.empty() ? "" : fmt::format("declare {} with `in LOW..HIGH`, ", input);
  return fail(ErrorKind::kInvalidArgument,
              "index {} of {}[{}], {}, may be from {} to {}, and only 0 to {} is known to be "
              "inside; {}keep it inside by min(max(..., 0), {}), or say what is read outside, as "
              "by `else 0`",
              d, tensor.name, fmt::join(tensor.shape, ","),
              text_of(workload, lookup.index[d], iters), range.low, range.high, last, promise,
              last);
}

}  // namespace

Status check_lookup(const Workload& workload, const ir::Lookup& lookup,
                    const std::vector<Iterator>& iters) {
  const Tensor& tensor = workload.tensors[static_cast<std::size_t>(lookup.tensor)];
  if (lookup.index.size() != tensor.shape.size())
    return fail(ErrorKind::kInvalidArgument, "{}[{}] is read with {} {}", tensor.name,
                fmt::join(tensor.shape, ","), lookup.index.size(),
                lookup.index.size() == 1 ? "index" : "indices");
  for (const ir::Expr& index : lookup.index)
    if (index->dtype != Dtype::kI64)
      return fail(ErrorKind::kInvalidArgument, "an index of {} is {}; cast it to i64", tensor.name,
                  name_of(index->dtype));
  if (lookup.pad) {
    if (LATHE_TRY(number_as(*lookup.pad, tensor.dtype)) == *lookup.pad) return {};
    return fail(ErrorKind::kInvalidArgument, "the padding value {} is not rounded to {}",
                *lookup.pad, name_of(tensor.dtype));
  }
  ElementRanges ranges(workload);
  for (std::size_t d = 0; d < lookup.index.size(); ++d) {
    const ir::IndexRange range = ranges.of(lookup.index[d], iters);
    if (!range.is_within(0, tensor.shape[d] - 1)) return leaves(workload, lookup, d, range, iters);
  }
  return {};
}

Status check_access(const Workload& workload, const ir::Expr& access,
                    const std::vector<Iterator>& iters) {
  if (const auto* read = std::get_if<ir::Read>(&access->value))
    return check_read(workload.tensors[static_cast<std::size_t>(read->tensor)], *read, iters);
  return check_lookup(workload, std::get<ir::Lookup>(access->value), iters);
}

}  // namespace lathe::te
