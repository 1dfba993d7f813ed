// Exploration (paper, section 3.3): which configurations to measure next. Knows spaces and scores,
// not hardware.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tuner/space/domain.h"

namespace lathe::search {

// Predicted scores, higher is faster. Called with thousands of configurations at once; may use
// `jobs` threads itself.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual bool ready() const = 0;  // false until trained: then searches propose at random
  // Share of a batch that scores may choose, however small epsilon is: less while they rest on no
  // measurement.
  virtual double trust() const { return 1; }
  virtual void score(std::span<const space::Config> configs, std::span<double> scores) = 0;
};

struct Measured {
  space::Config config;
  double seconds = 0;  // infinity if it failed
};

struct Options {
  int chains = 128;       // paper, appendix
  int steps = 500;        // at most, a round
  double epsilon = 0.05;  // share of a batch chosen at random
  double lambda = 2;      // candidates kept for the diversity pick: lambda * batch
  double alpha = 0.5;     // weight of diversity in eq. 3, in units of the scores' spread
  // initial, in units of the scores' spread; cools to 0 linearly over a round
  double temperature = 1.0;
  // a round ends after this many steps in which no candidate entered the top set
  int patience = 50;
  // share of the chains, the worst, that restart from the best measured; 0: as in the paper
  double elite = 0.125;
};

// Ask / tell. `ask` never returns a configuration it returned before or was told about; it returns
// fewer than wanted only when the space is exhausted. Deterministic for a seed and the sequence of
// calls.
class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual std::vector<space::Config> ask(int wanted) = 0;
  virtual void tell(std::span<const Measured> results) = 0;
  // These are being measured on somebody else's proposal: never ask for them.
  virtual void exclude(std::span<const space::Config> configs) = 0;
};

// "annealing" needs a scorer; "random" and "genetic" ignore it.
std::unique_ptr<Searcher> make_annealing(const space::Domain& domain, Scorer& scorer,
                                         const Options& options, std::uint64_t seed);
std::unique_ptr<Searcher> make_genetic(const space::Domain& domain, std::uint64_t seed);
std::unique_ptr<Searcher> make_random(const space::Domain& domain, std::uint64_t seed);

// Equation 3, greedily: picks `count` of the candidates, maximising  sum score/spread + alpha *
// number of distinct (knob, value) pairs covered. Returns indices. Public for tests and ablations.
std::vector<int> pick_diverse(std::span<const space::Config> candidates,
                              std::span<const double> scores, int count, double alpha);

}  // namespace lathe::search
