#include "api/last_word.h"

#include <algorithm>
#include <set>

#include "api/model_caches.h"
#include "api/model_chain.h"
#include "api/targets.h"
#include "base/hash.h"
#include "base/statistics.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

constexpr std::size_t kContenders = 4;  // of a task, with its best
constexpr double kHopeless = 1.25;      // times the best
// Beside these, the best of other algorithms, which read other amounts of weights: what is fast
// alone may have them in a cache that the model fills with others.
constexpr std::size_t kOthers = 2;
constexpr double kHopelessOther = 2;
constexpr int kRounds = 12, kBetter = 9;
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

// "F2x4", "direct": its knob's value; "" where there is none.
std::string algorithm_of(const store::Record& record) {
  return record.config.is_object() ? record.config.value("algorithm", "") : "";
}

// What the model chose of each task: {KEY: {"over": the id of the best record then, "trace": ...,
// "gain": ..., "seconds": ...}}, the last two as Exchanged has them.
Result<Json> stored_choice(store::Store& store, const std::string& name) {
  const auto text = LATHE_TRY(store.get(name));
  const auto choice = text ? parse_json(*text) : Result<Json>(Json::object());
  return choice && choice->is_object() ? *choice : Json::object();
}

// It chose something of the task, and no better record has come since.
bool has_choice(const Json& choice, const std::string& key, std::int64_t best) {
  return choice.contains(key) && choice[key].value("over", std::int64_t{0}) == best;
}

class LastWordMaker {
 public:
  LastWordMaker(const graph::Graph& graph, store::Store& store, const LastWordRequest& request)
      : graph_(graph), store_(store), request_(request) {}

  Result<LastWord> run() {
    chain_ = LATHE_TRY(ModelChain::make(graph_, request_.target));
    LATHE_TRY_STATUS(begin());
    chain_->fill_random(1);
    chain_->call();
    end_ = std::max(end_, request_.clock() + request_.seconds / 2);
    out_.before = chain_->time(2 * kLeastSlice);
    for (const std::size_t task : in_order())
      for (std::size_t c = 0; c < contenders_[task].size() && !late(); ++c)
        if (c != current_[task]) try_one(task, c);
    out_.after = out_.before;
    for (const Exchange& exchange : out_.exchanges) out_.after *= 1 - exchange.gain;
    if (!out_.exchanges.empty()) LATHE_TRY_STATUS(store_.put(name_, dump(choice_)));
    return std::move(out_);
  }

 private:
  const te::Workload& workload(std::size_t task) const {
    return graph_.nodes[graph::place(chain_->tasks()[task].nodes[0])].expression;
  }
  bool late() const { return request_.clock() > end_ || (request_.stop && request_.stop()); }

