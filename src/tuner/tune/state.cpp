#include "tuner/tune/state.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/statistics.h"
#include "tuner/learn/spread.h"
#include "tuner/tune/option_list.h"

namespace lathe::tune {
namespace {

// Records kept for the final race. Where the machine changes its speed, the best may be far down.
constexpr std::size_t kFastest = 256;

double seconds_of(const store::Record& record) { return record.ok() ? record.seconds : kInfinity; }

// Of the visits; infinity where none tells.
double sentinel_of(const store::Record& record) {
  std::vector<double> sentinels;
  for (const store::Visit& visit : record.visits)
    if (visit.sentinel_seconds > 0) sentinels.push_back(visit.sentinel_seconds);
  return quantile(std::move(sentinels), 0.5);
}

double fastest_sentinel(const std::vector<store::Record>& records) {
  double fastest = kInfinity;
  for (const store::Record& record : records) fastest = std::min(fastest, sentinel_of(record));
  return fastest;
}

// What its time would have been where the sentinel took `quick`: a neighbour may have slowed the
// machine for a part of the run. Small differences say more of the sentinel than of the machine.
double on_quick_machine(const store::Record& record, double quick) {
  const double sentinel = sentinel_of(record);
  const bool slowed = sentinel < kInfinity && sentinel * measure::kSameSpeed > quick;
  return slowed ? record.seconds * quick / sentinel : record.seconds;
}

std::string batch_key(const store::Run& run) { return fmt::format("plan/{}", run.id); }

}  // namespace

State::State(const Subject& subject, store::Store& store, const Target& target,
             const Fingerprint& machine, const Options& options, bool learns)
    : subject_(subject),
      store_(store),
      target_(target),
      options_(options),
      fingerprint_(machine),
      known_(subject, learns, TrialCost(options.run.jobs > target.threads(), options.run.jobs)) {}

Status State::load(const std::function<void(const store::Record&)>& resumed) {
  start_ = subject_.to_json(subject_.domain().canonical(subject_.starts().front()));
  store::Run wanted;
  wanted.workload = subject_.workload();
  wanted.target = target_.text();
  wanted.cache_mode = options_.run.cache_mode;
  wanted.space = space::name_of(options_.run.flavour);
  wanted.space_hash = subject_.space_hash();
  wanted.search = options_.search.name;
  wanted.model = identity_of(options_);
  wanted.seed = options_.run.seed;
  run_ = LATHE_TRY(store_.open_run(wanted));
  claim_ = LATHE_TRY(store_.claim(run_));
  LATHE_TRY_STATUS(load_run(resumed));
  if (!options_.run.fresh) LATHE_TRY_STATUS(load_history());
  return load_pending();
}

Status State::load_run(const std::function<void(const store::Record&)>& resumed) {
  std::vector<store::Record> finished;
  LATHE_TRY_STATUS(store_.each({.run = run_.id}, [&](const store::Record& record) {
    next_index_ = std::max(next_index_, record.index + 1);
    next_batch_ = std::max(next_batch_, record.batch + 1);
    taken_.insert(record.index);
    // Trials imported from another machine, or of another code generator, are not this run's; they
    // are history.
    if (comparable(record)) finished.push_back(record);
    return true;
  }));
  std::ranges::sort(finished, {}, &store::Record::index);
  for (const auto& record : finished) {
    ++trials_;
    remember(record);
    resumed(record);
  }
  return {};
}

Status State::load_history() {
  return store_.each(
      {.workload = run_.workload, .target = run_.target, .cache_mode = run_.cache_mode},
      [&](const store::Record& record) {
        const bool own = record.run == run_.id && comparable(record);
        if (!own && record.space_hash == run_.space_hash) remember(record);
        return true;
      });
}

Status State::load_pending() {
  const auto text = LATHE_TRY(store_.get(batch_key(run_)));
  if (!text) return {};
  const Json batch = LATHE_TRY(parse_json(*text));
  std::set<space::Config> finished;
  for (const auto& measured : known_.measured) finished.insert(measured.config);
  pending_.number = static_cast<int>(LATHE_TRY(json_int(batch, "batch")));
  next_batch_ = std::max(next_batch_, pending_.number + 1);
  for (const Json& item : LATHE_TRY(json_array(batch, "proposals"))) {
    Proposal proposal;
    proposal.index = static_cast<int>(LATHE_TRY(json_int(item, "index")));
    proposal.predicted_score = LATHE_TRY(json_number(item, "score"));
    proposal.config = LATHE_TRY(subject_.from_json(LATHE_TRY(json_member(item, "config"))));
    next_index_ = std::max(next_index_, proposal.index + 1);
    if (!finished.contains(proposal.config)) pending_.proposals.push_back(std::move(proposal));
  }
  // Measured before, but by another code generator: a trial of its own now.
  for (auto& proposal : pending_.proposals)
    if (taken_.contains(proposal.index)) proposal.index = next_index_++;
  return {};
}

bool State::comparable(const store::Record& record) const {
  return record.cpu == fingerprint_.cpu() && record.codegen_version == options_.run.codegen_version;
}

int State::group_of(const store::Record& record) {
  if (comparable(record)) return 0;
  const auto key = fmt::format("{} {}", record.cpu, record.codegen_version);
  return groups_.try_emplace(key, static_cast<int>(groups_.size()) + 1).first->second;
}

void State::remember(const store::Record& record) {
  const auto config = subject_.from_json(record.config);
  // A record of a space that has changed under the same hash would be a bug elsewhere; it teaches
  // nothing.
  if (!config || !subject_.domain().valid(*config)) return;
  known_.add_row(*config, seconds_of(record), group_of(record));
  if (known_.learns) known_.rows.spread.push_back(learn::spread_of(record));
  if (!comparable(record)) return;  // a hint for the model; it is to be measured anew here
  known_.measured.push_back({*config, seconds_of(record)});
  if (!record.ok()) return;
  known_.cost.add(*config, record.build_seconds, record.run_seconds);
  const auto place =
      std::ranges::upper_bound(fastest_, record.standing, {}, &store::Record::standing);
  fastest_.insert(place, record);
  if (fastest_.size() > kFastest) fastest_.pop_back();
}

const store::Record* State::best() const { return fastest_.empty() ? nullptr : fastest_.data(); }

Result<std::optional<store::Record>> State::best_on_record() const {
  return store_.best({.workload = run_.workload,
                      .target = run_.target,
                      .cache_mode = run_.cache_mode,
                      .cpu = fingerprint_.cpu(),
                      .run = options_.run.fresh ? run_.id : 0,
                      .codegen_version = options_.run.codegen_version});
}

Result<std::vector<store::Record>> State::finalists(int count, double hopeless) const {
  std::vector<store::Record> by_time = fastest_;
  const double quick = fastest_sentinel(fastest_);
  std::ranges::stable_sort(by_time, {}, [quick](const store::Record& record) {
    return on_quick_machine(record, quick);
  });
  std::vector<store::Record> out;
  std::set<std::string> configs;
  const auto enter = [&](const store::Record& record) {
    if (static_cast<int>(out.size()) < count && configs.insert(record.config.dump()).second)
      out.push_back(record);
  };
  // The best so far defends its place, whatever was measured since.
  const auto best = LATHE_TRY(best_on_record());
  if (best && best->space_hash == run_.space_hash && subject_.from_json(best->config)) enter(*best);
  // And who tunes is not to end with less than what there was without, however slow that looked.
  for (const auto& record : by_time)
    if (record.config == start_) enter(record);
  for (const auto& record : by_time) enter(record);
  if (out.empty()) return out;
  const auto seconds = [quick](const store::Record& r) { return on_quick_machine(r, quick); };
  const double most = hopeless * seconds(std::ranges::min(out, {}, seconds));
  out.erase(std::remove_if(
                out.begin() + 1, out.end(),
                [&](const store::Record& r) { return r.config != start_ && seconds(r) > most; }),
            out.end());
  return out;
}

Status State::propose(Batch& batch) {
  batch.number = next_batch_++;
  Json proposals = Json::array();
  for (auto& proposal : batch.proposals) {
    proposal.index = next_index_++;
    proposals.push_back({{"index", proposal.index},
                         {"score", proposal.predicted_score},
                         {"config", subject_.to_json(proposal.config)}});
  }
  return store_.put(batch_key(run_),
                    Json{{"batch", batch.number}, {"proposals", std::move(proposals)}}.dump());
}

Status State::add(store::Record& record) {
  std::vector<store::Record> one = {std::move(record)};
  auto status = store_.add(one);
  record = std::move(one[0]);
  if (status) ++trials_;
  return status;
}

void State::learn(std::vector<store::Record>& finished) {
  std::ranges::sort(finished, {}, &store::Record::index);
  for (const auto& record : finished) remember(record);
}

}  // namespace lathe::tune
