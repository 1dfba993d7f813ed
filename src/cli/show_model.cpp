#include "cli/show_model.h"

#include <optional>
#include <set>

#include "api/model.h"
#include "api/model_floors.h"
#include "api/model_times.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/floor_text.h"
#include "cli/live_work.h"
#include "cli/open_model.h"
#include "cli/results.h"
#include "compiler/te/parse.h"
#include "graph/ir/print.h"
#include "tuner/measure/device.h"

namespace lathe::cli {
namespace {

std::string expressions(const graph::Graph& graph) {
  std::string text;
  for (const graph::Node& node : graph.nodes)
    text += fmt::format("# {} ({})\n{}\n", node.name, node.op, te::print_workload(node.expression));
  return text;
}

// What is known of each task, in the order of graph::tasks_of().
struct Known {
  std::vector<graph::Task> tasks;
  std::vector<std::optional<api::Chosen>> recorded;
  std::vector<api::NodeFloor> floors;  // empty: they were not asked for
  int here = 0, elsewhere = 0;         // recorded on this machine, on another one
};

Result<Known> known_of(const graph::Graph& graph, const ModelShowFlags& flags) {
  Known known{graph::tasks_of(graph), {}, {}};
  known.recorded = LATHE_TRY(api::recorded_programs(graph, flags.records, flags.target));
  const std::string cpu = measure::machine_for(flags.target).cpu();
  std::set<std::string> notes;
  for (const auto& chosen : known.recorded) {
    if (!chosen) continue;
    ++(chosen->record->cpu == cpu ? known.here : known.elsewhere);
    if (!chosen->note.empty()) notes.insert(chosen->note);
  }
  for (const std::string& note : notes) complain(note);
  if (!flags.floors) return known;
  const auto nodes =
      LATHE_TRY(with_live_line("measuring floors", [&](const api::ModelProgress& progress) {
        return api::node_floors(graph, flags.target, flags.jobs, progress);
      }));
  for (const graph::Task& task : known.tasks)
    known.floors.push_back(nodes[graph::place(task.nodes[0])]);
  return known;
}

std::string records_line(const Known& known, const Target& target) {
  return fmt::format(
      "{} of {} on record for {}{}\n", known.here + known.elsewhere,
      counted(std::ssize(known.tasks), "task"), target.text(),
      known.elsewhere > 0 ? fmt::format(", {} of them of another machine", known.elsewhere) : "");
}

// "1.23 ms", with a star where the model took it in place of the best.
std::string recorded_text(const std::optional<api::Chosen>& chosen) {
  if (!chosen) return "none";
  return time_text(api::recorded_seconds(*chosen)) + (chosen->exchanged ? "*" : "");
}

std::vector<std::string> remarks_of(const graph::Graph& graph, const Known& known) {
  std::vector<std::string> out(graph.nodes.size());
  for (std::size_t t = 0; t < known.tasks.size(); ++t)
    for (const int n : known.tasks[t].nodes) {
      std::string& remark = out[graph::place(n)];
      remark = "recorded: " + recorded_text(known.recorded[t]);
      if (!known.floors.empty()) remark += ", floor: " + time_text(known.floors[t].seconds());
    }
  return out;
}

std::vector<graph::TaskColumn> task_columns(const Known& known) {
  graph::TaskColumn recorded{fmt::format("{:>10}", "recorded"), {}};
  for (const auto& chosen : known.recorded)
    recorded.cells.push_back(fmt::format("{:>10}", recorded_text(chosen)));
  if (known.floors.empty()) return {recorded};
  graph::TaskColumn floors{floor_title(), {}};
  for (const api::NodeFloor& floor : known.floors) floors.cells.push_back(floor_text(floor));
  return {recorded, floors};
}

// "2 MaxPool+Conv: one program, 1.23 ms on record, as several 1.40 ms", a line for each that
// computes something else.
std::string choices_lines(const std::vector<api::GroupChoice>& choices) {
  std::vector<std::pair<std::string, int>> lines;  // and how many nodes each is of
  for (const api::GroupChoice& choice : choices) {
    std::string line = choice.label + (choice.one ? ": one program" : ": several programs");
    if (choice.recorded)
      line += fmt::format("; {} on record as one, {} as several", time_text(choice.together),
                          time_text(choice.apart));
    else if (choice.together > 0)
      line += fmt::format("; as one it is guessed to take {:.2f} of the time",
                          choice.together / choice.apart);
    else line += "; not both are on record";
    const auto known = std::ranges::find(lines, line, &std::pair<std::string, int>::first);
    if (known == lines.end()) lines.emplace_back(std::move(line), 1);
    else ++known->second;
  }
  std::string text;
  for (const auto& [line, count] : lines) text += fmt::format("{:>5}  {}\n", count, line);
  return text.empty() ? text : "nodes that may be one program:\n" + text;
}

}  // namespace

bool names_model(const std::string& text) {
  return text.ends_with(".onnx") && text.find_first_of("[=;\n") == std::string::npos;
}

Status check_flags_of_model(const api::WorkloadRequest& request) {
  api::WorkloadRequest others = request;
  others.text.clear();
  others.shapes.clear();
  if (api::names_no_workload(others)) return {};
  return fail_at(request.text, ErrorKind::kInvalidArgument,
                 "a model takes --shape and --max-error alone of the flags of a workload; remove "
                 "the others");
}

Result<int> show_model(const ModelShowFlags& flags) {
  if (flags.what != "graph" && flags.what != "tasks" && flags.what != "text")
    return fail_at("--what", ErrorKind::kInvalidArgument,
                   "of a model there are graph, tasks and text (an expression for each node), not "
                   "'{}'",
                   flags.what);
  graph::Graph graph;
  std::vector<api::GroupChoice> choices;
  if (flags.after.empty()) {
    OpenModel open =
        LATHE_TRY(open_model(flags.path, flags.shapes, flags.weights, flags.target, flags.records));
    graph = std::move(open.weights.graph);
    choices = std::move(open.choices);
  } else {
    graph = LATHE_TRY(api::read_model(flags.path, flags.shapes, flags.after));
  }
  if (flags.what == "text") {
    fmt::print("{}", expressions(graph));
    return kDone;
  }
  const Known known = LATHE_TRY(known_of(graph, flags));
  std::string text = graph::summary(graph) + records_line(known, flags.target);
  text += choices_lines(choices);
  if (flags.what == "graph") text += "\n" + graph::print(graph, remarks_of(graph, known)) + "\n";
  fmt::print("{}{}", text, graph::print_tasks(graph, task_columns(known)));
  return kDone;
}

}  // namespace lathe::cli
