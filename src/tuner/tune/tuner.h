// Algorithm 1 of the paper, a batch at a time: whoever has many workloads takes turns with them.
#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "tuner/tune/tune.h"

namespace lathe::tune {

// One resumable run over the store. Several may take turns in one thread, each with a measurer and
// a model of its own; what one does depends on none of the others. Its clock, and with it the time
// limit, begins when it is made and runs on while others work.
class Tuner {
 public:
  // Opens the run and reads what the store knows. Subject, measurer, store and model must outlive
  // the tuner; `model` is null where none learns.
  static Result<std::unique_ptr<Tuner>> make(const Subject& subject, measure::Measurer& measurer,
                                             store::Store& store, const Target& target,
                                             const Options& options,
                                             const SearcherMaker& make_searcher,
                                             model::CostModel* model, const Listener& listener,
                                             const std::function<bool()>& stop);
  virtual ~Tuner() = default;

  // False when the trials, the time or the space are used up, or stop() says so.
  virtual bool more() const = 0;
  // Trains where something new is known, proposes a batch, measures and stores it, and learns from
  // it, with so many trials at most, and ends after so many seconds; but the first batch goes on
  // until one ran. It may be what an earlier process proposed and did not finish. Where the trials
  // or the space are used up, a step does nothing.
  virtual Status step(int most, double seconds) = 0;
  Status step(int most) { return step(most, std::numeric_limits<double>::infinity()); }
  Status step() { return step(std::numeric_limits<int>::max()); }
  // The final race, where one is due: not after stop(). It takes so many seconds at most, also
  // where it waits for a machine that is busy.
  virtual Status race(double seconds) = 0;
  Status race() { return race(std::numeric_limits<double>::infinity()); }
  // What was done until now.
  virtual Result<Summary> summary() = 0;
};

}  // namespace lathe::tune
