// Exploration (paper, section 3.3): decides which configurations to measure next. It knows spaces
// and scores, but no hardware.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tuner/space/domain.h"

namespace lathe::search {

// Predicts scores; higher is faster. It is called with thousands of configurations at once and may
// use `jobs` threads itself.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual bool ready() const = 0;  // false until trained: searches then propose at random
  // The largest share of a batch that scores may choose, however small epsilon is. It is below 1
  // while scores rest on no measurement.
  virtual double trust() const { return 1; }
  virtual void score(std::span<const space::Config> configs, std::span<double> scores) = 0;
};

struct Measured {
  space::Config config;
  double seconds = 0;  // infinity if it failed
};

struct Options {
  int chains = 128;       // paper, appendix
  int steps = 500;        // most steps of a round
  double epsilon = 0.05;  // share of a batch that is chosen at random
  double lambda = 2;      // a batch is chosen from the best lambda * batch candidates
  double alpha = 0.5;     // weight of diversity in equation 3, in units of the scores' deviation
  // At the start of a round, in units of the scores' deviation; it falls linearly to 0 over the
  // round.
  double temperature = 1.0;
  // A round ends after this many steps in which no candidate entered the top set.
  int patience = 50;
  // The share of the chains, the worst ones, that restart from the fastest measured configurations;
  // 0: as in the paper.
  double elite = 0.125;
  int jobs = 1;  // threads that look for neighbours; the results do not depend on it
};

// A searcher: ask it for configurations, then tell it their times. `ask` never returns a
// configuration that it returned before or was told about, and fewer than wanted only when the
// space is exhausted. The seed and the sequence of calls determine all results.
class Searcher {
 public:
  virtual ~Searcher() = default;
  // From now on a round ends early when this returns true: ask() then returns the best so far.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  virtual std::vector<space::Config> ask(int wanted) = 0;
  virtual void tell(std::span<const Measured> results) = 0;
  // Others proposed these and measure them: never ask for them.
  virtual void exclude(std::span<const space::Config> configs) = 0;

 protected:
  bool stopped() const { return stop_ && stop_(); }

 private:
  std::function<bool()> stop_;
};

// "annealing" needs a scorer; "random" and "genetic" need none.
std::unique_ptr<Searcher> make_annealing(const space::Domain& domain, Scorer& scorer,
                                         const Options& options, std::uint64_t seed);
std::unique_ptr<Searcher> make_genetic(const space::Domain& domain, std::uint64_t seed);
std::unique_ptr<Searcher> make_random(const space::Domain& domain, std::uint64_t seed);

// Equation 3, by greedy choice: picks `count` candidates that maximise  sum score/spread + alpha *
// (number of distinct (knob, value) pairs covered). Returns indices. It is public for tests and
// ablations.
std::vector<int> pick_diverse(std::span<const space::Config> candidates,
                              std::span<const double> scores, int count, double alpha);

}  // namespace lathe::search
