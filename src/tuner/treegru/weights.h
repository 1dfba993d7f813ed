// What a TreeGRU has learnt (paper, sections 3.1 and 4, appendix), as plain matrices. These are
// saved, scored with, and handed to the trainer.
//
// Let x be the input of a loop, and h the sum of the states of the loops directly inside it (0 if
// there are none). The state of the loop is
//     r, u = sigmoid(x Wr + h Ur + br), sigmoid(x Wu + h Uu + bu)
//     c    = tanh(x Wc + bc + r * (h Uc))
//     u * h + (1 - u) * c
// kVanilla: x is the learnt embedding of the loop variable, followed by what the loop tells by
// itself, its length and annotation. The program's embedding is the sum of the outermost loops'
// states. kContext: x is the loop's context vector, so it means the same in every program. The
// program's embedding is m slots, out_i = sum over all loops of softmax(state S)_i * state. The
// score is linear in the program's embedding.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"

namespace lathe::treegru {

enum class Variant { kContext, kVanilla };

struct Shape {
  Variant variant = Variant::kContext;
  int embedding = 128;  // of a loop variable; for kVanilla only
  int hidden = 128;     // of a loop's state; a multiple of 16
  int slots = 8;        // m; for kContext only
};
Status check(const Shape& shape);
int inputs_of(Variant variant);  // floats of a loop's context that the network sees

struct Matrix {
  int rows = 0, columns = 0;
  std::vector<float> values;  // row-major
  Matrix() = default;
  Matrix(int r, int c)
      : rows(r), columns(c), values(static_cast<std::size_t>(r) * static_cast<std::size_t>(c)) {}
  std::span<const float> row(int r) const {
    return std::span(values).subspan(static_cast<std::size_t>(r * columns),
                                     static_cast<std::size_t>(columns));
  }
  std::span<float> row(int r) {
    return std::span(values).subspan(static_cast<std::size_t>(r * columns),
                                     static_cast<std::size_t>(columns));
  }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

struct Weights {
  Shape shape;
  // These come from the training rows; training leaves them alone.
  std::vector<float> variables;    // codes of the loop variables, ascending; for kVanilla only
  std::vector<float> mean, scale;  // an input is (context - mean) * scale
  // Training changes these. The columns of the gates are those of r, then u, then c.
  Matrix embedding;  // variables x embedding; for kVanilla only
  Matrix input;      // (embedding (kVanilla) + inputs) x 3 hidden
  Matrix hidden;     // hidden x 3 hidden
  Matrix bias;       // 1 x 3 hidden
  Matrix scatter;    // S: hidden x slots; for kContext only
  Matrix readout;    // slots x hidden; kVanilla: 1 x hidden
  Matrix offset;     // 1 x 1

  std::array<Matrix*, 7> trained() {
    return {&embedding, &input, &hidden, &bias, &scatter, &readout, &offset};
  }
  std::array<const Matrix*, 7> trained() const {
    return {&embedding, &input, &hidden, &bias, &scatter, &readout, &offset};
  }
  // The row of `embedding` for a variable; -1 if no training row had it: its embedding is zero.
  int variable(float code) const;
  friend bool operator==(const Weights& a, const Weights& b);
};

// Untrained weights for rows like these (feature/tree.h).
Weights random_weights(const Shape& shape, std::span<const float> features, Rng& rng);

// The same network for other rows: inputs are scaled to the spread of these rows, and variables
// that it did not know (kVanilla) begin at random. Scores stay what they were, except for inputs
// that hardly varied before.
Weights adapted(const Weights& learnt, std::span<const float> features, Rng& rng);

void append_to(std::string& bytes, const Weights& weights);
// Reads what append_to wrote; `bytes` must contain nothing else.
Result<Weights> read_weights(std::string_view bytes);

}  // namespace lathe::treegru
