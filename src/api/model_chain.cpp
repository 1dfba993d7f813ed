#include "api/model_chain.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "api/model_run.h"
#include "api/targets.h"
#include "base/clock.h"
#include "base/statistics.h"
#include "compiler/backends/backends.h"
#include "compiler/driver/driver.h"
#include "compiler/sequence/arena.h"
#include "runtime/module/scratch.h"

namespace lathe::api {
namespace {

using graph::place;

std::shared_ptr<std::byte> chain_area(std::int64_t bytes) {
  auto* const memory = static_cast<std::byte*>(
      module::allocate_scratch(std::max<std::int64_t>(bytes, sequence::kAlignment)));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
  return {memory, [](std::byte* held) { std::free(held); }};
}

}  // namespace

ModelChain::ModelChain(const graph::Graph& graph, Target target)
    : graph_(graph),
      target_(std::move(target)),
      tasks_(graph::tasks_of(graph)),
      place_of_(graph.nodes.size()),
      programs_(tasks_.size()),
      pool_({.threads = target_.threads()}),
      storage_(graph.values.size(), nullptr) {
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    for (std::size_t w = 0; w < tasks_[t].nodes.size(); ++w)
      place_of_[place(tasks_[t].nodes[w])] = {t, w};
  place_values();
  for (const graph::Node& node : graph_.nodes) pointers_.push_back(pointers_of(node));
}

Result<std::unique_ptr<ModelChain>> ModelChain::make(const graph::Graph& graph,
                                                     const Target& target) {
  LATHE_TRY_STATUS(check_runs_here(target));
  return std::unique_ptr<ModelChain>(new ModelChain(graph, target));
}

// What nodes make shares an arena, as it does in the library; the rest has memory of its own.
void ModelChain::place_values() {
  std::vector<sequence::Lifetime> lifetimes;
  std::vector<int> values;
  std::vector<int> of_value(graph_.values.size(), -1);
  const auto use = [&](int id, int n) {
    if (const int l = of_value[place(graph_.storage_of(id))]; l >= 0) lifetimes[place(l)].last = n;
  };
  for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) {
    for (const int id : graph_.nodes[place(n)].outputs) {
      const int whole = graph_.storage_of(id);
      if (of_value[place(whole)] < 0) {
        of_value[place(whole)] = static_cast<int>(lifetimes.size());
        values.push_back(whole);
        lifetimes.push_back({graph_.value(whole).bytes(), n, n});
      }
      use(id, n);
    }
    for (const int id : graph_.nodes[place(n)].inputs) use(id, n);
  }
  for (const int id : graph_.outputs) use(id, static_cast<int>(graph_.nodes.size()));
  const sequence::Arena arena = sequence::arena_for(lifetimes);
  areas_.push_back(chain_area(arena.bytes));
  for (std::size_t l = 0; l < values.size(); ++l)
    storage_[place(values[l])] = areas_[0].get() + arena.offsets[l];
  for (std::size_t v = 0; v < graph_.values.size(); ++v) {
    const graph::Value& value = graph_.values[v];
    if (storage_[v] != nullptr || value.view_of) continue;
    areas_.push_back(chain_area(value.bytes()));
    storage_[v] = areas_.back().get();
    if (value.constant)
      std::memcpy(storage_[v], value.constant->bytes.data(), value.constant->bytes.size());
  }
}

std::vector<void*> ModelChain::pointers_of(const graph::Node& node) const {
  std::vector<void*> out;
  for (const auto* ids : {&node.inputs, &node.outputs})
    for (const int id : *ids) out.push_back(elements(id));
  return out;
}

void ModelChain::grow(std::shared_ptr<std::byte>& area, std::int64_t& size, std::int64_t wanted) {
  if (area && wanted <= size) return;
  area = chain_area(wanted);
  size = wanted;
}

