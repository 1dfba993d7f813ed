#include "api/model_groups.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/model_caches.h"
#include "api/model_times.h"
#include "compiler/te/workload.h"
#include "graph/ir/print.h"

namespace lathe::api {
namespace {

// Of the time apart. Programs that were raced differ by this much from run to run; the best of a
// few trials that were not seems faster than it is.
constexpr double kFaster = 0.97, kFasterUnraced = 0.95;
// The same of guesses, which tell caches from memory, and little more: they are made where what
// lies between leaves the caches of a core by far.
constexpr double kClearlyFaster = 0.75;
constexpr std::int64_t kLeastGuessed = 4 << 20;  // bytes

class GroupChooser {
 public:
  GroupChooser(const graph::Graph& graph, const ScheduleSource& source, bool on_record,
               const Target& target)
      : graph_(graph), source_(source), on_record_(on_record), target_(target) {}

  Result<ChosenGroups> run() {
    ChosenGroups out;
    for (graph::Union& offered : graph::unions_of(graph_)) {
      GroupChoice choice;
      choice.label = graph::label_of(graph_, offered.node);
      choice.offered = std::move(offered);
      LATHE_TRY_STATUS(weigh(choice));
      out.choices.push_back(std::move(choice));
    }
    out.graph = graph::united(graph_, take(out.choices));
    return out;
  }

 private:
  // A program as it is on record; `where` names what its time depends on beside the program.
  struct Recorded {
    double seconds = 0;
    bool raced = false;
    std::string where;
  };
  using Known = std::optional<Recorded>;

  Result<Known> recorded(const te::Workload& workload) {
    if (!on_record_) return Known();
    const std::string key = te::workload_key(workload);
    if (const auto known = recorded_.find(key); known != recorded_.end()) return known->second;
    const auto chosen = source_(workload, target_);
    if (!chosen && chosen.error().kind != ErrorKind::kNotFound)
      return std::unexpected(chosen.error());
    Known found;
    if (chosen && chosen->record) {
      const store::Record& record = *chosen->record;
      found = {recorded_seconds(*chosen), record.raced,
               fmt::format("{}/{}/{}/{}", record.target, record.cpu, record.codegen_version,
                           name_of(record.cache_mode))};
    }
    return recorded_.emplace(key, found).first->second;
  }

  double guessed(const te::Workload& workload) {
    const std::string key = te::workload_key(workload);
    if (const auto known = guessed_.find(key); known != guessed_.end()) return known->second;
    return guessed_.emplace(key, default_cycles(workload, target_)).first->second;
  }

  Status weigh(GroupChoice& choice) {
    const Known one = LATHE_TRY(recorded(choice.offered.node.expression));
    bool any = one.has_value(), all = any, raced = false;
    double apart = 0;
    for (const int n : choice.offered.members) {
      const Known part = LATHE_TRY(recorded(graph_.nodes[graph::place(n)].expression));
      any |= part.has_value();
      all = all && part && part->where == one->where;
      if (part) apart += part->seconds, raced |= part->raced;
    }
    choice.recorded = all;
    if (all) choice.together = one->seconds, choice.apart = apart;
    else if (!any && bytes_between(choice) >= kLeastGuessed) guess(choice);
    const double share = !all ? kClearlyFaster : raced && !one->raced ? kFasterUnraced : kFaster;
    choice.one = choice.together > 0 && choice.together < share * choice.apart;
    return {};
  }

  // The most that two members have between them.
  std::int64_t bytes_between(const GroupChoice& choice) const {
    std::int64_t most = 0;
    for (const int n : choice.offered.members)
      if (n != choice.offered.members.back())
        most = std::max(most, graph_.value(graph_.nodes[graph::place(n)].outputs[0]).bytes());
    return most;
  }

  void guess(GroupChoice& choice) {
    choice.together = guessed(choice.offered.node.expression);
    for (const int n : choice.offered.members)
      choice.apart += guessed(graph_.nodes[graph::place(n)].expression);
    if (choice.together + choice.apart < std::numeric_limits<double>::infinity()) return;
    choice.together = choice.apart = 0;
  }

  // Records come before guesses.
  static std::vector<graph::Union> take(std::vector<GroupChoice>& choices) {
    std::vector<GroupChoice*> order;
    for (GroupChoice& choice : choices)
      if (choice.one) order.push_back(&choice);
    std::ranges::stable_sort(order, std::greater(), [](const GroupChoice* choice) {
      return std::pair(choice->recorded, choice->apart - choice->together);
    });
    std::set<int> taken;
    std::vector<graph::Union> out;
    for (GroupChoice* choice : order) {
      const auto& members = choice->offered.members;
      choice->one = std::ranges::none_of(members, [&](int n) { return taken.contains(n); });
      if (!choice->one) continue;
      taken.insert(members.begin(), members.end());
      out.push_back(choice->offered);
    }
    return out;
  }

  const graph::Graph& graph_;
  const ScheduleSource& source_;
  const bool on_record_;
  const Target& target_;
  std::map<std::string, Known> recorded_;  // by key
  std::map<std::string, double> guessed_;  // cycles, by key
};

}  // namespace

Result<ChosenGroups> choose_groups(const graph::Graph& graph, const ScheduleRequest& request,
                                   const Target& target) {
  const auto source = LATHE_TRY(node_schedules(graph, request, target));
  return GroupChooser(graph, source, request.which == ScheduleRequest().which, target).run();
}

}  // namespace lathe::api
