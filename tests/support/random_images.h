// Random graphs over small images: convolutions, also of groups and single channels, poolings, what
// is computed element by element, sums of two ways, and what sees or joins images otherwise.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/graph_writer.h"

namespace lathe::test {

class RandomImages {
 public:
  explicit RandomImages(Rng& rng) : rng_(rng) {}

  Graph make() {
    rank_ = static_cast<std::size_t>(rng_.between(1, 2));
    Shape shape = {rng_.between(1, 2), channels()};
    for (std::size_t d = 0; d < rank_; ++d) shape.push_back(rng_.between(1, 5));
    known_.push_back(w_.input(shape));
    for (int n = static_cast<int>(rng_.between(3, 12)); n > 0; --n) known_.push_back(next());
    std::vector<int> outputs = {known_.back()};
    for (const int id : known_)
      if (rng_.chance(0.04) && std::ranges::count(outputs, id) == 0) outputs.push_back(id);
    return w_.finish(outputs);
  }

 private:
  // Lanes run along many channels, and not along a few.
  std::int64_t channels() { return rng_.chance(0.6) ? rng_.between(8, 10) : rng_.between(1, 5); }
  int some() {
    return known_[known_.size() - 1 - rng_.below(std::min<std::size_t>(4, known_.size()))];
  }

  int next() {
    const int x = some();
    const Shape shape = w_.shape(x);
    switch (rng_.below(16)) {
      case 0: return convolution(x, shape[1] % 2 == 0 ? 2 : 1);
      case 1: return each_channel(x);
      case 2: return pooled(x);
      case 3: return scaled_channels(x);
      case 4: return unary(w_, x, "max({}, 0)");
      case 5: return unary(w_, x, "tanh({}) * 0.5");
      case 6: return rng_.chance(0.5) ? concatenated(w_, {x, x}, 1) : mean(x);
      case 7:
      case 8: return sum(x);
      default: return convolution(x, 1);
    }
  }

  // "y + r - 1, x + s - 1 else 0" of windows of `taps`, and the sizes of what is made.
  std::string window(Shape& made, std::int64_t taps, std::int64_t stride) {
    std::string text;
    for (std::size_t d = 0; d < rank_; ++d) {
      text += fmt::format(", {}*p{} + r{} - {}", stride, d, d, taps / 2);
      made[2 + d] = (made[2 + d] + 2 * (taps / 2) - taps) / stride + 1;
    }
    return text + " else 0";
  }
  std::string each(const char* letter) const {
    std::string text;
    for (std::size_t d = 0; d < rank_; ++d) text += fmt::format(", {}{}", letter, d);
    return text;
  }
  // ", p0:5, p1:6"
  std::string pixels(const Shape& made) const {
    std::string text;
    for (std::size_t d = 0; d < rank_; ++d) text += fmt::format(", p{}:{}", d, made[2 + d]);
    return text;
  }
  std::string shifts(std::int64_t taps) const {
    std::string text;
    for (std::size_t d = 0; d < rank_; ++d) text += fmt::format("{}r{}:{}", d ? ", " : "", d, taps);
    return text;
  }

  int convolution(int x, std::int64_t groups) {
    const std::int64_t taps = rng_.chance(0.7) ? 3 : 1, stride = rng_.between(1, 2);
    Shape made = w_.shape(x), weight = {channels(), made[1] / groups};
    weight[0] += (groups - weight[0] % groups) % groups;
    weight.insert(weight.end(), rank_, taps);
    const std::string from = list_of(made), at = window(made, taps, stride);
    const std::int64_t own = weight[0] / groups;
    made[1] = weight[0];
    Shape inside = made;
    if (groups > 1) {
      inside = {made[0], groups, own};
      inside.insert(inside.end(), made.begin() + 2, made.end());
    }
    const std::string as = groups > 1 ? fmt::format(" as [{}]", list_of(made)) : "";
    const std::string loops =
        groups > 1 ? fmt::format("g:{}, o:{}", groups, own) : fmt::format("o:{}", own);
    const std::string reads = groups > 1 ? "g, o" : "o";
    const std::string channel = groups > 1 ? fmt::format("{}*g + c", weight[1]) : "c";
    const std::string of = groups > 1 ? fmt::format("{}*g + o", own) : "o";
    return w_.node(
        "Conv",
        fmt::format("X: f32[{}]; const W: f32[{}]; const b: f32[{}]; output Y: f32[{}]{}; "
                    "S: f32[{}]; S[n:{}, {}{}] = sum(c:{}, {}) X[n, {}{}] * W[{}, c{}]; "
                    "Y[n:{}, {}{}] = S[n, {}{}] + b[{}]",
                    from, list_of(weight), made[1], list_of(inside), as, list_of(inside), made[0],
                    loops, pixels(made), weight[1], shifts(taps), channel, at, of, each("r"),
                    made[0], loops, pixels(made), reads, each("p"), of),
        {x, w_.constant(weight, rng_), w_.constant({made[1]}, rng_)}, made);
  }

  int each_channel(int x) {
    Shape made = w_.shape(x), weight = {made[1], 1};
    weight.insert(weight.end(), rank_, 3);
    const std::string from = list_of(made), at = window(made, 3, rng_.between(1, 2));
    return w_.node(
        "Conv",
        fmt::format("X: f32[{}]; const W: f32[{}]; Y[n:{}, c:{}{}] = sum({}) X[n, c{}] * "
                    "W[c, 0{}]",
                    from, list_of(weight), made[0], made[1], pixels(made), shifts(3), at,
                    each("r")),
        {x, w_.constant(weight, rng_)}, made);
  }

  int pooled(int x) {
    Shape made = w_.shape(x);
    const std::string from = list_of(made), at = window(made, 3, 2);
    return w_.node("Pool",
                   fmt::format("X: f32[{}]; Y[n:{}, c:{}{}] = max({}) X[n, c{}]", from, made[0],
                               made[1], pixels(made), shifts(3), at),
                   {x}, made);
  }

  // Means of images; their shape is [n,c,1,1], as it is in models.
  int mean(int x) {
    Shape made = w_.shape(x);
    const std::string from = list_of(made), reads = each("r");
    std::string shifts;
    for (std::size_t d = 0; d < rank_; ++d) {
      shifts += fmt::format("{}r{}:{}", d ? ", " : "", d, made[2 + d]);
      made[2 + d] = 1;
    }
    return w_.node("Mean",
                   fmt::format("X: f32[{}]; Y[n:{}, c:{}{}] = sum({}) X[n, c{}]", from, made[0],
                               made[1], pixels(made), shifts, reads),
                   {x}, made);
  }

  int scaled_channels(int x) {
    const Shape shape = w_.shape(x);
    const std::string at = "n, c" + each("p");
    return w_.node("Mul",
                   fmt::format("X: f32[{}]; S: f32[{}]; Y[{}] = X[{}] * S[c]", list_of(shape),
                               shape[1], at, at),
                   {x, w_.constant({shape[1]}, rng_)}, shape);
  }

  int sum(int x) {
    for (const int other : known_)
      if (other != x && w_.shape(other) == w_.shape(x)) return binary(w_, other, x);
    return unary(w_, x, "{0} * {0} - 0.5");
  }

  Rng& rng_;
  GraphWriter w_;
  std::size_t rank_ = 2;  // dimensions of images
  std::vector<int> known_;
};

}  // namespace lathe::test
