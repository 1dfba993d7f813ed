#include "api/report/model_report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "api/model_times.h"
#include "compiler/te/parse.h"
#include "compiler/te/work.h"
#include "graph/ir/print.h"
#include "tuner/measure/device.h"

namespace lathe::report {
namespace {

using graph::place;

std::string typed_name(const graph::Graph& graph, int id) {
  const graph::Value& value = graph.value(id);
  return fmt::format("{}: {}", value.name, graph::typed(value.dtype, value.shape));
}

std::vector<std::string> typed_names(const graph::Graph& graph, const std::vector<int>& ids) {
  std::vector<std::string> out;
  for (const int id : ids)
    out.push_back(typed_name(graph, id) +
                  (graph.value(graph.storage_of(id)).constant ? ", constant" : ""));
  return out;
}

// What each row reads and makes.
struct Row {
  std::vector<graph::Range> reads, makes;
};

std::vector<Row> rows_of(const graph::Graph& graph) {
  std::vector<Row> rows;
  const auto ranges = [&](const std::vector<int>& ids) {
    std::vector<graph::Range> out;
    for (const int id : ids) {
      const graph::Range range = graph.range_of(id);
      if (!graph.value(range.storage).constant) out.push_back(range);
    }
    return out;
  };
  for (const int id : graph.inputs) rows.push_back({{}, ranges({id})});
  for (const graph::Node& node : graph.nodes)
    rows.push_back({ranges(node.inputs), ranges(node.outputs)});
  for (const int id : graph.outputs) rows.push_back({ranges({id}), {}});
  return rows;
}

bool reads_of(const Row& row, const Row& before) {
  return std::ranges::any_of(row.reads, [&](const graph::Range& read) {
    return std::ranges::any_of(
        before.makes, [&](const graph::Range& made) { return graph::overlap(read, made); });
  });
}

// A lane for each storage that not just the row after its maker reads.
std::vector<ModelLane> lanes_of(const graph::Graph& graph, const std::vector<Row>& rows) {
  std::map<int, ModelLane> by_storage;
  const auto add = [](std::vector<int>& to, std::size_t row) {
    if (to.empty() || to.back() != static_cast<int>(row)) to.push_back(static_cast<int>(row));
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const graph::Range& made : rows[r].makes) add(by_storage[made.storage].makers, r);
    for (const graph::Range& read : rows[r].reads) add(by_storage[read.storage].readers, r);
  }
  std::vector<ModelLane> lanes;
  for (auto& [storage, lane] : by_storage) {
    if (lane.makers.empty() || lane.readers.empty()) continue;
    if (lane.makers.size() == 1) std::erase(lane.readers, lane.makers[0] + 1);
    if (lane.readers.empty()) continue;
    lane.value = typed_name(graph, storage);
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

// Short lanes come nearest to the rows. Returns how many columns there are.
int place_lanes(std::vector<ModelLane>& lanes) {
  std::vector<std::size_t> order(lanes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t l) { return lanes[l].end() - lanes[l].begin(); });
  std::vector<std::map<int, int>> columns;  // from where each of its lanes begins to its end
  const auto free_in = [](const std::map<int, int>& taken, const ModelLane& lane) {
    const auto after = taken.upper_bound(lane.end());
    return after == taken.begin() || std::prev(after)->second < lane.begin();
  };
  for (const std::size_t l : order) {
    std::size_t column = 0;
    while (column < columns.size() && !free_in(columns[column], lanes[l])) ++column;
    if (column == columns.size()) columns.emplace_back();
    columns[column][lanes[l].begin()] = lanes[l].end();
    lanes[l].column = static_cast<int>(column);
  }
  return static_cast<int>(columns.size());
}

ModelTask task_of(const graph::Graph& graph, const graph::Task& task) {
  ModelTask out{.key = task.key, .label = graph::label_of(graph, task), .nodes = task.nodes};
  out.flops = te::flops(graph.nodes[place(task.nodes[0])].expression);
  return out;
}

Result<std::vector<ModelTask>> timed_tasks(const graph::Graph& graph,
                                           const api::ScheduleRequest& records,
                                           const Target& target) {
  auto recorded = LATHE_TRY(api::recorded_programs(graph, records, target));
  const std::vector<double> seconds = api::recorded_or_guessed(graph, recorded, target);
  const std::string cpu = measure::machine_for(target).cpu();
  std::vector<ModelTask> out;
  for (const graph::Task& task : graph::tasks_of(graph)) {
    const std::size_t t = out.size();
    out.push_back(task_of(graph, task));
    out[t].seconds = seconds[t];
    out[t].elsewhere = recorded[t] && recorded[t]->record->cpu != cpu;
    out[t].recorded = std::move(recorded[t]);
  }
  std::ranges::stable_sort(out, std::greater(), &ModelTask::total);
  return out;
}

}  // namespace

int ModelLane::begin() const { return std::min(makers.front(), readers.front()); }
int ModelLane::end() const { return std::max(makers.back(), readers.back()); }

Result<ModelReport> describe_model(const graph::Graph& graph, const api::ScheduleRequest& records,
                                   const Target& target) {
  ModelReport out{.name = graph.name, .target = target.text()};
  out.inputs = typed_names(graph, graph.inputs);
  out.outputs = typed_names(graph, graph.outputs);
  for (const graph::Node& node : graph.nodes) {
    const graph::Value& made = graph.value(node.outputs[0]);
    out.nodes.push_back({0, node.op, node.name, graph::typed(made.dtype, made.shape),
                         typed_names(graph, node.inputs), typed_names(graph, node.outputs),
                         te::print_workload(node.expression)});
  }
  out.tasks = LATHE_TRY(timed_tasks(graph, records, target));
  for (std::size_t t = 0; t < out.tasks.size(); ++t) {
    for (const int n : out.tasks[t].nodes) out.nodes[place(n)].task = t;
    out.seconds += out.tasks[t].total();
    if (out.tasks[t].recorded) out.recorded_seconds += out.tasks[t].total();
  }
  const std::vector<Row> rows = rows_of(graph);
  for (std::size_t r = 0; r < rows.size(); ++r)
    out.next.push_back(r + 1 < rows.size() && reads_of(rows[r + 1], rows[r]));
  out.lanes = lanes_of(graph, rows);
  out.columns = place_lanes(out.lanes);
  return out;
}

}  // namespace lathe::report
