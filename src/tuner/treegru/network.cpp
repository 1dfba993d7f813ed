#include "tuner/treegru/network.h"

#include <algorithm>
#include <cmath>

#include "tuner/feature/tree.h"

namespace lathe::treegru {
namespace {

// Programs at once, so that their states stay in the second-level cache.
constexpr std::size_t kBlock = 64;

// Takes the rows of a matrix from `first` on. The rows of `input` for the embedding come first.
Matrix rows_from(const Matrix& matrix, int first) {
  Matrix part(matrix.rows - first, matrix.columns);
  std::ranges::copy(matrix.values.begin() + static_cast<std::ptrdiff_t>(first) * matrix.columns,
                    matrix.values.end(), part.values.begin());
  return part;
}

// What each loop variable adds to the gates of its loop, with the bias; the last row is for an
// unknown variable.
Matrix starts_of(const Weights& weights) {
  const Matrix& embedding = weights.embedding;
  Matrix out(embedding.rows + 1, weights.input.columns);
  for (int v = 0; v < out.rows; ++v) {
    std::ranges::copy(weights.bias.values, out.row(v).begin());
    for (int e = 0; v < embedding.rows && e < embedding.columns; ++e)
      for (int c = 0; c < weights.input.columns; ++c)
        out.row(v)[c] += embedding.row(v)[e] * weights.input.row(e)[c];
  }
  return out;
}

Matrix beside(const Matrix& scatter, const Matrix& readout) {
  const int columns = scatter.columns + readout.rows;
  Matrix out(scatter.rows, (columns + Dense::kColumns - 1) / Dense::kColumns * Dense::kColumns);
  for (int h = 0; h < scatter.rows; ++h) {
    std::ranges::copy(scatter.row(h), out.row(h).begin());
    for (int s = 0; s < readout.rows; ++s) out.row(h)[scatter.columns + s] = readout.row(s)[h];
  }
  return out;
}

// The sum of values weighted by softmax(logits).
float soft_choice(const float* logits, const float* values, int count) {
  const float most = *std::max_element(logits, logits + count);
  float sum = 0, weighted = 0;
  for (int i = 0; i < count; ++i) {
    const float weight = std::exp(logits[i] - most);
    sum += weight;
    weighted += weight * values[i];
  }
  return weighted / sum;
}

}  // namespace

struct Network::Scratch {
  std::vector<float> h, above;  // states of a level; sums for the level above it
  std::vector<float> from_input, from_state, read;
};

Network::Network(Weights weights)
    : weights_(std::move(weights)),
      start_(starts_of(weights_)),
      input_(rows_from(weights_.input, weights_.embedding.columns)) {
  if (weights_.shape.variant == Variant::kContext)
    slots_ = beside(weights_.scatter, weights_.readout);
}

void Network::score(std::span<const float> features, std::span<float> scores) const {
  const auto width = static_cast<std::size_t>(feature::tree_width());
  LATHE_CHECK(features.size() == scores.size() * width);
  Scratch scratch;
  for (std::size_t row = 0; row < scores.size(); row += kBlock) {
    const std::size_t count = std::min(kBlock, scores.size() - row);
    score_block(features.subspan(row * width, count * width), scores.subspan(row, count), scratch);
  }
}

void Network::score_block(std::span<const float> features, std::span<float> scores,
                          Scratch& scratch) const {
  const PackedTrees trees = pack_trees(weights_, features);
  std::ranges::fill(scores, weights_.offset.values[0]);
  const auto hidden = static_cast<std::size_t>(weights_.shape.hidden);
  scratch.h.clear();
  for (std::size_t l = trees.levels.size(); l-- > 0;) {
    const Level& level = trees.levels[l];
    scratch.h.resize(static_cast<std::size_t>(level.count()) * hidden);
    advance(level, l + 1 < trees.levels.size(), scratch);
    read_out(level, l == 0, scratch, scores);
    if (l == 0) break;
    scratch.above.assign(static_cast<std::size_t>(trees.levels[l - 1].count()) * hidden, 0);
    for (std::size_t n = 0; n < level.parent.size(); ++n) {
      float* sum = scratch.above.data() + static_cast<std::size_t>(level.parent[n]) * hidden;
      for (std::size_t i = 0; i < hidden; ++i) sum[i] += scratch.h[n * hidden + i];
    }
    scratch.h.swap(scratch.above);
  }
}

// Turns the sums of the states inside (scratch.h) into the loops' own states.
void Network::advance(const Level& level, bool has_children, Scratch& scratch) const {
  const int count = level.count();
  const auto width = static_cast<std::size_t>(start_.columns),
             size = static_cast<std::size_t>(count) * width;
  scratch.from_input.resize(size);
  scratch.from_state.assign(size, 0);
  for (std::size_t n = 0; n < level.variable.size(); ++n) {
    const int variable = level.variable[n] < 0 ? start_.rows - 1 : level.variable[n];
    std::ranges::copy(start_.row(variable),
                      scratch.from_input.begin() + static_cast<std::ptrdiff_t>(n * width));
  }
  dense_.multiply_add(level.inputs.data(), count, input_, scratch.from_input.data());
  if (has_children)
    dense_.multiply_add(scratch.h.data(), count, weights_.hidden, scratch.from_state.data());
  dense_.gru(scratch.from_input.data(), scratch.from_state.data(), count, weights_.shape.hidden,
             scratch.h.data());
}

void Network::read_out(const Level& level, bool outermost, Scratch& scratch,
                       std::span<float> scores) const {
  const auto hidden = static_cast<std::size_t>(weights_.shape.hidden);
  if (weights_.shape.variant == Variant::kVanilla) {
    if (!outermost) return;
    const std::vector<float>& linear = weights_.readout.values;
    for (std::size_t n = 0; n < level.program.size(); ++n) {
      float sum = 0;
      for (std::size_t i = 0; i < hidden; ++i) sum += scratch.h[n * hidden + i] * linear[i];
      scores[static_cast<std::size_t>(level.program[n])] += sum;
    }
    return;
  }
  const auto width = static_cast<std::size_t>(slots_.columns);
  scratch.read.assign(static_cast<std::size_t>(level.count()) * width, 0);
  dense_.multiply_add(scratch.h.data(), level.count(), slots_, scratch.read.data());
  const int m = weights_.shape.slots;
  for (std::size_t n = 0; n < level.program.size(); ++n) {
    const float* read = scratch.read.data() + n * width;
    scores[static_cast<std::size_t>(level.program[n])] += soft_choice(read, read + m, m);
  }
}

}  // namespace lathe::treegru
