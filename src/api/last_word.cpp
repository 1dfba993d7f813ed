#include "api/last_word.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "api/model_chain.h"
#include "api/targets.h"
#include "base/hash.h"
#include "base/statistics.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

constexpr std::size_t kContenders = 4;  // of a task, with its best
constexpr double kHopeless = 1.25;      // times the best
constexpr int kRounds = 12;
constexpr double kLeastSlice = 0.01;  // seconds
constexpr double kClear = 0.995;      // of the time, in the median of the rounds

// Names the model, target and machine: graphs with equal nodes in equal order share a choice.
std::string name_of_choice(const graph::Graph& graph, const Target& target, CacheMode cache) {
  std::string keys;
  for (const graph::Node& node : graph.nodes) keys += te::workload_key(node.expression) + "\n";
  return fmt::format("model/{}/{}/{}/{}", hex(hash_of(keys)), target.text(),
                     measure::machine_for(target).cpu(), lathe::name_of(cache));
}

struct Contender {
  store::Record record;
  schedule::Trace trace;
};

class LastWordMaker {
 public:
  LastWordMaker(const graph::Graph& graph, store::Store& store, const LastWordRequest& request)
      : graph_(graph), store_(store), request_(request) {}

  Result<LastWord> run() {
    chain_ = LATHE_TRY(ModelChain::make(graph_, request_.target));
    LATHE_TRY_STATUS(begin());
    chain_->fill_random(1);
    chain_->call();
    out_.before = chain_->time(2 * kLeastSlice);
    for (const std::size_t task : in_order())
      for (std::size_t c = 1; c < contenders_[task].size() && !late(); ++c)
        LATHE_TRY_STATUS(try_one(task, c));
    out_.after = out_.before;
    for (const Exchange& exchange : out_.exchanges) out_.after *= 1 - exchange.gain;
    if (!out_.exchanges.empty())
      LATHE_TRY_STATUS(
          store_.put(name_of_choice(graph_, request_.target, request_.cache_mode), dump(choice_)));
    return std::move(out_);
  }

 private:
  const te::Workload& workload(std::size_t task) const {
    return graph_.nodes[graph::place(chain_->tasks()[task].nodes[0])].expression;
  }
  bool late() const {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began_;
    return past.count() > request_.seconds || (request_.stop && request_.stop());
  }

  // The best program of each task; the default one where none is recorded.
  Status begin() {
    const auto otherwise = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
    contenders_.resize(chain_->tasks().size());
    for (std::size_t t = 0; t < contenders_.size(); ++t) {
      LATHE_TRY_STATUS(find_contenders(t));
      const schedule::Trace trace = contenders_[t].empty()
                                        ? LATHE_TRY(otherwise(workload(t), request_.target)).trace
                                        : contenders_[t][0].trace;
      chain_->set(t, LATHE_TRY(chain_->build(t, trace, Checking::kSkip)));
    }
    return {};
  }

  // Each was checked when it was measured.
  Status find_contenders(std::size_t task) {
    store::Query query;
    query.workload = chain_->tasks()[task].key;
    query.target = request_.target.text();
    query.cache_mode = request_.cache_mode;
    query.cpu = measure::machine_for(request_.target).cpu();
    query.codegen_version = LATHE_TRY(codegen_version(request_.target));
    std::set<std::string> programs;
    return store_.each_by_standing(query, [&](const store::Record& record) {
      auto& all = contenders_[task];
      if (!all.empty() && record.standing > kHopeless * all[0].record.standing) return false;
      auto trace = schedule::trace_from_json(record.trace);
      if (trace && programs.insert(record.program_hash).second)
        all.push_back({record, std::move(*trace)});
      return all.size() < kContenders;
    });
  }

  std::vector<std::size_t> in_order() const {
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < contenders_.size(); ++t)
      if (contenders_[t].size() > 1) order.push_back(t);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) {
      return contenders_[t][0].record.standing *
             static_cast<double>(chain_->tasks()[t].nodes.size());
    });
    return order;
  }

  Status try_one(std::size_t task, std::size_t contender) {
    auto built = chain_->build(task, contenders_[task][contender].trace, Checking::kSkip);
    if (!built) return {};  // made by another code generator
    ++out_.tried;
    std::vector<double> ratios;
    ModelChain::Programs other = std::move(*built);
    for (int round = 0; round < kRounds && !late(); ++round) {
      const double now = chain_->time(kLeastSlice);
      other = chain_->set(task, std::move(other));
      const double then = chain_->time(kLeastSlice);
      other = chain_->set(task, std::move(other));
      ratios.push_back(then / now);
    }
    if (std::ssize(ratios) < kRounds) return {};
    const auto better = std::ranges::count_if(ratios, [](double ratio) { return ratio < 1; });
    const double ratio = quantile(ratios, 0.5);
    if (ratio > kClear || better < 3 * kRounds / 4) return {};
    chain_->set(task, std::move(other));
    const std::string& key = chain_->tasks()[task].key;
    std::erase_if(out_.exchanges, [&](const Exchange& e) { return e.workload == key; });
    out_.exchanges.push_back({key, 1 - ratio});
    choice_[key] = {{"over", contenders_[task][0].record.id},
                    {"trace", contenders_[task][contender].record.trace}};
    return {};
  }

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const graph::Graph& graph_;
  store::Store& store_;
  const LastWordRequest& request_;
  std::unique_ptr<ModelChain> chain_;
  std::vector<std::vector<Contender>> contenders_;  // by task, the best first
  Json choice_ = Json::object();
  LastWord out_;
};

// The trace that the model chose, unless a better record has come.
Result<std::optional<schedule::Trace>> chosen_trace(const Json& choice, const std::string& key,
                                                    std::int64_t best) {
  if (!choice.contains(key) || choice[key].value("over", std::int64_t{0}) != best)
    return std::optional<schedule::Trace>();
  auto trace = schedule::trace_from_json(choice[key]["trace"]);
  if (!trace) return std::unexpected(std::move(trace).error());
  return std::optional(std::move(*trace));
}

}  // namespace

Result<LastWord> have_last_word(const graph::Graph& graph, store::Store& store,
                                const LastWordRequest& request) {
  return LastWordMaker(graph, store, request).run();
}

Result<ScheduleSource> source_of_model(const graph::Graph& graph, const ScheduleRequest& request,
                                       const Target& target) {
  auto source = LATHE_TRY(schedule_source(request));
  if (request.which != "best") return source;
  const auto store = open_existing(request.database);
  if (!store) return source;  // as the source says it
  const auto text = LATHE_TRY((*store)->get(name_of_choice(graph, target, request.cache_mode)));
  const auto choice = text ? parse_json(*text) : Result<Json>(Json::object());
  if (!choice || choice->empty()) return source;
  return [source, choice = *choice](const te::Workload& workload,
                                    const Target& asked) -> Result<Chosen> {
    auto chosen = LATHE_TRY(source(workload, asked));
    if (!chosen.record) return chosen;
    if (auto trace = LATHE_TRY(chosen_trace(choice, te::workload_key(workload), chosen.record->id)))
      chosen.trace = std::move(*trace);
    return chosen;
  };
}

}  // namespace lathe::api
