#include "tuner/measure/batch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "tuner/measure/verdict.h"

namespace lathe::measure {
namespace {

// This many candidates are built before measuring starts, where the two may not overlap.
constexpr std::size_t kBurst = 16;
constexpr double kLongestBurst = 2;  // seconds
constexpr int kSamples = 64;         // of a visit, roughly: every one is stored
// Visits of others between two visits of one candidate, if there are others.
constexpr std::int64_t kGap = 5;
constexpr std::int64_t kLeastGap = 2;  // used where nothing was reported for kSilence
constexpr double kSilence = 0.5;       // seconds
constexpr int kExtraVisits = 2;        // of a candidate, because the machine was disturbed
// A candidate slower than this many times the best is not worth another visit
constexpr double kHopeless = 10;
constexpr double kPatience = 100;  // limit for preparing and the first call, in times of the best
constexpr double kLeastPatience = 1;  // seconds
// In seconds. A shorter first call tells little, for pages and caches are cold.
constexpr double kHopelessSeconds = 0.005;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Batch::Batch(Task& task, std::vector<Candidate> candidates, double best_seconds,
             const std::function<void(Outcome)>& done)
    : task_(task), best_(best_seconds), done_(done) {
  for (Candidate& candidate : candidates) {
    auto item = std::make_unique<Item>();
    item->candidate = std::move(candidate);
    item->id = task_.session->next_id++;
    item->outcome.tag = item->candidate.tag;
    item->outcome.machine = task_.machine();
    to_build_.push_back(item.get());
    items_.push_back(std::move(item));
  }
  for (Station* station : task_.stations) places_.push_back({.station = station});
  extra_visits_left_ =
      std::max<int>(2, static_cast<int>(items_.size()) * task_.session->options.visits / 4);
}

bool Batch::finished() const {
  return std::ranges::all_of(items_, [](const auto& item) { return item->final; });
}

bool Batch::may_build() const { return task_.session->gate.overlap || build_phase_; }
// Builders have nothing to do with the processors of a device elsewhere.
bool Batch::may_measure(const Place& place) const {
  if (computing_ || place.busy || place.lost) return false;
  if (place.station->elsewhere) return true;
  return (task_.session->gate.overlap || !build_phase_) && !guest_builds();
}
bool Batch::times_here() const {
  return computing_ || std::ranges::any_of(places_, [](const Place& place) {
           return place.busy && !place.station->elsewhere;
         });
}
bool Batch::has_work_here() const {
  return !to_load_.empty() || std::ranges::any_of(to_revisit_, [](const Item* item) {
    return !item->place->station->elsewhere;
  });
}

// Stops at fewer candidates where each takes long, so that something is measured soon.
bool Batch::burst_built() const {
  const bool long_enough = burst_ > 0 && seconds_since(phase_began_) > kLongestBurst;
  return burst_ >= kBurst || long_enough;
}

void Batch::change_phase() {
  if (task_.session->gate.overlap) return;
  const bool before = build_phase_;
  if (build_phase_) {
    if ((burst_built() || to_build_.empty()) && building_ == 0) build_phase_ = false;
  } else if (!times_here() && !has_work_here()) {
    build_phase_ = true;
  }
  if (before == build_phase_) return;
  phase_began_ = Clock::now();
  burst_ = 0;
}

void Batch::feed() {
  change_phase();
  if (may_build())
    for (const auto& builder : task_.session->builders) {
      if (to_build_.empty() || (!task_.session->gate.overlap && burst_built())) break;
      if (builder->busy()) continue;
      Item* item = to_build_.front();
      to_build_.pop_front();
      build(*builder, *item);
    }
  for (Place& place : places_)
    if (may_measure(place)) measure_next(place);
  build_as_guest();
}

// Uses the runner's processors for what the other builders have not begun, while it has no work.
void Batch::build_as_guest() {
  if (!task_.session->guest || guest_builds() || times_here() || to_build_.empty()) return;
  Item* item = to_build_.front();
  to_build_.pop_front();
  build(*task_.session->guest, *item);
}

Status Batch::run(const std::function<bool()>& stop) {
  const KeepOff keep_off(task_.session->gate);
  EventLoop loop = task_.loop();
  ReferenceJob reference(task_);
  // The runner computes the reference while the first candidates are built.
  computing_ = !reference.finished();
  while (!finished() || computing_) {
    if (stop && stop()) {
      abandon();
      return {};
    }
    if (computing_ && reference.finished()) computing_ = false;
    if (!reference.result()) {
      abandon();
      return reference.result();
    }
    if (environment_) {
      abandon();
      return std::unexpected(*environment_);
    }
    feed();
    if (!finished() || computing_) loop.wait(0.1);
  }
  return {};
}

// Ends the batch: reports visited candidates with what is known, and begins nothing new.
void Batch::abandon() {
  for (BuilderClient* builder : task_.session->all_builders())
    if (builder->busy()) builder->helper().stop();
  for (RunnerClient* runner : task_.session->all_runners())
    if (runner->busy()) runner->helper().stop();
  for (const auto& item : items_)
    if (!item->final && !item->outcome.visits.empty()) complete(*item);
}

void Batch::build(BuilderClient& builder, Item& item) {
  ++building_;
  item.since = Clock::now();
  builder.build(schedule::to_json(item.candidate.trace).dump(),
                task_.session->options.timeout_seconds,
                [this, &item, &builder](Result<Built> built) {
                  --building_;
                  item.outcome.build_seconds += seconds_since(item.since);
                  const bool died = !built && !builder.helper().running();
                  on_built(item, std::move(built), died);
                });
}

void Batch::on_built(Item& item, Result<Built> built, bool builder_died) {
  if (!built) {
    const bool retry = builder_died && built.error().kind != ErrorKind::kTimeout;
    if (retry && item.build_attempts++ == 0) return to_build_.push_front(&item);
    return fail_item(item, built.error());
  }
  item.built = std::move(*built);
  item.built.tag = item.candidate.tag;
  const std::string& hash = item.built.program_hash;
  item.outcome.program_hash = hash;
  item.outcome.spills = item.built.spills;
  item.outcome.registers = item.built.registers;
  item.outcome.shared_bytes = item.built.shared_bytes;
  if (const auto known = task_.finished.find(hash); known != task_.finished.end()) {
    Outcome copy = known->second;
    copy.tag = item.outcome.tag;
    copy.build_seconds = item.outcome.build_seconds;
    copy.run_seconds = 0;
    copy.duplicate_of_hash = hash;
    item.outcome = std::move(copy);
    return report(item);
  }
  if (item.built.known)  // the builder calls it known, but we do not know it
    return fail_item(
        item, {ErrorKind::kInternal, "the builder left out a program that was not measured", {}});
  if (const auto [twin, added] = in_flight_.emplace(hash, &item); !added) {
    twin->second->twins.push_back(&item);
    return;
  }
  ++burst_;
  to_load_.push_back(&item);
}

// New candidates go first. Later visits are drawn at random among the candidates whose last visit
// is some visits ago, so that each is measured in several states of the machine. Results need not
// wait until the last slow program has been visited once.

void Batch::measure_next(Place& place) {
  const bool silent = seconds_since(last_report_) > kSilence;
  Item* item = silent ? take_rested(place, kLeastGap) : nullptr;
  if (item == nullptr && !to_load_.empty()) {
    item = to_load_.front();
    to_load_.pop_front();
    return load(*item, place);
  }
  if (item == nullptr) item = take_rested(place, kGap);
  const bool more_to_come = !to_build_.empty() || building_ > 0;
  if (item == nullptr && !(more_to_come && task_.session->gate.overlap))
    item = take_rested(place, 0);
  if (item != nullptr) visit(*item);
}

// A random candidate of the place whose last visit is at least `gap` visits ago; with `gap` 0, the
// one whose last visit is longest ago. Null if there is none.
Batch::Item* Batch::take_rested(const Place& place, std::int64_t gap) {
  std::vector<std::size_t> rested;
  for (std::size_t i = 0; i < to_revisit_.size(); ++i)
    if (to_revisit_[i]->place == &place && place.turn - to_revisit_[i]->last_turn >= gap)
      rested.push_back(i);
  if (rested.empty()) return nullptr;
  const auto longest = std::ranges::min_element(
      rested, {}, [this](std::size_t i) { return to_revisit_[i]->last_turn; });
  const std::size_t chosen = gap == 0 ? *longest : rested[task_.rng.below(rested.size())];
  Item* item = to_revisit_[chosen];
  to_revisit_.erase(to_revisit_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return item;
}

// A candidate whose first call takes a hundred times the best will not be the best.
double Batch::patience() const {
  return task_.session->device->opening_seconds +
         std::min(task_.session->options.timeout_seconds,
                  std::max(kLeastPatience, kPatience * best_));
}

void Batch::load(Item& item, Place& place) {
  item.place = &place;
  place.busy = true;
  item.since = Clock::now();
  place.station->runner->load(item.id, item.built, patience(),
                              [this, &item](Result<runner::Loaded> loaded) {
                                item.place->busy = false;
                                item.outcome.run_seconds += seconds_since(item.since);
                                on_loaded(item, std::move(loaded));
                              });
}

void Batch::on_loaded(Item& item, Result<runner::Loaded> loaded) {
  if (!loaded) return run_failed(item, loaded.error());
  item.outcome.numerical_error = loaded->max_error;
  item.first_seconds = loaded->first_seconds;
  log(LogLevel::kDebug, "candidate {}: prepared in {:.6f} s, first run {:.6f} s, error {:.3g}",
      item.outcome.tag, loaded->prepare_seconds, loaded->first_seconds, loaded->max_error);
  if (loaded->wrong) return fail_item(item, fault_of(task_, item.candidate, item.built, *loaded));
  if (task_.session->options.visits == 0) return report(item);
  if (item.first_seconds > kHopelessSeconds && item.first_seconds > kHopeless * best_) {
    item.outcome.visits.push_back({{item.first_seconds}, 0, {}});
    item.outcome.dropped_early = true;
    return complete(item);
  }
  visit(item);
}

void Batch::visit(Item& item) {
  item.place->busy = true;
  item.since = Clock::now();
  item.last_turn = ++item.place->turn;
  const Options& options = task_.session->options;
  const bool first = item.outcome.visits.empty();
  const runner::VisitRequest request{
      .id = item.id,
      .min_seconds = options.min_seconds,
      .min_sample_seconds =
          std::max(runner::VisitRequest{}.min_sample_seconds, options.min_seconds / kSamples),
      .drop_above = first && best_ < 1e300 ? options.drop_factor * best_ : 0,
      .cache = options.cache};
  const double limit = options.timeout_seconds + options.min_seconds + 4 * item.first_seconds;
  item.place->station->runner->visit(item.built, request, limit,
                                     [this, &item](Result<runner::Visited> visited) {
                                       item.place->busy = false;
                                       item.outcome.run_seconds += seconds_since(item.since);
                                       on_visited(item, std::move(visited));
                                     });
}

void Batch::on_visited(Item& item, Result<runner::Visited> visited) {
  if (!visited) return run_failed(item, visited.error());
  const bool counts = !visited->seconds.empty();  // the scheduler left at least one call alone
  if (!counts && visited->disturbed.empty())
    return fail_item(item, {ErrorKind::kInternal, "the runner reported a visit without times", {}});
  const double sentinel = std::max(visited->sentinel_before, visited->sentinel_after);
  const double fastest = std::ranges::min(counts ? visited->seconds : visited->disturbed);
  const bool first = item.outcome.visits.empty();
  item.outcome.visits.push_back(
      {std::move(visited->seconds), sentinel, std::move(visited->disturbed)});
  if (first && fastest > task_.session->options.drop_factor * best_) {
    item.outcome.dropped_early = true;
    return complete(item);
  }
  const bool disturbed = item.place->station->sentinel.disturbed(sentinel) || !counts;
  const bool repeat = disturbed && item.extra_visits < kExtraVisits && extra_visits_left_ > 0;
  if (repeat) {
    ++item.extra_visits;
    --extra_visits_left_;
  } else {
    ++item.quiet_visits;
  }
  const bool far_behind = !disturbed && fastest > task_.session->options.enough_factor * best_;
  const auto& visits = item.outcome.visits;
  const bool known = far_behind || agree(visits, item.place->station->sentinel.normal(),
                                         task_.session->options.sentinel_tolerance);
  if (known || item.quiet_visits >= task_.session->options.visits) return complete(item);
  to_revisit_.push_back(&item);
}

bool Batch::lose(Place& place, const Error& error) {
  place.lost = true;
  if (std::ranges::all_of(places_, &Place::lost)) return false;
  log(LogLevel::kWarn, "a device is lost, and others measure its candidates: {}", error.text());
  const auto moved = std::ranges::stable_partition(
      to_revisit_, [&](const Item* item) { return item->place != &place; });
  to_load_.insert(to_load_.begin(), moved.begin(), moved.end());
  to_revisit_.erase(moved.begin(), moved.end());
  return true;
}

void Batch::run_failed(Item& item, const Error& error) {
  if (is_of_environment(error) && lose(*item.place, error)) return to_load_.push_front(&item);
  const bool died = !item.place->station->runner->helper().running();
  // Time limits are generous already.
  const bool retry = died && error.kind != ErrorKind::kTimeout;
  if (retry && item.run_attempts++ == 0) return to_load_.push_front(&item);
  fail_item(item, error);
}

// What says nothing of the program ends the batch, and the program is tried again another time.
void Batch::fail_item(Item& item, const Error& error) {
  if (is_of_environment(error)) {
    if (!environment_) environment_ = error;
    return;
  }
  item.outcome.error = error;
  item.outcome.visits.clear();
  report(item);
}

void Batch::complete(Item& item) {
  item.outcome.seconds = estimate(item.outcome.visits, item.place->station->sentinel.normal(),
                                  task_.session->options.sentinel_tolerance);
  best_ = std::min(best_, item.outcome.seconds);
  report(item);
}

void Batch::report(Item& item) {
  item.final = true;
  last_report_ = Clock::now();
  if (item.place != nullptr) item.place->station->runner->forget(item.id);
  const std::string& hash = item.outcome.program_hash;
  const bool own = !hash.empty() && item.outcome.duplicate_of_hash.empty();
  if (own && task_.finished.emplace(hash, item.outcome).second)
    task_.building.known.push_back(hash);
  if (own) in_flight_.erase(hash);
  item.built.library = {};
  done_(item.outcome);
  for (Item* twin : std::exchange(item.twins, {})) {
    Outcome copy = item.outcome;
    copy.tag = twin->outcome.tag;
    copy.build_seconds = twin->outcome.build_seconds;
    copy.run_seconds = 0;
    copy.duplicate_of_hash = hash;
    twin->outcome = std::move(copy);
    report(*twin);
  }
}

Status measure_batch(Task& task, std::vector<Candidate> batch, double best_seconds,
                     const std::function<void(Outcome)>& done, const std::function<bool()>& stop) {
  return Batch(task, std::move(batch), best_seconds, done).run(stop);
}

}  // namespace lathe::measure
