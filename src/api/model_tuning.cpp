#include "api/model_tuning.h"

#include <algorithm>
#include <mutex>
#include <span>

#include "api/model_caches.h"
#include "api/model_groups.h"
#include "api/targets.h"
#include "api/workload.h"
#include "graph/ir/print.h"
#include "tuner/store/store.h"
#include "tuner/tune/tuner.h"

namespace lathe::api {
namespace {

constexpr double kUsual = 5e10;       // FLOP a second, until a program was timed
constexpr int kMostTrials = 1 << 20;  // of a task: the scheduler ends it
constexpr int kBatch = 24, kLeastBatch = 4, kFirstBatch = 16;
constexpr double kTrialSeconds = 0.25;  // roughly

// A task with all that its tuner needs, from its first turn on.
struct Tuning {
  te::Workload workload;
  tune::Options options;
  std::unique_ptr<space::Space> space;
  std::unique_ptr<measure::Measurer> measurer;
  std::unique_ptr<tune::Subject> subject;
  std::unique_ptr<model::CostModel> model;
  std::unique_ptr<tune::Tuner> tuner;
  int built = 0;        // programs of trials, by this process
  double building = 0;  // seconds for these
};

struct KeyedTask {
  std::string key;  // of the workload
  TaskToTune task;
  std::vector<std::size_t> instead_of;  // tasks whose calls it would make; none: it is in the model
};

// What the listener is told, by threads of the tuners, too: each has a clock.
class Board {
 public:
  Board(const ModelTuneListener& listener, std::size_t tasks, const TimeShares& time)
      : listener_(listener), time_(time) {
    shown_.tasks = tasks;
  }

  void turn(std::size_t task, const std::string& label) {
    const std::lock_guard lock(mutex_);
    now_ = task;
    shown_.task = label;
    tell("starting");
  }
  void found(std::size_t begun, int trials, double best) {
    const std::lock_guard lock(mutex_);
    shown_.begun = begun;
    shown_.trials = trials;
    shown_.best = best;
    tell("");
  }
  void say(const std::string& doing) {
    const std::lock_guard lock(mutex_);
    tell(doing);
  }
  // Of a task whose turn it is not nothing is told.
  void say(std::size_t task, const std::string& doing) {
    const std::lock_guard lock(mutex_);
    if (task == now_) tell(doing);
  }

 private:
  void tell(const std::string& doing) {
    shown_.doing = doing;
    if (time_.limited()) shown_.left = std::max(0.0, time_.left());
    if (listener_) listener_(shown_);
  }

  const ModelTuneListener& listener_;
  const TimeShares& time_;
  std::mutex mutex_;
  std::size_t now_ = 0;
  ModelTuneProgress shown_;
};

class ModelTuner {
 public:
  // `graph`: where programs are exchanged at the end; null: nowhere.
  ModelTuner(std::vector<KeyedTask> tasks, const graph::Graph* graph,
             const ModelTuneRequest& request, const ModelTuneListener& listener,
             const std::function<bool()>& stop)
      : graph_(graph),
        request_(request),
        stop_(stop),
        tasks_(std::move(tasks)),
        time_(request.options.run.seconds, request.clock),
        board_(listener, tasks_.size(), time_),
        tunings_(tasks_.size()),
        scheduler_(scheduled()) {
    for (const KeyedTask& each : tasks_)
      out_.tasks.push_back({each.task.label, each.key, each.task.weight, 0, 0, 0, 0, {}});
  }

  Result<TunedModel> run() {
    LATHE_TRY_STATUS(begin());
    while (!stopped() && trials() < request_.options.run.trials) {
      const auto task = scheduler_.next();
      if (!task || time_.left_for_turns() < scheduler_.tasks()[*task].cost) break;
      LATHE_TRY_STATUS(take_turn(*task));
    }
    LATHE_TRY_STATUS(race_all());
    LATHE_TRY_STATUS(choose());
    LATHE_TRY_STATUS(have_last_word());
    for (std::size_t t = 0; t < tasks_.size(); ++t) LATHE_TRY_STATUS(tell_times(t));
    std::ranges::stable_sort(out_.tasks, std::greater(),
                             [](const TunedTask& t) { return t.weight * t.best; });
    out_.seconds = time_.elapsed();
    out_.interrupted = stop_ && stop_();
    return std::move(out_);
  }

