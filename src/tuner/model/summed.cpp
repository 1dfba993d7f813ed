#include "tuner/model/summed.h"

#include <algorithm>

namespace lathe::model {

BlockRows block_rows(std::span<const float> features, int width, const feature::BlockRow& made_of) {
  BlockRows out;
  const auto row = static_cast<std::size_t>(width), whole = static_cast<std::size_t>(made_of.whole),
             block = static_cast<std::size_t>(made_of.block);
  LATHE_CHECK(block > 0 && row >= whole && features.size() % row == 0);
  for (std::size_t begin = 0; begin < features.size(); begin += row)
    for (std::size_t at = begin + whole; at + block <= begin + row && features[at] != 0;
         at += block) {
      const auto shared = features.subspan(begin, whole), own = features.subspan(at, block);
      out.features.insert(out.features.end(), shared.begin(), shared.end());
      out.features.insert(out.features.end(), own.begin(), own.end());
      out.program.push_back(static_cast<int>(begin / row));
    }
  return out;
}

int expected_width(const Forest& forest, const feature::BlockRow& made_of, int width) {
  if (made_of.block == 0) return forest.width();
  const bool made_of_blocks = forest.width() == made_of.whole + made_of.block &&
                              width > made_of.whole && (width - made_of.whole) % made_of.block == 0;
  return made_of_blocks ? width : forest.width();
}

void predict_programs(const Forest& forest, const feature::BlockRow& made_of,
                      std::span<const float> features, int width, std::span<float> scores) {
  if (made_of.block == 0) return forest.predict(features, scores);
  std::ranges::fill(scores, 0.0F);
  constexpr std::size_t kAtOnce = 64;  // programs, whose blocks stay in the cache
  const auto row = static_cast<std::size_t>(width);
  std::vector<float> own;
  for (std::size_t begin = 0; begin < scores.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, scores.size() - begin);
    const BlockRows rows = block_rows(features.subspan(begin * row, count * row), width, made_of);
    own.assign(rows.program.size(), 0);
    forest.predict(rows.features, own);
    for (std::size_t b = 0; b < own.size(); ++b)
      scores[begin + static_cast<std::size_t>(rows.program[b])] += own[b];
  }
}

std::vector<float> sum_blocks(std::span<const float> scores, const BlockRows& rows,
                              std::size_t programs) {
  std::vector<float> out(programs);
  for (std::size_t b = 0; b < scores.size(); ++b)
    out[static_cast<std::size_t>(rows.program[b])] += scores[b];
  return out;
}

void share_with_blocks(const Gradients& programs, const BlockRows& rows, Gradients& blocks) {
  std::vector<float> count(programs.first.size());
  for (const int program : rows.program) ++count[static_cast<std::size_t>(program)];
  blocks.first.clear();
  blocks.second.clear();
  for (const int program : rows.program) {
    const auto p = static_cast<std::size_t>(program);
    blocks.first.push_back(programs.first[p]);
    blocks.second.push_back(programs.second[p] * count[p]);
  }
}

}  // namespace lathe::model
