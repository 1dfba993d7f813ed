// Decides which axis of a stage plays which part, by the operands it touches.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/te/work.h"
#include "compiler/te/workload.h"

namespace lathe::space {

struct Axes {
  int stage = -1;   // stage of the workload that is worth scheduling
  int vector = -1;  // spatial iterator that becomes the vector lanes
  // At most two other spatial iterators that a tile has, innermost first; of a transpose, first the
  // one that is read along; of dots, first the shorter.
  std::vector<int> pixels;
  std::vector<int> batch;  // the other spatial iterators: the outermost loops
  int reduce = -1;         // the reduction iterator that is blocked and unrolled; -1: none
  std::vector<int> taps;   // the other reduction iterators
  // The iterator over parts of the reduction, one of the batch, as of sums that are shared or cut;
  // -1: the reduction is whole.
  int parts = -1;
  // The operand that is read as vectors along `vector`.
  const ir::Read* weights = nullptr;
  const ir::Read* input = nullptr;  // the operand that is read along the pixels
};

// The loops over parts of a long sum and inside of one, made of the loop with that name.
std::string part_loop(const std::string& loop);
std::string loop_in_part(const std::string& loop);

// The number of iterations; those of a reduction count double.
double work_of(const te::Stage& stage);
double elements_of(const te::Tensor& tensor);
double bytes_of(const te::Tensor& tensor);
// A reduction with less than 1/32 of the work of the main stage gets plain loops.
inline constexpr double kWorthATile = 32;
// True if the reduction goes along one axis: the others have one element.
bool has_one_tap(const te::Stage& stage, const Axes& axes);
// True if it only brings a tensor into another order.
bool is_copy(const te::Stage& stage);
// True if each dimension of its result is one of its iterators. A copy may go through a dimension
// by two.
bool writes_plainly(const te::Workload& workload, const te::Stage& stage);
// Among the stages that run every time, write plainly and are no scans, the one with the most work.
int main_stage(const te::Workload& workload);

// Assigns parts for each axis that can be vectorized with consecutive accesses (given the layouts
// that the workload lets the schedule choose). Returns at most two assignments, the most promising
// first; none only if there is no spatial axis but those along loops of `steps`, which have one
// iteration in each step of a recurrence and take no part.
std::vector<Axes> classify(const te::Workload& workload, int stage,
                           const std::set<std::string>& steps = {});

// True for a sum of products with a constant operand that alone has a long axis of the result, as
// of a vector with a matrix of weights: laid out beforehand, a panel of lanes along that axis after
// the other, it is read once, from its beginning to its end.
bool has_panels(const te::Workload& workload, const te::Stage& stage, const Axes& axes = {});
// True if a tile has elements of the weights alone, with which rows of the result end, beside the
// pixels before them.
bool has_phases(const Axes& axes);
// True if lanes run along both operands, which have a pixel axis each.
bool has_dots(const Axes& axes);
// Of a map that reads a tensor along another axis than it writes along: that axis. Else -1.
int read_along(const te::Stage& stage);
// True of a reduction whose lanes run along what it reads, and whose tiles have the axis along
// which the result lies, as a pooling that makes channels last of planes: a tile is transposed.
bool stores_across(const te::Workload& workload, const Axes& axes);
// True if the schedule may choose the storage of this tensor.
bool layout_is_free(const te::Workload& workload, int tensor);
// The last axis of the result; -1: there is none.
int last_spatial_of(const te::Stage& stage);
// True if lanes along the iterator read elements that lie side by side, or by few from each other,
// as where windows slide by two.
bool reads_near(const te::Stage& stage, int iter);
// True if lanes along an iterator read consecutive elements of row-major tensors.
bool reads_as_they_lie(const te::Stage& stage, int iter);
// Index rows of the element that a stage writes.
std::vector<ir::Affine> written_index(const te::Stage& stage);
// The row that is exactly this iterator with coefficient 1; -1 if there is none, or if another row
// has the iterator too.
int plain_dim(const std::vector<ir::Affine>& index, int iter);
using te::has_reuse, te::touches;
// True for what stands in a view for an element at a computed place (ir::Lookup): any of the
// tensor, which is no operand that could be copied or laid out.
bool is_anywhere(const ir::Read& read);
// True for a map that reads rows, wherever data says they are, as they lie along its last axis.
bool copies_rows(const te::Stage& stage);
// plain_dim where the reduction goes through its dimension in parts.
int dim_along(const Axes& axes, const std::vector<ir::Affine>& index, int iter);
// The index as if the reduction were whole.
std::vector<ir::Affine> without_parts(const Axes& axes, std::vector<ir::Affine> index);
// True if every row is one iterator with coefficient 1.
bool all_plain(const std::vector<ir::Affine>& index);
// True if every row is that or always the first element; the reduction may go through its dimension
// in parts.
bool all_plain(const Axes& axes, const std::vector<ir::Affine>& index);

}  // namespace lathe::space