 private:
  std::vector<tune::TaskScheduler::Task> scheduled() const {
    std::vector<tune::TaskScheduler::Task> out;
    for (const KeyedTask& each : tasks_)
      out.push_back({.weight = each.task.weight,
                     .guess = te::flops(each.task.workload) / kUsual,
                     .instead_of = each.instead_of});
    return out;
  }

  Status begin() {
    board_.say("starting");
    LATHE_TRY_STATUS(check_timed_here(request_.target));
    make_searcher_ = LATHE_TRY(tune::searcher_of(request_.options));
    LATHE_TRY(tune::model_of(request_.options, false));
    store_ = LATHE_TRY(store::open_sqlite(request_.database));
    measure::Options measuring;
    measuring.jobs = request_.options.run.jobs;
    measuring.cache = request_.options.run.cache_mode;
    session_ = LATHE_TRY(measure::open_session(request_.target, measuring));
    codegen_version_ = LATHE_TRY(codegen_version(request_.target));
    // Once for all tasks: to learn from many records takes seconds.
    board_.say("learning from other records");
    learned_ = request_.options;
    LATHE_TRY(
        begin_from_others(request_.global_model, "", request_.target, store_.get(), learned_));
    return {};
  }

  bool stopped() const { return (stop_ && stop_()) || time_.over(); }
  int trials() const {
    int sum = 0;
    for (const TunedTask& task : out_.tasks) sum += task.trials;
    return sum;
  }

  tune::Options options_of_task() const {
    tune::Options options = learned_;
    const auto tasks = static_cast<double>(tasks_.size());
    const double trials =
        std::min(options.run.trials / tasks, time_.left_for_turns() / tasks / kTrialSeconds);
    options.search.first_batch = std::clamp(static_cast<int>(trials / 2), kLeastBatch, kFirstBatch);
    options.search.batch = std::min(options.search.batch, kBatch);
    options.race.seconds = std::min(options.race.seconds, time_.usual_race(tasks_.size()));
    options.run.trials = kMostTrials;
    options.run.seconds = 0;
    options.run.codegen_version = codegen_version_;
    return options;
  }

  Status begin_task(std::size_t t) {
    Tuning& made = tunings_[t].emplace();
    const te::Workload& given = tasks_[t].task.workload;
    made.workload = te::canonical(given);
    made.space = LATHE_TRY(space_of_key(given, request_.target, request_.options.run.flavour));
    made.options = options_of_task();
    made.measurer = LATHE_TRY(measure::make_measurer(session_, made.workload));
    made.subject = LATHE_TRY(
        tune::make_subject(*made.space, made.options, request_.target, made.measurer->machine()));
    made.model = LATHE_TRY(tune::model_of(made.options, made.subject->tells_cycles()));
    made.tuner = LATHE_TRY(tune::Tuner::make(
        *made.subject, *made.measurer, *store_, request_.target, made.options, make_searcher_,
        made.model.get(),
        [this, t](const tune::Progress& progress) { board_.say(t, progress.shown()); }, stop_));
    return {};
  }

  Status take_turn(std::size_t t) {
    const double began = time_.elapsed();
    board_.turn(t, out_.tasks[t].label);
    Status done;
    const bool begins = !tunings_[t];
    if (begins) done = begin_task(t);
    const auto& tuner = tunings_[t]->tuner;
    if (done && begins) done = note(t);
    // What an earlier command found is its first turn.
    if (done && (!begins || out_.tasks[t].trials == 0) && tuner->more())
      done = tuner->step(request_.options.run.trials - trials(), time_.left_for_turns());
    if (done) done = note(t);
    if (!done && !is_of_task(done.error())) return done;
    if (!done) out_.tasks[t].problem = done.error().text();
    scheduler_.end_turn(t, {out_.tasks[t].best, time_.elapsed() - began, !done || !tuner->more()});
    tell_board();
    return {};
  }

