// Random graphs of few small values: element-wise nodes, products, and what moves elements.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/graph_writer.h"

namespace lathe::test {

class RandomGraph {
 public:
  explicit RandomGraph(Rng& rng) : rng_(rng) {}

  Graph make() {
    for (int i = 0; i < 2; ++i) known_.push_back(w_.input({size(), size()}));
    if (rng_.chance(0.3)) known_.push_back(w_.constant({size(), size()}, rng_));
    for (int n = static_cast<int>(rng_.between(2, 14)); n > 0; --n) known_.push_back(next());
    std::vector<int> outputs = {known_.back()};
    for (const int id : known_)
      if (rng_.chance(0.1) && std::ranges::count(outputs, id) == 0) outputs.push_back(id);
    return w_.finish(outputs);
  }

 private:
  static constexpr std::int64_t kMost = 400;  // elements of a value

  std::int64_t size() { return rng_.between(1, 5); }
  int some() {
    return known_[known_.size() - 1 - rng_.below(std::min<std::size_t>(5, known_.size()))];
  }

  int next() {
    const int x = some();
    const auto& shape = w_.shape(x);
    switch (rng_.below(14)) {
      case 0: return unary(w_, x, "max({}, 0)");
      case 1: return unary(w_, x, "tanh({}) * 0.5");
      case 2: return product(w_, flat(x), w_.constant({flat_shape(x)[1], size()}, rng_));
      case 3: return turned(w_, flat(x));
      case 4: return scaled(w_, x, w_.constant({shape.back()}, rng_));
      case 5: return w_.value(seen(shape), x);
      case 6:
      case 7:
      case 8: return joined(x);
      case 9: return part(x, rng_.below(shape.size()), rng_.between(-2, 3));
      case 10: return split(x);
      case 11: return padded(x);
      case 12: return shuffled(x);
      default: return add(x);
    }
  }

  // Of two dimensions: a view where there are others.
  Shape flat_shape(int x) const {
    const Shape& shape = w_.shape(x);
    return shape.size() == 2 ? shape : Shape{shape[0], graph::elements_of(shape) / shape[0]};
  }
  int flat(int x) { return w_.shape(x).size() == 2 ? x : w_.value(flat_shape(x), x); }
  Shape seen(const Shape& shape) {
    const std::int64_t all = graph::elements_of(shape);
    if (rng_.chance(0.3)) return {all};
    if (rng_.chance(0.5)) return {1, shape[0], all / shape[0]};
    for (std::int64_t by = rng_.between(2, 4); by > 1; --by)
      if (all % by == 0) return {by, all / by};
    return {all, 1};
  }
  int add(int x) {
    for (const int other : known_)
      if (other != x && w_.shape(other) == w_.shape(x) && rng_.chance(0.6))
        return binary(w_, x, other);
    return binary(w_, x, unary(w_, x, "abs({}) + 1"));
  }

  // Several along an axis, also the same one twice, what else is used, inputs and constants.
  int joined(int x) {
    const Shape shape = w_.shape(x);
    const std::size_t axis = rng_.chance(0.7) ? first_long(shape) : rng_.below(shape.size());
    std::vector<int> ids = {x};
    for (std::size_t tries = 0; ids.size() < 4 && tries < 6; ++tries) {
      const int other = tries < 3 ? known_[rng_.below(known_.size())] : x;
      if (fits(w_.shape(other), shape, axis) && rng_.chance(0.6))
        ids.push_back(rng_.chance(0.4) ? unary(w_, other, "abs({})") : other);
    }
    if (graph::elements_of(shape) * 4 > kMost) return x;
    if (rng_.chance(0.3)) std::ranges::reverse(ids);
    return concatenated(w_, ids, axis);
  }
  static std::size_t first_long(const Shape& shape) {
    std::size_t d = 0;
    while (d + 1 < shape.size() && shape[d] == 1) ++d;
    return d;
  }
  static bool fits(Shape other, const Shape& shape, std::size_t axis) {
    if (other.size() != shape.size() || other[axis] > 5) return false;
    other[axis] = shape[axis];
    return other == shape;
  }

  int part(int x, std::size_t axis, std::int64_t step) {
    const std::int64_t all = w_.shape(x)[axis];
    if (step == 0) step = 1;
    const std::int64_t most = (all - 1) / std::abs(step) + 1, count = rng_.between(1, most);
    const std::int64_t room = all - 1 - (count - 1) * std::abs(step);
    const std::int64_t low = rng_.between(0, room);
    return sliced(w_, x, axis, step > 0 ? low : low - (count - 1) * step, step, count);
  }
  int split(int x) {
    const Shape shape = w_.shape(x);
    const std::size_t axis = rng_.chance(0.7) ? first_long(shape) : rng_.below(shape.size());
    if (shape[axis] < 2) return x;
    const std::int64_t at = rng_.between(1, shape[axis] - 1);
    known_.push_back(sliced(w_, x, axis, 0, 1, at));
    return sliced(w_, x, axis, at, 1, shape[axis] - at);
  }
  int padded(int x) {
    const Shape shape = w_.shape(x);
    if (graph::elements_of(shape) * 2 > kMost) return x;
    const std::size_t axis = rng_.below(shape.size());
    const std::int64_t before = rng_.between(0, 2), after = rng_.between(0, 2);
    Shape made = shape;
    made[axis] += before + after;
    const std::string at = indices(shape.size());
    std::string from = at;
    const std::string name = fmt::format("i{}", axis);
    from.replace(from.find(name), name.size(), fmt::format("{} - {}", name, before));
    return w_.node(
        "Pad", fmt::format("X: f32[{}]; Y[{}] = X[{} else 0.5]", list_of(shape), sized(made), from),
        {x}, made);
  }
  // As a shuffle of channels: two dimensions of one, in turn, and one again.
  int shuffled(int x) {
    const std::int64_t all = graph::elements_of(w_.shape(x));
    std::int64_t groups = rng_.between(1, 4);
    while (all % groups != 0) --groups;
    const Shape shape = {groups, all / groups};
    return w_.value({all}, turned(w_, w_.value(shape, x)));
  }

  Rng& rng_;
  GraphWriter w_;
  std::vector<int> known_;
};

}  // namespace lathe::test
