// Scores that are sums over the blocks of a program: one forest scores every block, with the
// columns of the whole beside its own.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "tuner/feature/block_row.h"
#include "tuner/model/forest.h"
#include "tuner/model/objective.h"

namespace lathe::model {

// A row for each block: the columns of the whole, then the block's.
struct BlockRows {
  std::vector<float> features;
  std::vector<int> program;  // the row that it is of, in ascending order
};
BlockRows block_rows(std::span<const float> features, int width, const feature::BlockRow& made_of);

// The width that the rows of programs must have so that this forest can score them: `width`, if
// they are made so.
int expected_width(const Forest& forest, const feature::BlockRow& made_of, int width);
// The scores of programs.
void predict_programs(const Forest& forest, const feature::BlockRow& made_of,
                      std::span<const float> features, int width, std::span<float> scores);

std::vector<float> sum_blocks(std::span<const float> scores, const BlockRows& rows,
                              std::size_t programs);
// The derivatives of a program's score go to each of its blocks. The blocks take their steps at the
// same time, so that the second derivative counts as often as there are blocks: their sum would
// step too far otherwise.
void share_with_blocks(const Gradients& programs, const BlockRows& rows, Gradients& blocks);

}  // namespace lathe::model
