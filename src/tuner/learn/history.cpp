#include "tuner/learn/history.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "compiler/te/workload.h"
#include "tuner/learn/featurizer.h"
#include "tuner/learn/spread.h"

namespace lathe::learn {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

class Reader {
 public:
  Reader(store::Store& store, const Selection& selection, feature::Kind kind, History& history)
      : store_(store),
        selection_(selection),
        relatives_(relatives_of(selection.like, selection.relation)),
        kind_(kind),
        featurizer_(kind),
        history_(history) {}

  Status read() {
    std::set<std::tuple<std::string, std::string, CacheMode>> met;
    auto runs = LATHE_TRY(store_.runs());
    std::ranges::sort(runs, std::ranges::greater(), &store::Run::id);
    for (const store::Run& run : runs)
      if (!full() && wanted(run) && met.emplace(run.workload, run.target, run.cache_mode).second)
        LATHE_TRY_STATUS(read_group(run));
    return finish();
  }

 private:
  bool wanted(const store::Run& run) const {
    const Selection& s = selection_;
    if (!s.target.empty() && run.target != s.target) return false;
    if (!s.targets.empty() && !contains(s.targets, run.target)) return false;
    if (s.cache_mode && run.cache_mode != *s.cache_mode) return false;
    if (run.workload == s.except) return false;
    if (!s.like.empty() && relatives_of(run.workload, s.relation) != relatives_) return false;
    if (s.only.empty() && s.without.empty()) return true;
    const std::string shape = shape_of(run.workload);
    return (s.only.empty() || contains(s.only, shape)) && !contains(s.without, shape);
  }

  bool full() const { return selection_.rows > 0 && history_.rows.count() >= selection_.rows; }

  Status read_group(const store::Run& run) {
    const store::Query query = {.workload = run.workload,
                                .target = run.target,
                                .cache_mode = run.cache_mode,
                                .cpu = selection_.cpu};
    const std::int64_t count = LATHE_TRY(store_.count(query));
    const std::int64_t most = selection_.rows_a_group > 0 ? selection_.rows_a_group : count;
    std::int64_t met = 0;
    return store_.each(query, [&](const store::Record& record) {
      // Takes record n where n * most / count grows: `most` records, evenly spread.
      const bool taken = count <= most || (met + 1) * most / count > met * most / count;
      ++met;
      if (taken) add(record);
      return !full();
    });
  }

  void add(const store::Record& record) {
    if (record.ok() && !(record.seconds > 0)) return;
    if (!history_.trials.insert(store::identity(record)).second) {
      ++history_.copies;
      return;
    }
    if (kind_ == feature::Kind::kConfiguration) history_.configs.push_back(record.config);
    else if (!featurizer_.append(record, history_.rows.features)) {
      ++history_.skipped;
      return;
    }
    history_.rows.seconds.push_back(record.ok() ? record.seconds
                                                : std::numeric_limits<double>::infinity());
    history_.rows.spread.push_back(spread_of(record));
    history_.rows.workload.push_back(group_of(record));
    history_.programs.push_back(hash_of(record.trace.dump()));
  }

  int group_of(const store::Record& r) {
    const auto found = std::ranges::find_if(history_.groups, [&](const Conditions& g) {
      return g.workload == r.workload && g.target == r.target && g.cache_mode == r.cache_mode &&
             g.cpu == r.cpu && g.codegen_version == r.codegen_version;
    });
    const auto group = static_cast<int>(found - history_.groups.begin());
    if (found == history_.groups.end())
      history_.groups.push_back({r.workload, r.target, r.cache_mode, r.cpu, r.codegen_version});
    return group;
  }

  Status finish() {
    if (kind_ == feature::Kind::kConfiguration)
      history_.rows.width = configuration_rows(history_.configs, history_.rows.features);
    else if (featurizer_.width() > 0) history_.rows.width = featurizer_.width();
    return {};
  }

  store::Store& store_;
  const Selection& selection_;
  const std::string relatives_;
  const feature::Kind kind_;
  Featurizer featurizer_;
  History& history_;
};

std::vector<std::string> each_once(const std::vector<Conditions>& groups,
                                   std::string Conditions::* member) {
  std::vector<std::string> out;
  for (const Conditions& group : groups)
    if (!contains(out, group.*member)) out.push_back(group.*member);
  return out;
}

}  // namespace

std::vector<std::string> History::workloads() const {
  return each_once(groups, &Conditions::workload);
}
std::vector<std::string> History::targets() const { return each_once(groups, &Conditions::target); }

Status read_history(store::Store& store, const Selection& selection, const std::string& features,
                    History& history) {
  const feature::Kind kind = LATHE_TRY(feature::kind_named(features));
  return Reader(store, selection, kind, history).read();
}

}  // namespace lathe::learn