  // What concerns the workload alone: the others go on.
  static bool is_of_task(const Error& error) {
    return error.kind != ErrorKind::kIo && error.kind != ErrorKind::kInternal;
  }

  Status note(std::size_t t) {
    const tune::Summary summary = LATHE_TRY(tunings_[t]->tuner->summary());
    out_.tasks[t].trials = summary.trials;
    out_.tasks[t].failed = summary.failed;
    out_.tasks[t].best = summary.best_seconds();
    tunings_[t]->built = summary.trials - summary.resumed;
    tunings_[t]->building = summary.spent.build;
    reserve_for_building();
    return {};
  }

  // True if it is instead of others that take less time, as far as is known.
  bool is_slower(std::size_t t) const {
    constexpr double kClearly = 1.1;
    double others = 0;
    for (const std::size_t other : tasks_[t].instead_of) others += out_.tasks[other].best;
    return others > 0 && out_.tasks[t].best > kClearly * others;
  }

  // The last word begins with building a program of each task.
  void reserve_for_building() {
    if (graph_ == nullptr) return;
    double seconds = 0;
    int programs = 0;
    for (const auto& tuning : tunings_)
      if (tuning) seconds += tuning->building, programs += tuning->built;
    if (programs > 0) time_.reserve(seconds / programs * static_cast<double>(tasks_.size()));
  }

  // In the order of the time that the model spends in them; what is instead of others comes last.
  Status race_all() {
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      if (tunings_[t] && out_.tasks[t].best > 0) order.push_back(t);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) {
      return std::pair(tasks_[t].instead_of.empty(), out_.tasks[t].weight * out_.tasks[t].best);
    });
    for (std::size_t raced = 0; raced < order.size(); ++raced) {
      const double seconds = time_.left_for_race(order.size() - raced);
      if (stopped() || seconds == 0) break;
      const std::size_t t = order[raced];
      if (is_slower(t)) continue;
      board_.turn(t, out_.tasks[t].label);
      LATHE_TRY_STATUS(tunings_[t]->tuner->race(seconds));
      LATHE_TRY_STATUS(note(t));
    }
    return {};
  }

  // Which tasks the model has in the end, and how often.
  Status choose() {
    if (graph_ == nullptr) return {};
    const ScheduleRequest request{.database = request_.database,
                                  .cache_mode = request_.options.run.cache_mode};
    chosen_ = LATHE_TRY(choose_groups(*graph_, request, request_.target)).graph;
    for (TunedTask& task : out_.tasks) task.weight = 0;
    for (const graph::Task& task : graph::tasks_of(chosen_))
      std::ranges::find(out_.tasks, task.key, &TunedTask::workload)->weight =
          static_cast<double>(task.nodes.size());
    return {};
  }

  // Where others took more than their time, it has its share still.
  Status have_last_word() {
    const bool anything = std::ranges::any_of(out_.tasks, [](const auto& t) { return t.best > 0; });
    if (graph_ == nullptr || (stop_ && stop_()) || !anything) return {};
    board_.say("exchanging programs in the whole");
    const LastWordRequest last{.target = request_.target,
                               .cache_mode = request_.options.run.cache_mode,
                               .seconds = time_.left_for_last_word(),
                               .stop = stop_,
                               .clock = request_.clock};
    out_.last_word = LATHE_TRY(api::have_last_word(chosen_, *store_, last));
    return {};
  }

  // The default program's time, from the trials of any run.
  Status tell_times(std::size_t t) {
    if (!tunings_[t] || !tunings_[t]->subject) return {};
    const Json start = tunings_[t]->subject->to_json(tunings_[t]->subject->starts().front());
    store::Query query;
    query.workload = tasks_[t].key;
    query.target = request_.target.text();
    query.cache_mode = request_.options.run.cache_mode;
    query.codegen_version = codegen_version_;
    query.cpu = tunings_[t]->measurer->machine().cpu();
    query.ok = true;
    query.summary = true;
    return store_->each(query, [&](const store::Record& record) {
      if (record.config == start)
        out_.tasks[t].first = record.raced ? record.race_seconds : record.seconds;
      return true;
    });
  }

