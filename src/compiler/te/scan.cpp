#include "compiler/te/scan.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "compiler/te/validate.h"

namespace lathe::te {
namespace {

// The dimension in which the read's index is not the iterator itself, where all others are; -1:
// there is none.
int axis_of(const ir::Read& read) {
  for (std::size_t d = 0; d < read.index.size(); ++d)
    if (read.index[d] != ir::Affine::iter(static_cast<int>(d))) return static_cast<int>(d);
  return -1;
}

std::string place_text(const std::string& tensor, const ir::Read& read,
                       const std::vector<Iterator>& iters) {
  std::vector<std::string> index;
  for (const ir::Affine& row : read.index) index.push_back(index_text(row, iters));
  return fmt::format("{}[{}]", tensor, fmt::join(index, ","));
}

}  // namespace

bool is_own_read(const Stage& stage, const ir::Read& read) { return read.tensor == stage.tensor; }

std::optional<Scan> scan_of(const Stage& stage) {
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (!is_own_read(stage, *read)) continue;
    const int axis = axis_of(*read);
    if (axis >= 0) return Scan{axis, read->index[static_cast<std::size_t>(axis)].offset > 0};
  }
  return std::nullopt;
}

bool is_scan(const Stage& stage) {
  return std::ranges::any_of(ir::reads_of(stage.body),
                             [&](const ir::Read* read) { return is_own_read(stage, *read); });
}

bool has_scan(const Workload& workload) {
  return std::ranges::any_of(workload.stages, [](const Stage& stage) { return is_scan(stage); });
}

Status check_own_read(const std::string& tensor, const ir::Read& read,
                      const std::vector<Iterator>& iters) {
  const std::string place = place_text(tensor, read, iters);
  const int axis = axis_of(read);
  if (axis < 0)
    return fail(ErrorKind::kInvalidArgument,
                "{} reads the element that it computes; read one before it along an axis, as "
                "t-1 for t, or add up with sum(k)",
                place);
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    ir::Affine row = read.index[d];
    if (std::cmp_equal(d, axis)) row.offset = 0;
    if (row == ir::Affine::iter(static_cast<int>(d))) continue;
    return fail(
        ErrorKind::kInvalidArgument,
        "{} is read to compute {}, which goes along one axis only: write the iterator {} in "
        "dimension {}, and a constant number less or more of it in one dimension alone",
        place, tensor, iters[d].name, d);
  }
  if (!read.pad)
    return fail(ErrorKind::kInvalidArgument,
                "{} has no value where the axis begins; say which, for example `else 0` in the "
                "index",
                place);
  return {};
}

Status check_scan(const Workload& workload, const Stage& stage) {
  const std::string& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)].name;
  std::optional<Scan> scan;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (!is_own_read(stage, *read)) continue;
    if (stage.reduce != ir::ReduceOp::kNone)
      return fail(ErrorKind::kInvalidArgument,
                  "{} is read inside the {} that computes it; a scan has earlier elements outside "
                  "of reductions: reduce another tensor",
                  tensor, ir::name_of(stage.reduce));
    LATHE_TRY_STATUS(check_own_read(tensor, *read, stage.iters));
    const int axis = axis_of(*read);
    const Scan own{axis, read->index[static_cast<std::size_t>(axis)].offset > 0};
    if (scan && scan->iter != own.iter)
      return fail(ErrorKind::kInvalidArgument,
                  "{} reads itself along {} and along {}, but a scan goes along one axis; write "
                  "one statement for each axis",
                  tensor, stage.iters[static_cast<std::size_t>(scan->iter)].name,
                  stage.iters[static_cast<std::size_t>(own.iter)].name);
    if (scan && scan->backward != own.backward)
      return fail(ErrorKind::kInvalidArgument,
                  "{} reads elements before and behind the one that it computes along {}; a scan "
                  "goes in one direction: write one statement for each",
                  tensor, stage.iters[static_cast<std::size_t>(own.iter)].name);
    scan = own;
  }
  return {};
}

}  // namespace lathe::te
