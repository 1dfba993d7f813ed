#include "tuner/treegru/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "base/bytes.h"
#include "tuner/feature/tree.h"

namespace lathe::treegru {
namespace {

constexpr int kMost = 4096;  // of any size in a shape
// For an input that hardly varied before: its weights were hardly learnt.
constexpr float kMostStretch = 4, kMostShift = 8;

// Calls visit(node) for every loop of every row.
template <class Visitor>
void each_loop(std::span<const float> features, const Visitor& visit) {
  const auto width = static_cast<std::size_t>(feature::tree_width());
  for (std::size_t row = 0; row + width <= features.size(); row += width)
    for (int n = 0; n < feature::kTreeNodes; ++n) {
      const float* node = features.data() + row + n * feature::kTreeNodeWidth;
      if (node[feature::kNodeParent] == feature::kNoNode) break;
      visit(node);
    }
}

void standardize(std::span<const float> features, Weights& weights) {
  const auto inputs = static_cast<std::size_t>(inputs_of(weights.shape.variant));
  std::vector<double> sum(inputs), squares(inputs);
  double count = 0;
  each_loop(features, [&](const float* node) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const double x = node[feature::kNodeContext + i];
      sum[i] += x;
      squares[i] += x * x;
    }
    count += 1;
  });
  for (std::size_t i = 0; i < inputs; ++i) {
    const double mean = count > 0 ? sum[i] / count : 0;
    const double variance = count > 0 ? squares[i] / count - mean * mean : 0;
    weights.mean.push_back(static_cast<float>(mean));
    weights.scale.push_back(variance > 1e-8 ? static_cast<float>(1 / std::sqrt(variance)) : 1.0F);
  }
}

// Draws values uniformly within the usual bound for a sum over `fan_in` terms.
Matrix random_matrix(int rows, int columns, int fan_in, Rng& rng) {
  Matrix matrix(rows, columns);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  for (float& v : matrix.values) v = static_cast<float>(bound * (2 * rng.uniform() - 1));
  return matrix;
}

// The sizes of the trained matrices, in the order of Weights::trained().
std::array<std::pair<int, int>, 7> sizes_of(const Shape& s, int variables) {
  const bool vanilla = s.variant == Variant::kVanilla;
  const int embedding = vanilla ? s.embedding : 0, slots = vanilla ? 0 : s.slots;
  return {{{vanilla ? variables : 0, embedding},
           {embedding + inputs_of(s.variant), 3 * s.hidden},
           {s.hidden, 3 * s.hidden},
           {1, 3 * s.hidden},
           {vanilla ? 0 : s.hidden, slots},
           {vanilla ? 1 : slots, s.hidden},
           {1, 1}}};
}

void append_floats(std::string& bytes, const std::vector<float>& values) {
  for (const float v : values) append_value(bytes, v);
}

bool take_floats(std::string_view& bytes, std::size_t count, std::vector<float>& values) {
  if (bytes.size() < count * sizeof(float)) return false;
  values.resize(count);
  return std::ranges::all_of(values,
                             [&](float& v) { return take_value(bytes, v) && std::isfinite(v); });
}

bool take_shape(std::string_view& bytes, Shape& shape) {
  std::uint32_t variant = 0, embedding = 0, hidden = 0, slots = 0;
  if (!take_value(bytes, variant) || !take_value(bytes, embedding) || !take_value(bytes, hidden) ||
      !take_value(bytes, slots))
    return false;
  if (variant > 1 || std::max({embedding, hidden, slots}) > kMost) return false;
  shape = {static_cast<Variant>(variant), static_cast<int>(embedding), static_cast<int>(hidden),
           static_cast<int>(slots)};
  return check(shape).has_value();
}

}  // namespace

Status check(const Shape& shape) {
  const auto bad = [](std::string_view name, int value, std::string_view wanted) {
    return fail(ErrorKind::kInvalidArgument, "TreeGRU's {} is {}, it must be {}", name, value,
                wanted);
  };
  if (shape.hidden < 16 || shape.hidden > kMost || shape.hidden % 16 != 0)
    return bad("hidden size", shape.hidden, fmt::format("a multiple of 16 up to {}", kMost));
  if (shape.embedding < 1 || shape.embedding > kMost)
    return bad("embedding size", shape.embedding, fmt::format("from 1 to {}", kMost));
  if (shape.slots < 1 || shape.slots > kMost)
    return bad("number of slots", shape.slots, fmt::format("from 1 to {}", kMost));
  return {};
}

