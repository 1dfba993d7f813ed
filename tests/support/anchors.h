// Nodes that groups of several reductions are made of, over images [n,y,x,c] and rows, and random
// graphs of them.
#pragma once

#include <vector>

#include "support/graph_writer.h"

namespace lathe::test {

// A convolution of each channel by windows of size x size, `stride` apart, with zeros around.
inline int depthwise(GraphWriter& w, int x, std::int64_t size, std::int64_t stride, Rng& rng) {
  const Shape from = w.shape(x);
  const std::int64_t pad = size / 2;
  const auto along = [&](std::int64_t extent) { return (extent + 2 * pad - size) / stride + 1; };
  const Shape made = {from[0], along(from[1]), along(from[2]), from[3]},
              weight = {from[3], size, size};
  return w.node("Depthwise",
                fmt::format("X: f32[{}]; const W: f32[{}]; Y[n:{},y:{},x:{},c:{}] = sum(r,s) "
                            "X[n,y*{}+r-{},x*{}+s-{},c else 0] * W[c,r,s]",
                            list_of(from), list_of(weight), made[0], made[1], made[2], made[3],
                            stride, pad, stride, pad),
                {x, w.constant(weight, rng)}, made);
}

// The largest of windows of 2 x 2 that do not overlap.
inline int pooled(GraphWriter& w, int x) {
  const Shape from = w.shape(x), made = {from[0], from[1] / 2, from[2] / 2, from[3]};
  return w.node("Pool",
                fmt::format("X: f32[{}]; Y[n:{},y:{},x:{},c:{}] = max(r:2,s:2) X[n,y*2+r,x*2+s,c]",
                            list_of(from), made[0], made[1], made[2], made[3]),
                {x}, made);
}

// A convolution of 1x1 to so many channels.
inline int pointwise(GraphWriter& w, int x, std::int64_t channels, Rng& rng) {
  const Shape from = w.shape(x), weight = {from[3], channels};
  return w.node(
      "Pointwise",
      fmt::format("X: f32[{}]; const W: f32[{}]; Y[n:{},y:{},x:{},o:{}] = sum(c:{},r:1,s:1) "
                  "X[n,y+r,x+s,c] * W[c,o]",
                  list_of(from), list_of(weight), from[0], from[1], from[2], channels, from[3]),
      {x, w.constant(weight, rng)}, {from[0], from[1], from[2], channels});
}

// Of each head of [h,i,c] with [h,c,j] or [h,i,j] with [h,j,c].
inline int heads_product(GraphWriter& w, int a, int b) {
  const Shape left = w.shape(a), right = w.shape(b);
  return w.node("MatMul",
                fmt::format("A: f32[{}]; B: f32[{}]; Y[h,i,j] = sum(k) A[h,i,k] * B[h,k,j]",
                            list_of(left), list_of(right)),
                {a, b}, {left[0], left[1], right[2]});
}

// Along the last of three dimensions.
inline int softmax(GraphWriter& w, int x) {
  return w.node("Softmax",
                fmt::format("X: f32[{}]; M[h,i] = max(j) X[h,i,j]; E[h,i,j] = exp(X[h,i,j] - "
                            "M[h,i]); S[h,i] = sum(j) E[h,i,j]; Y[h,i,j] = E[h,i,j] / S[h,i]",
                            list_of(w.shape(x))),
                {x}, w.shape(x));
}

// Images through windows and products, with what is computed element by element between them and
// residuals.
class RandomAnchors {
 public:
  explicit RandomAnchors(Rng& rng) : rng_(rng) {}

  // Of at most so many elements along each axis of an image, and channels.
  Graph make(std::int64_t size, std::int64_t channels) {
    channels_ = channels;
    if (rng_.chance(0.2)) return attention(size, channels);
    int x = w_.input({rng_.between(1, 2), rng_.between(1, size), rng_.between(1, size),
                      rng_.between(1, channels)});
    known_.push_back(x);
    bool window = rng_.chance(0.5);
    for (auto n = rng_.between(2, 5); n > 0; --n) {
      x = window ? sum_window(x) : pointwise(w_, x, rng_.between(1, channels_), rng_);
      if (!rng_.chance(0.2)) window = !window;
      x = follow(x);
      known_.push_back(x);
    }
    std::vector<int> outputs = {x};
    if (const int other = known_[rng_.below(known_.size() - 1)]; rng_.chance(0.2))
      outputs.push_back(other);
    return w_.finish(outputs);
  }

 private:
  int sum_window(int x) {
    const Shape& shape = w_.shape(x);
    if (shape[1] > 1 && shape[2] > 1 && rng_.chance(0.2)) return pooled(w_, x);
    return depthwise(w_, x, rng_.chance(0.7) ? 3 : 5, rng_.between(1, 2), rng_);
  }

  int follow(int x) {
    if (rng_.chance(0.3)) x = scaled(w_, x, w_.constant({w_.shape(x)[3]}, rng_));
    for (const int other : known_)
      if (w_.shape(other) == w_.shape(x) && rng_.chance(0.6)) return binary(w_, x, other);
    return rng_.chance(0.5) ? unary(w_, x, "min(max({}, 0), 6)") : x;
  }

  Graph attention(std::int64_t size, std::int64_t channels) {
    const std::int64_t heads = rng_.between(1, 3), rows = rng_.between(1, 2 * size),
                       keys = rng_.between(1, 2 * size), depth = rng_.between(1, channels);
    const int scores =
        heads_product(w_, w_.input({heads, rows, depth}), w_.input({heads, depth, keys}));
    const int shares = softmax(w_, rng_.chance(0.5) ? unary(w_, scores, "0.125 * {}") : scores);
    const int x = heads_product(w_, shares, w_.input({heads, keys, rng_.between(1, channels)}));
    return w_.finish({rng_.chance(0.5) ? unary(w_, x, "tanh({})") : x});
  }

  Rng& rng_;
  GraphWriter w_;
  std::int64_t channels_ = 1;
  std::vector<int> known_;
};

// Some of what is offered, no two of which share a node.
template <class Union>
std::vector<Union> some_apart(const std::vector<Union>& offered, double chance, Rng& rng) {
  std::vector<Union> out;
  for (const Union& each : offered) {
    const bool apart = std::ranges::none_of(out, [&](const Union& other) {
      return std::ranges::any_of(other.members,
                                 [&](int n) { return std::ranges::count(each.members, n) > 0; });
    });
    if (apart && rng.chance(chance)) out.push_back(each);
  }
  return out;
}

}  // namespace lathe::test
