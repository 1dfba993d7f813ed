#include "graph/ir/print.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/ranges.h>

#include "compiler/te/work.h"

namespace lathe::graph {
namespace {

std::string shown(const Graph& graph, int id) {
  const Value& value = graph.value(id);
  return fmt::format("{}: {}", value.name, typed(value.dtype, value.shape));
}

// "cat", or "cat from 128" where it is a part of that.
std::string seen_of(const Graph& graph, const Value& view) {
  const Value& of = graph.value(*view.view_of);
  if (view.elements() == of.elements()) return of.name;
  return fmt::format("{} from {}", of.name, view.begin);
}

std::string list_of(const Graph& graph, const std::vector<int>& ids) {
  std::vector<std::string> texts;
  for (const int id : ids) texts.push_back(shown(graph, id));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string amount(double number, const char* unit) {
  for (const auto& [size, prefix] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")})
    if (number >= size) return fmt::format("{:.3g} {}{}", number / size, prefix, unit);
  return fmt::format("{:.0f} {}", number, unit);
}

}  // namespace

std::vector<Task> tasks_of(const Graph& graph) {
  std::map<std::string, std::size_t> places;
  std::vector<Task> tasks;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string key = te::workload_key(graph.nodes[n].expression);
    const auto [place, fresh] = places.emplace(key, tasks.size());
    if (fresh) tasks.push_back({std::move(key), {}});
    tasks[place->second].nodes.push_back(static_cast<int>(n));
  }
  return tasks;
}

std::string label_of(const Graph& graph, const Node& node) {
  const Value& made = graph.value(node.outputs[0]);
  return fmt::format("{} {}", node.op, typed(made.dtype, made.shape));
}

std::string label_of(const Graph& graph, const Task& task) {
  return label_of(graph, graph.nodes[place(task.nodes[0])]);
}

Totals totals_of(const Graph& graph) {
  Totals totals;
  for (const Node& node : graph.nodes) {
    totals.flops += te::flops(node.expression);
    totals.bytes += te::io_bytes(node.expression);
  }
  std::set<const std::byte*> counted;
  for (const Value& value : graph.values) {
    if (!value.constant || !is_float(value.dtype)) continue;
    if (!counted.insert(value.constant->bytes.data()).second) continue;
    totals.parameters += value.elements();
    totals.parameter_bytes += value.bytes();
  }
  return totals;
}

std::string summary(const Graph& graph) {
  const Totals totals = totals_of(graph);
  std::string text = fmt::format("model {}\n", graph.name);
  for (const int id : graph.inputs) text += "  input   " + shown(graph, id) + "\n";
  for (const int id : graph.outputs) text += "  output  " + shown(graph, id) + "\n";
  const std::vector<Task> tasks = tasks_of(graph);
  text += fmt::format("{} and {}; {} in {}; {} a run; {} read and written by nodes\n",
                      counted(graph.nodes.size(), "node"), counted(tasks.size(), "task"),
                      counted(static_cast<std::size_t>(totals.parameters), "parameter"),
                      amount(static_cast<double>(totals.parameter_bytes), "B"),
                      amount(totals.flops, "FLOP"), amount(totals.bytes, "B"));
  return text;
}

std::string print(const Graph& graph, const std::vector<std::string>& remarks) {
  std::string text;
  std::set<int> shown_views;
  const auto views = [&](int id, const char* is) {
    for (; graph.value(id).view_of && shown_views.insert(id).second; id = *graph.value(id).view_of)
      text += fmt::format("{} {} {}\n", shown(graph, id), is, seen_of(graph, graph.value(id)));
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const int id : node.inputs) views(id, "= view");
    for (const int id : node.outputs) views(id, "is made in");
    text += fmt::format("{} = {}({})  [{}{}]\n", list_of(graph, node.outputs), node.op,
                        list_of(graph, node.inputs), amount(te::flops(node.expression), "FLOP"),
                        remarks.empty() ? "" : ", " + remarks[n]);
  }
  for (const int id : graph.outputs) views(id, "= view");
  return text;
}

std::string print_tasks(const Graph& graph, const std::vector<TaskColumn>& more) {
  const std::vector<Task> tasks = tasks_of(graph);
  const auto work = [&](std::size_t t) {
    return te::flops(graph.nodes[place(tasks[t].nodes[0])].expression);
  };
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) {
    return work(t) * static_cast<double>(tasks[t].nodes.size());
  });
  std::string text = fmt::format("{:>5}  {:>12}  {:>10}  ", "count", "FLOP each", "bytes each");
  for (const TaskColumn& column : more) text += column.title + "  ";
  text += "task\n";
  for (const std::size_t t : order) {
    const Node& node = graph.nodes[place(tasks[t].nodes[0])];
    text += fmt::format("{:>5}  {:>12}  {:>10}  ", tasks[t].nodes.size(), amount(work(t), "FLOP"),
                        amount(te::io_bytes(node.expression), "B"));
    for (const TaskColumn& column : more) text += column.cells[t] + "  ";
    text += fmt::format(
        "{} -> {}, first in {}\n", node.op,
        typed(graph.value(node.outputs[0]).dtype, graph.value(node.outputs[0]).shape), node.name);
  }
  return text;
}

}  // namespace lathe::graph