int inputs_of(Variant variant) {
  return variant == Variant::kContext ? feature::kLoopContext : feature::kLoopHeader;
}

int Weights::variable(float code) const {
  const auto found = std::ranges::lower_bound(variables, code);
  return found != variables.end() && *found == code ? static_cast<int>(found - variables.begin())
                                                    : -1;
}

bool operator==(const Weights& a, const Weights& b) {
  const auto ours = a.trained(), theirs = b.trained();
  return a.variables == b.variables && a.mean == b.mean && a.scale == b.scale &&
         std::ranges::equal(ours, theirs,
                            [](const Matrix* x, const Matrix* y) { return *x == *y; });
}

Weights random_weights(const Shape& shape, std::span<const float> features, Rng& rng) {
  Weights weights;
  weights.shape = shape;
  standardize(features, weights);
  if (shape.variant == Variant::kVanilla) {
    std::set<float> codes;
    each_loop(features, [&](const float* node) { codes.insert(node[feature::kNodeVariable]); });
    weights.variables.assign(codes.begin(), codes.end());
  }
  const auto matrices = weights.trained();
  const auto sizes = sizes_of(shape, static_cast<int>(weights.variables.size()));
  for (std::size_t m = 0; m < matrices.size(); ++m)
    *matrices[m] = random_matrix(sizes[m].first, sizes[m].second, shape.hidden, rng);
  // The embedding is an input, not a weight.
  for (float& v : weights.embedding.values) v *= std::sqrt(static_cast<float>(shape.hidden));
  std::ranges::fill(weights.offset.values, 0.0F);
  return weights;
}

Weights adapted(const Weights& learnt, std::span<const float> features, Rng& rng) {
  Weights out = random_weights(learnt.shape, features, rng);
  for (int v = 0; v < out.embedding.rows; ++v)
    if (const int known = learnt.variable(out.variables[static_cast<std::size_t>(v)]); known >= 0)
      std::ranges::copy(learnt.embedding.row(known), out.embedding.row(v).begin());
  out.input = learnt.input;
  out.hidden = learnt.hidden;
  out.bias = learnt.bias;
  out.scatter = learnt.scatter;
  out.readout = learnt.readout;
  out.offset = learnt.offset;
  for (std::size_t i = 0; i < out.mean.size(); ++i) {
    const auto row = out.input.row(learnt.embedding.columns + static_cast<int>(i));
    // The old mean gives what it gave before.
    const float stretch = std::min(learnt.scale[i] / out.scale[i], kMostStretch);
    const float shift = std::clamp((out.mean[i] - learnt.mean[i]) * out.scale[i] * stretch,
                                   -kMostShift, kMostShift);
    for (std::size_t c = 0; c < row.size(); ++c) {
      out.bias.values[c] += shift * row[c];
      row[c] *= stretch;
    }
  }
  return out;
}

void append_to(std::string& bytes, const Weights& weights) {
  const Shape& shape = weights.shape;
  for (const int value : {static_cast<int>(shape.variant), shape.embedding, shape.hidden,
                          shape.slots, static_cast<int>(weights.variables.size())})
    append_value(bytes, static_cast<std::uint32_t>(value));
  append_floats(bytes, weights.variables);
  append_floats(bytes, weights.mean);
  append_floats(bytes, weights.scale);
  for (const Matrix* matrix : weights.trained()) append_floats(bytes, matrix->values);
}

Result<Weights> read_weights(std::string_view bytes) {
  const auto damaged = [] {
    return fail(ErrorKind::kDataLoss, "the cost model's weights are damaged: train it again");
  };
  Weights weights;
  std::uint32_t variables = 0;
  if (!take_shape(bytes, weights.shape) || !take_value(bytes, variables) ||
      variables > bytes.size())
    return damaged();
  const auto inputs = static_cast<std::size_t>(inputs_of(weights.shape.variant));
  if (!take_floats(bytes, variables, weights.variables) ||
      !std::ranges::is_sorted(weights.variables))
    return damaged();
  if (!take_floats(bytes, inputs, weights.mean) || !take_floats(bytes, inputs, weights.scale))
    return damaged();
  const auto matrices = weights.trained();
  const auto sizes = sizes_of(weights.shape, static_cast<int>(variables));
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    const auto [rows, columns] = sizes[m];
    matrices[m]->rows = rows;
    matrices[m]->columns = columns;
    if (!take_floats(bytes, static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns),
                     matrices[m]->values))
      return damaged();
  }
  if (!bytes.empty()) return damaged();
  return weights;
}

}  // namespace lathe::treegru
