#include "api/model_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "api/model_caches.h"
#include "api/model_times.h"
#include "api/targets.h"
#include "api/views.h"
#include "api/workload.h"
#include "compiler/ir/flat/touched.h"
#include "compiler/sequence/apart.h"
#include "compiler/sequence/arena.h"
#include "compiler/sequence/constants.h"
#include "graph/ir/print.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

using graph::place;

constexpr std::size_t kRecords = 6;  // of a task that are looked at
// What is chosen takes this share of the time of other defaults at most: so much the rules want of
// an algorithm (tuner/space/rules/cook_toom/start.cpp), and the analytic model compares these
// badly.
constexpr double kOfOthers = 0.85;

// A program that a task may have.
struct Option {
  Chosen chosen;
  std::int64_t constants = 0, global = 0, shared = 0, thread = 0;
  double seconds = 0;
};

std::int64_t weights_read(const flat::Program& program, const te::Workload& workload) {
  std::int64_t bytes = 0;
  const std::vector<int> inputs = workload.inputs();
  for (const int b : flat::touched_buffers(program, program.run)) {
    const flat::Buffer& buffer = program.buffers[place(b)];
    if (buffer.scope == flat::Scope::kInput &&
        workload.tensors[place(inputs[place(static_cast<int>(buffer.slot))])].constant)
      bytes += buffer.size * size_of(buffer.dtype);
  }
  return bytes;
}

// What there is to choose from for each task.
class OptionMaker {
 public:
  OptionMaker(const ScheduleSource& source, const Target& target, const ScheduleRequest& request)
      : source_(else_default(source)), target_(target), request_(request) {}

  Result<std::vector<Option>> of(const te::Workload& workload) {
    options_.clear(), programs_.clear();
    const Chosen first = LATHE_TRY(source_(workload, target_));
    LATHE_TRY_STATUS(add(workload, first));
    const double cycles = analytic_cycles(workload, first.trace, target_);
    options_[0].seconds = first.record ? first.record->standing : cycles / kCyclesASecond;
    a_cycle_ = options_[0].seconds / cycles;
    LATHE_TRY_STATUS(add_records(workload));
    for (const bool repacks : {false, true})
      for (const bool direct : {false, true}) add_default(workload, repacks, direct);
    return std::move(options_);
  }

 private:
  Status add(const te::Workload& workload, Chosen chosen) {
    const auto program =
        LATHE_TRY(flat_program(scheduled_workload(workload, chosen), chosen.trace, chosen.target));
    if (!programs_.insert(flat::hash(program)).second) return {};
    const std::int64_t constants =
        sequence::constants_of(program).kept + weights_read(program, workload);
    options_.push_back({std::move(chosen), constants, program.global_bytes, program.shared_bytes,
                        program.thread_bytes * target_.threads(), 0});
    return {};
  }
  // What cannot be made is no option.
  void try_to_add(const te::Workload& workload, const Chosen& chosen) {
    const std::size_t before = options_.size();
    if (!add(workload, chosen) || options_.size() == before) return;
    const double cycles =
        analytic_cycles(scheduled_workload(workload, chosen), chosen.trace, target_);
    options_.back().seconds = chosen.record
                                  ? chosen.record->standing
                                  : std::max(a_cycle_ * cycles, options_[0].seconds / kOfOthers);
  }

  Status add_records(const te::Workload& workload) {
    if (request_.which != "best") return {};
    const auto store = open_existing(request_.database);
    if (!store) return {};
    store::Query query;
    query.workload = te::workload_key(workload);
    query.target = target_.text();
    query.cache_mode = request_.cache_mode;
    query.cpu = measure::machine_for(target_).cpu();
    query.codegen_version = LATHE_TRY(codegen_version(target_));
    std::size_t seen = 0;
    return (*store)->each_by_standing(query, [&](const store::Record& record) {
      if (auto trace = schedule::trace_from_json(record.trace))
        try_to_add(workload, {std::move(*trace), target_, record, ""});
      return ++seen < kRecords;
    });
  }

  void add_default(const te::Workload& workload, bool repacks, bool direct) {
    Chosen chosen{{}, target_, std::nullopt, "", repacks};
    te::Workload asked = scheduled_workload(workload, chosen);
    if (direct) asked.contract.numerics = te::Numerics::kComponentwise;
    const auto space = space_of_key(asked, target_, request_.flavour);
    if (!space) return;
    chosen.trace = (*space)->trace((*space)->default_config());
    try_to_add(workload, chosen);
  }

  const ScheduleSource source_;
  const Target& target_;
  const ScheduleRequest& request_;
  std::vector<Option> options_;
  std::set<std::uint64_t> programs_;
  double a_cycle_ = 0;  // seconds, by the first option
};

