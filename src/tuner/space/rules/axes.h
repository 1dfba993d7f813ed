// Which axis of a stage plays which part, by the operands it touches.
#pragma once

#include <vector>

#include "compiler/te/program.h"

namespace lathe::space {

struct Axes {
  int stage = -1;   // of the program: the one worth scheduling
  int vector = -1;  // spatial iterator that becomes vector lanes
  // spatial iterators of the broadcast operand, innermost first, at most two
  std::vector<int> pixels;
  std::vector<int> batch;  // the other spatial iterators: outermost loops
  int reduce = -1;         // the reduction iterator that is blocked and unrolled; -1: none
  std::vector<int> taps;   // the other reduction iterators
  // operand read as vectors along `vector` and not along the pixels
  const ir::Read* weights = nullptr;
  const ir::Read* input = nullptr;  // operand read along the pixels
};

// Iterations, those of a reduction counted double.
double work_of(const te::Stage& stage);
// The stage with the most work of those that run every time.
int main_stage(const te::Program& program);

// One assignment of parts for each axis that can be vectorized with consecutive accesses (given the
// layouts that the workload lets the schedule choose), the most promising first, at most two; empty
// only if there is no spatial axis.
std::vector<Axes> classify(const te::Program& program, int stage);

// Whether storage of this tensor may be chosen by the schedule.
bool layout_is_free(const te::Program& program, int tensor);
// Index rows of the element a stage writes.
std::vector<ir::Affine> written_index(const te::Stage& stage);
// The row that is exactly this iterator with coefficient 1; -1 if there is none or another row has
// the iterator too.
int plain_dim(const std::vector<ir::Affine>& index, int iter);
bool touches(const std::vector<ir::Affine>& index, int iter);
// Every row is one iterator with coefficient 1.
bool all_plain(const std::vector<ir::Affine>& index);

}  // namespace lathe::space