  // The programs that the model has now: what it chose before, else the best of each task, else the
  // default one.
  Status begin() {
    choice_ = LATHE_TRY(stored_choice(store_, name_));
    const auto otherwise = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
    contenders_.resize(chain_->tasks().size());
    current_.resize(contenders_.size(), 0);
    for (std::size_t t = 0; t < contenders_.size(); ++t) {
      LATHE_TRY_STATUS(find_contenders(t));
      find_current(t);
      const schedule::Trace trace = contenders_[t].empty()
                                        ? LATHE_TRY(otherwise(workload(t), request_.target)).trace
                                        : contenders_[t][current_[t]].trace;
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
      const bool near = all.empty() || record.standing <= kHopeless * all[0].record.standing;
      if (!near && record.standing > kHopelessOther * all[0].record.standing) return false;
      const bool other = std::ranges::none_of(all, [&](const Contender& contender) {
        return algorithm_of(contender.record) == algorithm_of(record);
      });
      if (!other && (!near || all.size() >= kContenders)) return true;
      auto trace = schedule::trace_from_json(record.trace);
      if (trace && programs.insert(record.program_hash).second)
        all.push_back({record, std::move(*trace)});
      return all.size() < kContenders + kOthers;
    });
  }

  void find_current(std::size_t task) {
    const std::string& key = chain_->tasks()[task].key;
    const auto& all = contenders_[task];
    if (all.empty() || !has_choice(choice_, key, all[0].record.id)) {
      choice_.erase(key);
      return;
    }
    for (std::size_t c = 0; c < all.size(); ++c)
      if (all[c].record.trace == choice_[key]["trace"]) current_[task] = c;
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

  void try_one(std::size_t task, std::size_t contender) {
    auto built = chain_->build(task, contenders_[task][contender].trace, Checking::kSkip);
    if (!built) return;  // it does not apply any more
    ++out_.tried;
    ModelChain::Programs other = std::move(*built);
    std::vector<double> ratios;
    int better = 0;
    // It ends as soon as enough rounds cannot be better any more.
    for (int round = 0; round < kRounds && round - better <= kRounds - kBetter && !late();
         ++round) {
      const double now = chain_->time(kLeastSlice);
      other = chain_->set(task, std::move(other));
      const double then = chain_->time(kLeastSlice);
      other = chain_->set(task, std::move(other));
      ratios.push_back(then / now);
      better += then < now;
    }
    if (std::ssize(ratios) < kRounds || better < kBetter) return;
    const double ratio = quantile(std::move(ratios), 0.5);
    if (ratio > kClear) return;
    chain_->set(task, std::move(other));
    exchange(task, contender, ratio);
  }

  void exchange(std::size_t task, std::size_t contender, double ratio) {
    current_[task] = contender;
    const std::string& key = chain_->tasks()[task].key;
    const auto known = std::ranges::find(out_.exchanges, key, &Exchange::workload);
    if (known == out_.exchanges.end()) out_.exchanges.push_back({key, 1 - ratio});
    else known->gain = 1 - (1 - known->gain) * ratio;
    const auto& all = contenders_[task];
    if (contender == 0) choice_.erase(key);
    else {
      const store::Record& record = all[contender].record;
      const double before = choice_.contains(key) ? choice_[key].value("gain", 0.0) : 0;
      choice_[key] = {{"over", all[0].record.id},
                      {"trace", record.trace},
                      {"gain", 1 - (1 - before) * ratio},
                      {"seconds", record.raced ? record.race_seconds : record.seconds}};
    }
  }

  const graph::Graph& graph_;
  store::Store& store_;
  const LastWordRequest& request_;
  double end_ = request_.clock() + request_.seconds;
  std::unique_ptr<ModelChain> chain_;
  const std::string name_ = name_of_choice(graph_, request_.target, request_.cache_mode);
  std::vector<std::vector<Contender>> contenders_;  // by task, the best first
  std::vector<std::size_t> current_;                // by task, of its contenders
  Json choice_;
  LastWord out_;
};

}  // namespace

Result<LastWord> have_last_word(const graph::Graph& graph, store::Store& store,
                                const LastWordRequest& request) {
  return LastWordMaker(graph, store, request).run();
}

Result<ScheduleSource> source_of_model(const graph::Graph& graph, const ScheduleRequest& request,
                                       const Target& target) {
  auto source = LATHE_TRY(node_schedules(graph, request, target));
  if (request.which != "best") return source;
  const auto store = open_existing(request.database);
  if (!store) return source;  // as the source says it
  auto choice =
      LATHE_TRY(stored_choice(**store, name_of_choice(graph, target, caches_of(graph, target))));
  if (choice.empty()) return source;
  return [source, choice = std::move(choice)](const te::Workload& workload,
                                              const Target& asked) -> Result<Chosen> {
    auto chosen = LATHE_TRY(source(workload, asked));
    const std::string key = te::workload_key(workload);
    if (chosen.record && has_choice(choice, key, chosen.record->id))
      if (auto trace = schedule::trace_from_json(choice[key]["trace"])) {
        chosen.trace = *trace;
        chosen.exchanged = {choice[key].value("gain", 0.0), choice[key].value("seconds", 0.0)};
      }
    return chosen;
  };
}

}  // namespace lathe::api
