// One call of Measurer::measure: candidates go from the builders to the runner, and events drive
// everything.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/measure/session.h"

namespace lathe::measure {

class Batch {
 public:
  Batch(Task& task, std::vector<Candidate> candidates, double best_seconds,
        const std::function<void(Outcome)>& done);
  // Fails only with errors of the reference; an error of a candidate is its outcome.
  Status run(const std::function<bool()>& stop);

 private:
  struct Item {
    Candidate candidate;
    std::int64_t id = 0;
    Built built;
    Outcome outcome;
    double first_seconds = 0;  // of the first, checked call
    int build_attempts = 0, run_attempts = 0;
    int quiet_visits = 0, extra_visits = 0;
    std::int64_t last_turn = 0;
    bool final = false;
    std::vector<Item*> twins;  // candidates of the same program, waiting for this one's outcome
    Clock::time_point since;   // when the running request began
  };

  bool finished() const;
  bool may_build() const;
  bool may_measure() const;
  bool burst_built() const;
  void change_phase();
  void feed();
  bool guest_builds() const { return task_.session->guest && task_.session->guest->busy(); }
  void build_as_guest();
  void abandon();

  void build(BuilderClient& builder, Item& item);
  void on_built(Item& item, Result<Built> built, bool builder_died);
  void measure_next();
  double patience() const;
  void load(Item& item);
  void on_loaded(Item& item, Result<runner::Loaded> loaded);
  void visit(Item& item);
  void on_visited(Item& item, Result<runner::Visited> visited);
  Item* take_rested(std::int64_t gap);
  // Handles a failure while measuring: tries once more if the process died, else blames the
  // candidate.
  void run_failed(Item& item, const Error& error);
  void fail_item(Item& item, const Error& error);
  void complete(Item& item);
  void report(Item& item);

  Task& task_;
  std::vector<std::unique_ptr<Item>> items_;
  double best_;
  const std::function<void(Outcome)>& done_;

  std::deque<Item*> to_build_, to_load_;
  std::vector<Item*> to_revisit_;
  std::map<std::string, Item*> in_flight_;  // by program hash
  int building_ = 0;
  Clock::time_point last_report_ = Clock::now();
  bool measuring_ = false;   // the runner works on a request
  bool build_phase_ = true;  // matters where building and measuring may not overlap
  Clock::time_point phase_began_ = Clock::now();
  std::int64_t turn_ = 0;  // visits so far
  int extra_visits_left_ = 0;
  std::optional<Error> environment_;  // says nothing of a program, and ends the batch
};

}  // namespace lathe::measure
