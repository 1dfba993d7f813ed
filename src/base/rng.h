// Seeded random numbers that are the same on every machine.
#pragma once

#include <cstdint>
#include <utility>

namespace lathe {

// xoshiro256** seeded by splitmix64: the same numbers on every machine and with every standard
// library (whose std::uniform_* differ). A generator is always an argument, never a global.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  std::uint64_t next();
  std::uint64_t below(std::uint64_t n);                       // uniform in [0, n); n > 0; unbiased
  std::int64_t between(std::int64_t low, std::int64_t high);  // uniform, both ends included
  double uniform();                                           // [0, 1), 53 bits
  double normal();
  bool chance(double p) { return uniform() < p; }
  Rng fork();  // an independent stream, e.g. for one chain

  // The complete state, from which a resumed run goes on with the same numbers.
  struct State {
    std::uint64_t s[4];
  };
  State state() const { return state_; }
  void restore(const State& state) { state_ = state; }

 private:
  State state_;
};

// Puts the values into a random order; every order is equally likely.
template <class Values>
void shuffle(Values& values, Rng& rng) {
  for (auto i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

}  // namespace lathe