// Which option each task has, and what all need together.
class Picker {
 public:
  Picker(const graph::Graph& graph, std::vector<graph::Task> tasks,
         std::vector<std::vector<Option>> options)
      : tasks_(std::move(tasks)), options_(std::move(options)), live_(live_at(graph)) {
    task_of_.resize(graph.nodes.size());
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      for (const int n : tasks_[t].nodes) task_of_[place(n)] = t;
    picks_.resize(tasks_.size(), 0);
  }

  // True: it needs no more than `most`, by what is guessed of the arena.
  bool fit(std::int64_t most) {
    picks_.assign(tasks_.size(), 0);
    while (bytes() > most)
      if (!exchange_one()) break;
    if (bytes() > most) picks_ = least();
    if (bytes() > most) return false;
    take_back(most);
    return true;
  }
  std::int64_t bytes() const { return bytes(picks_); }
  const Option& picked(std::size_t task) const { return options_[task][picks_[task]]; }
  bool is_exchanged(std::size_t task) const { return picks_[task] != 0; }
  double seconds(bool now) const {
    double sum = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      sum += count(t) * options_[t][now ? picks_[t] : 0].seconds;
    return sum;
  }

 private:
  using Picks = std::vector<std::size_t>;

  double count(std::size_t task) const { return static_cast<double>(tasks_[task].nodes.size()); }

  // Bytes of the values that lie between nodes, by node.
  static std::vector<std::int64_t> live_at(const graph::Graph& graph) {
    const std::size_t nodes = graph.nodes.size();
    std::vector<int> maker(graph.values.size(), -1), last(graph.values.size(), -1);
    for (std::size_t n = 0; n < nodes; ++n) {
      for (const int id : graph.nodes[n].outputs)
        maker[place(id)] = last[place(id)] = static_cast<int>(n);
      for (const int id : graph.nodes[n].inputs)
        last[place(graph.storage_of(id))] = static_cast<int>(n);
    }
    for (const int id : graph.outputs) maker[place(graph.storage_of(id))] = -1;
    std::vector<std::int64_t> live(nodes, 0);
    for (std::size_t v = 0; v < maker.size(); ++v)
      for (int n = maker[v]; n >= 0 && n <= last[v]; ++n) live[place(n)] += graph.values[v].bytes();
    return live;
  }

  std::int64_t bytes(const Picks& picks) const {
    std::int64_t constants = 0, arena = 0, shared = 0, thread = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const Option& option = options_[t][picks[t]];
      constants += std::ssize(tasks_[t].nodes) * option.constants;
      shared = std::max(shared, option.shared);
      thread = std::max(thread, option.thread);
    }
    for (std::size_t n = 0; n < live_.size(); ++n)
      arena = std::max(arena, live_[n] + options_[task_of_[n]][picks[task_of_[n]]].global);
    return constants + arena + shared + thread;
  }

  // What an option saves of the task alone, whatever others need.
  std::int64_t own_saving(std::size_t task, std::size_t option) const {
    const Option &now = options_[task][picks_[task]], &then = options_[task][option];
    return std::ssize(tasks_[task].nodes) * (now.constants - then.constants) + now.global -
           then.global + now.shared - then.shared + now.thread - then.thread;
  }

  // The exchange that saves most for the time that it loses. Where none saves anything, as two need
  // equally much, the one after which another may.
  bool exchange_one() {
    const std::int64_t before = bytes();
    double best[2] = {0, 0};
    std::pair<std::size_t, std::size_t> chosen[2];
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      for (std::size_t o = 0; o < options_[t].size(); ++o) {
        if (own_saving(t, o) <= 0) continue;
        Picks then = picks_;
        then[t] = o;
        const std::int64_t saved = before - bytes(then);
        if (saved < 0) continue;
        constexpr double kNothing = 1e-12;  // seconds
        const double lost = std::max(
            kNothing, count(t) * (options_[t][o].seconds - options_[t][picks_[t]].seconds));
        const std::size_t kind = saved > 0 ? 0 : 1;
        const double worth = static_cast<double>(saved > 0 ? saved : own_saving(t, o)) / lost;
        if (worth > best[kind]) best[kind] = worth, chosen[kind] = {t, o};
      }
    for (const std::size_t kind : {0, 1}) {
      if (best[kind] == 0) continue;
      picks_[chosen[kind].first] = chosen[kind].second;
      return true;
    }
    return false;
  }

  Picks least() const {
    Picks picks(tasks_.size(), 0);
    for (std::size_t t = 0; t < tasks_.size(); ++t)
      for (std::size_t o = 0; o < options_[t].size(); ++o) {
        Picks then = picks;
        then[t] = o;
        const auto alone = [&](const Option& option) {
          return std::ssize(tasks_[t].nodes) * option.constants + option.global + option.thread;
        };
        if (alone(options_[t][o]) < alone(options_[t][picks[t]])) picks = std::move(then);
      }
    return bytes(picks) < bytes() ? picks : picks_;
  }

  // What later exchanges made superfluous, those first that lose most time.
  void take_back(std::int64_t most) {
    std::vector<std::size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto lost = [&](std::size_t t) {
      return count(t) * (options_[t][picks_[t]].seconds - options_[t][0].seconds);
    };
    std::ranges::stable_sort(order, std::greater(), lost);
    for (const std::size_t t : order) {
      Picks then = picks_;
      then[t] = 0;
      if (bytes(then) <= most) picks_ = std::move(then);
    }
  }

  const std::vector<graph::Task> tasks_;
  const std::vector<std::vector<Option>> options_;  // by task; the first is the model's choice
  const std::vector<std::int64_t> live_;            // by node
  std::vector<std::size_t> task_of_;                // by node
  Picks picks_;                                     // by task
};

