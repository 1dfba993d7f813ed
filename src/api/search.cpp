// Search of include/lathe/search.h.
#include "lathe/search.h"

#include <filesystem>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/learning.h"
#include "api/outward.h"
#include "api/recorded_spaces.h"
#include "api/recording.h"
#include "api/schedules.h"
#include "api/targets.h"
#include "api/workload.h"
#include "research/recorded/replay.h"
#include "tuner/measure/device.h"
#include "tuner/tune/proposer.h"

namespace lathe {

struct Search::Impl {
  std::shared_ptr<const space::Space> space;
  std::shared_ptr<const Recording::Impl> recording;  // whose space it is; or null
  std::vector<Knob> knobs;
  std::unique_ptr<tune::Subject> subject;
  std::unique_ptr<tune::Proposer> proposer;
  std::unordered_map<std::int64_t, space::Config> open;  // proposed and not yet told
  std::unordered_set<space::Config, space::ConfigHash> told;
  std::vector<search::Measured> untold;  // told since the last ask
  std::int64_t next = 0;

  Proposal proposal_of(const space::Config& config) {
    open.emplace(next, config);
    return {next++, space->to_json(config).dump()};
  }
};

namespace {

Status begin(Search::Impl& impl, const tune::Options& options, const Target& target,
             const Fingerprint& machine) {
  impl.knobs = knobs_of(*impl.space);
  impl.subject = LATHE_TRY(tune::make_subject(*impl.space, options, target, machine));
  impl.proposer = LATHE_TRY(tune::Proposer::make(*impl.subject, options));
  return {};
}

Result<std::unique_ptr<Search::Impl>> search_of(const Workload& workload,
                                                const TuneOptions& options) {
  auto impl = std::make_unique<Search::Impl>();
  tune::Options inner = LATHE_TRY(options_of(options));
  LATHE_TRY_STATUS(tune::check(inner));
  const Target target =
      LATHE_TRY(api::make_target(options.machine.target, options.machine.threads));
  impl->space = LATHE_TRY(api::space_of_key(workload.impl().definition, target, inner.run.flavour));
  const std::string database = database_of(options.machine);
  std::unique_ptr<store::Store> store;
  if (std::filesystem::exists(database)) store = LATHE_TRY(api::open_existing(database));
  LATHE_TRY(
      api::begin_from_others(options.global_model, workload.key(), target, store.get(), inner));
  LATHE_TRY_STATUS(begin(*impl, inner, target, measure::machine_for(target)));
  return impl;
}

Result<std::unique_ptr<Search::Impl>> search_of(const Recording& recording,
                                                const TuneOptions& options) {
  auto impl = std::make_unique<Search::Impl>();
  impl->recording = recording.impl();
  const recorded::Recording& inner = impl->recording->inner;
  impl->space = inner.space;
  auto own = recorded::replay_options(inner, LATHE_TRY(options_of(options)));
  LATHE_TRY_STATUS(tune::check(own));
  LATHE_TRY(api::begin_replay(options.global_model, inner, own));
  LATHE_TRY_STATUS(begin(*impl, own, inner.target, inner.machine));
  return impl;
}

Result<std::vector<Proposal>> ask_of(Search::Impl& impl, int wanted) {
  LATHE_TRY_STATUS(impl.proposer->tell(impl.untold));
  impl.untold.clear();
  std::vector<Proposal> out;
  for (const auto& config : LATHE_TRY(impl.proposer->ask(wanted)))
    out.push_back(impl.proposal_of(config));
  return out;
}

Result<std::optional<Proposal>> propose_in(Search::Impl& impl, const std::string& json) {
  const auto config = LATHE_TRY(config_from(*impl.space, json));
  if (!impl.space->valid(config)) return std::nullopt;
  return impl.proposal_of(config);
}

Result<std::string> trace_in(const Search::Impl& impl, const std::string& json) {
  const auto config = LATHE_TRY(config_from(*impl.space, json));
  if (!impl.space->valid(config))
    return fail(ErrorKind::kInvalidArgument,
                "the configuration {} breaks a constraint of the space, so it has no program",
                json);
  return impl.subject->trace_json(config).dump();
}

Status tell_to(Search::Impl& impl, std::int64_t id, double seconds) {
  const auto found = impl.open.find(id);
  if (found == impl.open.end())
    return fail(ErrorKind::kInvalidArgument, "proposal {} was never asked for, or told before", id);
  if (!(seconds > 0))
    return fail(ErrorKind::kInvalidArgument, "seconds must be above 0; infinity where it failed");
  if (impl.told.insert(found->second).second) impl.untold.push_back({found->second, seconds});
  impl.open.erase(found);
  return {};
}

Expected<Search> search_from(Result<std::unique_ptr<Search::Impl>> impl) {
  if (!impl) return failure(impl.error());
  return Search(std::move(*impl));
}

}  // namespace

Search::Search(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;
Search::~Search() = default;

Expected<Search> Search::make(const Workload& workload, const TuneOptions& options) {
  return guarded([&] { return search_from(search_of(workload, options)); });
}
Expected<Search> Search::make(const Recording& recording, const TuneOptions& options) {
  return guarded([&] { return search_from(search_of(recording, options)); });
}

const std::vector<Knob>& Search::knobs() const { return impl_->knobs; }

Expected<std::vector<Proposal>> Search::ask(int wanted) {
  return guarded([&] { return outward(ask_of(*impl_, wanted)); });
}

Expected<std::optional<Proposal>> Search::propose(const std::string& config) {
  return guarded([&] { return outward(propose_in(*impl_, config)); });
}

Expected<std::string> Search::trace(const std::string& config) const {
  return guarded([&] { return outward(trace_in(*impl_, config)); });
}

Expected<void> Search::tell(std::int64_t id, double seconds) {
  return guarded([&] { return outward(tell_to(*impl_, id, seconds)); });
}

}  // namespace lathe
