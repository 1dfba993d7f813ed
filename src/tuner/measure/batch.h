// One call of Measurer::measure: candidates go from the builders to the runners, and events drive
// everything. Where several devices measure, each takes the next candidate when it has time, and
// keeps it.
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
  // A device in this batch.
  struct Place {
    Station* station = nullptr;
    bool busy = false;      // its runner works on a request
    bool lost = false;      // it cannot be reached any more, and others have its candidates
    std::int64_t turn = 0;  // visits so far
  };
  struct Item {
    Candidate candidate;
    std::int64_t id = 0;
    Built built;
    Place* place = nullptr;  // that measures it, once one does
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
  bool may_measure(const Place& place) const;
  bool times_here() const;
  bool has_work_here() const;
  bool burst_built() const;
  void change_phase();
  void feed();
  bool guest_builds() const { return task_.session->guest && task_.session->guest->busy(); }
  void build_as_guest();
  void abandon();

  void build(BuilderClient& builder, Item& item);
  void on_built(Item& item, Result<Built> built, bool builder_died);
  void measure_next(Place& place);
  double patience() const;
  void load(Item& item, Place& place);
  void on_loaded(Item& item, Result<runner::Loaded> loaded);
  void visit(Item& item);
  void on_visited(Item& item, Result<runner::Visited> visited);
  Item* take_rested(const Place& place, std::int64_t gap);
  // Gives what the place has to others. False: there are none.
  bool lose(Place& place, const Error& error);
  // Handles a failure while measuring: tries once more if the process died, else blames the
  // candidate.
  void run_failed(Item& item, const Error& error);
  void fail_item(Item& item, const Error& error);
  void complete(Item& item);
  void report(Item& item);

  Task& task_;
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<Place> places_;  // as many as the task has stations, from the beginning
  double best_;
  const std::function<void(Outcome)>& done_;

  std::deque<Item*> to_build_, to_load_;
  std::vector<Item*> to_revisit_;
  std::map<std::string, Item*> in_flight_;  // by program hash
  int building_ = 0;
  Clock::time_point last_report_ = Clock::now();
  bool computing_ = false;   // the reference, so that nothing can be measured yet
  bool build_phase_ = true;  // matters where building and measuring may not overlap
  std::size_t burst_ = 0;    // candidates that were built in this phase to be measured
  Clock::time_point phase_began_ = Clock::now();
  int extra_visits_left_ = 0;
  std::optional<Error> environment_;  // says nothing of a program, and ends the batch
};

}  // namespace lathe::measure