  void tell_board() {
    const auto begun =
        std::ranges::count_if(scheduler_.tasks(), [](const auto& task) { return task.turns > 0; });
    board_.found(static_cast<std::size_t>(begun), trials(), scheduler_.graph_seconds());
  }

  const graph::Graph* graph_;
  graph::Graph chosen_;  // the one with what was chosen
  const ModelTuneRequest& request_;
  const std::function<bool()>& stop_;
  const std::vector<KeyedTask> tasks_;
  TimeShares time_;
  Board board_;  // outlives the tuners, whose clocks tell it something until they end
  tune::SearcherMaker make_searcher_;
  std::unique_ptr<store::Store> store_;
  std::shared_ptr<measure::Session> session_;
  int codegen_version_ = 0;
  tune::Options learned_;
  std::vector<std::optional<Tuning>> tunings_;
  tune::TaskScheduler scheduler_;
  TunedModel out_;
};

std::vector<KeyedTask> tasks_in(const graph::Graph& graph) {
  std::vector<KeyedTask> tasks;
  for (graph::Task& task : graph::tasks_of(graph)) {
    const graph::Node& node = graph.nodes[graph::place(task.nodes[0])];
    tasks.push_back(
        {std::move(task.key),
         {graph::label_of(graph, task), node.expression, static_cast<double>(task.nodes.size())},
         {}});
  }
  return tasks;
}

// What several nodes may be together, after the tasks of the nodes.
void add_unions(const graph::Graph& graph, std::vector<KeyedTask>& tasks) {
  const std::size_t own = tasks.size();
  for (const graph::Union& offered : graph::unions_of(graph)) {
    std::string key = te::workload_key(offered.node.expression);
    const auto known = std::ranges::find(tasks, key, &KeyedTask::key);
    if (known != tasks.end()) {
      if (!known->instead_of.empty()) known->task.weight += 1;
      continue;
    }
    std::vector<std::size_t> members;
    for (const int n : offered.members) {
      const std::string part = te::workload_key(graph.nodes[graph::place(n)].expression);
      const auto all = std::span(tasks).first(own);
      members.push_back(
          static_cast<std::size_t>(std::ranges::find(all, part, &KeyedTask::key) - all.begin()));
    }
    std::string label = graph::label_of(graph, offered.node);
    tasks.push_back(
        {std::move(key), {std::move(label), offered.node.expression, 1}, std::move(members)});
  }
}

}  // namespace

double TunedModel::first() const {
  double sum = 0;
  for (const TunedTask& task : tasks)
    if (task.first > 0 && task.best > 0) sum += task.weight * task.first;
  return sum;
}

double TunedModel::best() const {
  double sum = 0;
  for (const TunedTask& task : tasks)
    if (task.first > 0 && task.best > 0) sum += task.weight * task.best;
  return sum;
}

Result<TunedModel> tune_model(const graph::Graph& graph, const ModelTuneRequest& request,
                              const ModelTuneListener& listener,
                              const std::function<bool()>& stop) {
  std::vector<KeyedTask> tasks = tasks_in(graph);
  add_unions(graph, tasks);
  ModelTuneRequest in_model = request;
  in_model.options.run.cache_mode = caches_of(graph, request.target);
  return ModelTuner(std::move(tasks), &graph, in_model, listener, stop).run();
}

Result<TunedModel> tune_tasks(const std::vector<TaskToTune>& tasks, const ModelTuneRequest& request,
                              const ModelTuneListener& listener,
                              const std::function<bool()>& stop) {
  std::vector<KeyedTask> keyed;
  for (const TaskToTune& task : tasks) {
    std::string key = te::workload_key(task.workload);
    const auto known = std::ranges::find(keyed, key, &KeyedTask::key);
    if (known != keyed.end()) known->task.weight += task.weight;
    else keyed.push_back({std::move(key), task, {}});
  }
  return ModelTuner(std::move(keyed), nullptr, request, listener, stop).run();
}

}  // namespace lathe::api