ScheduleSource source_with(std::map<std::string, Chosen> picked, const ScheduleSource& otherwise) {
  return [picked = std::move(picked), otherwise](const te::Workload& workload,
                                                 const Target& target) -> Result<Chosen> {
    const auto known = picked.find(te::workload_key(workload));
    if (known != picked.end()) return known->second;
    return otherwise(workload, target);
  };
}

// Rounded up, so that what is said suffices, or down, so that no more is said than is there.
enum class Round { kUp, kDown };
std::string in_words(std::int64_t bytes, Round round) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const bool large = bytes >= 1'000'000;
  const double tenths = static_cast<double>(bytes) / (large ? 1e5 : 1e2);
  return fmt::format("{:.1f} {}",
                     (round == Round::kUp ? std::ceil(tenths) : std::floor(tenths)) / 10,
                     large ? "MB" : "kB");
}

std::unexpected<Error> too_much(const MemoryNeed& least, std::int64_t most) {
  return fail_at("--max-memory", ErrorKind::kOutOfMemory,
                 "{} are allowed, and the model needs {} at least, {} for weights and {} for what "
                 "lies between its nodes; allow that",
                 in_words(most, Round::kDown), in_words(least.bytes(), Round::kUp),
                 in_words(least.constants, Round::kUp), in_words(least.scratch, Round::kUp));
}

}  // namespace

MemoryNeed memory_of(const flat::Program& program, int threads) {
  MemoryNeed need{flat::read_constant_bytes(program), sequence::aligned(program.global_bytes) +
                                                          program.shared_bytes +
                                                          program.thread_bytes * threads};
  for (const int b : flat::touched_buffers(program, program.run)) {
    const auto bytes = std::ssize(program.buffers[place(b)].literal.bytes);
    if (bytes >= sequence::kLeastApart) need.constants += sequence::aligned(bytes);
  }
  return need;
}

Result<WithinMemory> within_memory(const graph::Graph& graph, const ScheduleSource& source,
                                   const Target& target, const MemoryRequest& request,
                                   const ModelProgress& progress) {
  const std::vector<graph::Task> tasks = graph::tasks_of(graph);
  ScheduleRequest schedule = request.schedule;
  schedule.cache_mode = caches_of(graph, target);
  OptionMaker maker(source, target, schedule);
  std::vector<std::vector<Option>> options;
  for (const graph::Task& task : tasks) {
    progress(fmt::format("programs of task {} of {}", options.size() + 1, tasks.size()));
    options.push_back(LATHE_TRY(maker.of(graph.nodes[place(task.nodes[0])].expression)));
  }
  Picker picker(graph, tasks, std::move(options));
  for (std::int64_t most = request.most;;) {
    const bool fits = picker.fit(most);
    WithinMemory out{.tasks = static_cast<int>(tasks.size())};
    std::map<std::string, Chosen> picked;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      picked.emplace(tasks[t].key, picker.picked(t).chosen);
      out.exchanged += picker.is_exchanged(t) ? 1 : 0;
    }
    out.slower = picker.seconds(true) / picker.seconds(false) - 1;
    out.source = source_with(std::move(picked), source);
    const auto made = LATHE_TRY(
        model_program(graph, out.source, target, Checking::kSkip, [](const std::string&) {}));
    const MemoryNeed need = memory_of(made.program, target.threads());
    if (need.bytes() <= request.most) return out;
    if (!fits) return too_much(need, request.most);
    // The arena has gaps that were not guessed.
    most -= need.bytes() - request.most;
  }
}

}  // namespace lathe::api
