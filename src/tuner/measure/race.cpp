// The final race: candidates interleaved round by round, so that a disturbance hits all of them alike.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/statistics.h"
#include "tuner/measure/session.h"

namespace lathe::measure {
namespace {

constexpr int kFewestRounds = 5;
constexpr double kRoundSeconds = 0.004;          // timed, a candidate and round
constexpr double kClear = 0.01;                  // a lead the quartiles must not overlap by
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Racer {
  Built built;
  std::int64_t id = 0;
  double limit = 0;
  std::vector<double> rounds;                    // median of each
  bool out = false;
};

class Race {
 public:
  explicit Race(Session& session) : session_(session), loop_(session.loop()) {}

  void enter(Racer& racer, const Candidate& candidate) {
    racer.id = session_.next_id++;
    racer.limit = session_.options.timeout_seconds;
    BuilderClient& builder = *session_.builders[0];
    bool died = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
      builder.build_anew(schedule::to_json(candidate.trace).dump(), racer.limit, [&](Result<Built> built) {
        racer.out = !built.has_value();
        died = racer.out && !builder.helper().running();
        if (built) racer.built = std::move(*built);
      });
      loop_.finish(builder.helper());
      if (!died) break;
    }
    if (racer.out) return;
    session_.runner->load(racer.id, racer.built, racer.limit, [&](Result<runner::Loaded> loaded) {
      racer.out = !loaded || loaded->wrong;
      if (loaded) racer.limit += 4 * loaded->first_seconds;
    });
    loop_.finish(session_.runner->helper());
  }

  void round(Racer& racer, bool cold) {
    if (racer.out) return;
    const runner::Visit visit{.id = racer.id, .min_seconds = kRoundSeconds, .cold = cold};
    session_.runner->visit(racer.built, visit, racer.limit, [&](Result<runner::Visited> visited) {
      racer.out = !visited;
      if (visited) racer.rounds.push_back(quantile(visited->seconds, 0.5));
    });
    loop_.finish(session_.runner->helper());
  }

 private:
  Session& session_;
  EventLoop loop_;
};

// The fastest by medians leads the second so far that their middle halves do not meet.
bool winner_is_clear(const std::vector<Racer>& racers) {
  std::vector<const Racer*> running;
  for (const Racer& racer : racers)
    if (!racer.out && !racer.rounds.empty()) running.push_back(&racer);
  if (running.size() < 2) return true;
  std::ranges::sort(running, {}, [](const Racer* racer) { return quantile(racer->rounds, 0.5); });
  return quantile(running[0]->rounds, 0.75) * (1 + kClear) < quantile(running[1]->rounds, 0.25);
}

}  // namespace

Result<std::vector<double>> race(Session& session, const std::vector<Candidate>& candidates, CacheMode cache,
                                 double seconds) {
  std::vector<double> result(candidates.size(), kInfinity);
  if (candidates.empty()) return result;
  LATHE_TRY_STATUS(ensure_reference(session));
  const KeepOff keep_off(session);
  std::vector<Racer> racers(candidates.size());
  Race race(session);
  for (std::size_t i = 0; i < racers.size(); ++i) race.enter(racers[i], candidates[i]);

  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::size_t> order(racers.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < kFewestRounds || (Clock::now() < end && !winner_is_clear(racers)); ++round) {
    shuffle(order, session.rng);
    for (const std::size_t i : order) race.round(racers[i], cache == CacheMode::kCold);
  }
  for (std::size_t i = 0; i < racers.size(); ++i) {
    if (!racers[i].out) result[i] = quantile(racers[i].rounds, 0.5);
    session.runner->forget(racers[i].id);
  }
  return result;
}

}  // namespace lathe::measure