Result<ModelChain::Programs> ModelChain::build(std::size_t task, const schedule::Trace& trace,
                                               Checking checking) {
  const te::Workload& workload = graph_.nodes[place(tasks_[task].nodes[0])].expression;
  auto built = LATHE_TRY(driver::build(te::canonical(workload), trace, target_, backends()));
  LATHE_TRY(check_library(workload, trace, target_, built.code.library, checking));
  Programs made;
  made.module = LATHE_TRY(module::load_module(built.code.library));
  const lathe_module& table = made.module->table();
  grow(workspace_, workspace_bytes_, table.workspace_bytes);
  grow(workers_, worker_bytes_, table.worker_bytes * target_.threads());
  for (std::size_t n = 0; n < tasks_[task].nodes.size(); ++n)
    made.constants.push_back(chain_area(table.constant_bytes));
  prepare(task, made);
  return made;
}

void ModelChain::prepare(std::size_t task, const Programs& programs) {
  const lathe_module& table = programs.module->table();
  if (table.prepare == nullptr) return;
  for (std::size_t w = 0; w < tasks_[task].nodes.size(); ++w)
    table.prepare(pool_.runtime(), pointers_[place(tasks_[task].nodes[w])].data(),
                  programs.constants[w].get(), workspace_.get(), workers_.get());
}

void ModelChain::prepare(std::size_t task) { prepare(task, programs_[task]); }

ModelChain::Programs ModelChain::set(std::size_t task, Programs programs) {
  return std::exchange(programs_[task], std::move(programs));
}

void ModelChain::fill_random(std::uint64_t seed) {
  const ModelTensors inputs = random_inputs(graph_, seed);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    std::ranges::copy(inputs[i].bytes, elements(graph_.inputs[i]));
}

void ModelChain::run_node(std::size_t node) {
  const Place& at = place_of_[node];
  const Programs& programs = programs_[at.task];
  programs.module->table().run(pool_.runtime(), pointers_[node].data(),
                               programs.constants[at.within].get(), workspace_.get(),
                               workers_.get());
}

void ModelChain::call() {
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) run_node(n);
}

double ModelChain::time(double seconds) {
  constexpr std::size_t kFewest = 3;
  constexpr double kLongest = 4;  // times as long as was asked for
  const double began = seconds_now();
  std::vector<double> calls;
  const auto enough = [&](double past) {
    return past >= seconds && (calls.size() >= kFewest || past >= kLongest * seconds);
  };
  for (double now = began; calls.empty() || !enough(now - began);) {
    call();
    const double after = seconds_now();
    calls.push_back(after - now);
    now = after;
  }
  return quantile(std::move(calls), 0.25);
}

std::vector<ModelChain::Moment> ModelChain::moments(int calls) {
  std::vector<Moment> out;
  out.reserve(graph_.nodes.size() * static_cast<std::size_t>(calls));
  const double began = seconds_now();
  for (int call = 0; call < calls; ++call)
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const double begin = seconds_now();
      run_node(n);
      out.push_back({n, begin - began, seconds_now() - begin});
    }
  return out;
}

std::vector<double> ModelChain::node_times(double seconds) {
  std::vector<std::vector<double>> all(graph_.nodes.size());
  const double began = seconds_now();
  do {
    for (const Moment& moment : moments(1)) all[moment.node].push_back(moment.seconds);
  } while (seconds_now() - began < seconds);
  std::vector<double> medians;
  for (auto& times : all) medians.push_back(quantile(std::move(times), 0.5));
  return medians;
}

Status fill(ModelChain& chain, const graph::Graph& graph, const ScheduleSource& source,
            const Target& target, Checking checking) {
  const ScheduleSource sure = else_default(source);
  for (std::size_t t = 0; t < chain.tasks().size(); ++t) {
    const graph::Node& node = graph.nodes[place(chain.tasks()[t].nodes[0])];
    const Chosen chosen = LATHE_TRY(sure(node.expression, target));
    chain.set(t, LATHE_TRY(chain.build(t, chosen.trace, checking)));
  }
  return {};
}

}  // namespace lathe::api
