#include "cli/report/model.h"

#include <algorithm>

#include "base/embed.h"
#include "cli/report/html.h"
#include "cli/report/parts.h"
#include "cli/results.h"

LATHE_EMBED(lathe_report_model, LATHE_REPORT_FOLDER "/model.html")

namespace lathe::cli {
namespace {

// Pixels; page.css has them, too.
constexpr int kRow = 28, kColumn = 9, kLeastColumn = 3, kMostLanes = 200, kReach = 12;
constexpr int kColours = 8;

class ModelSection {
 public:
  ModelSection(const report::ModelReport& model, const std::map<std::string, std::string>& sections)
      : model_(model), sections_(sections) {
    for (const report::ModelTask& task : model.tasks) most_ = std::max(most_, task.seconds);
    if (model.columns * kColumn > kMostLanes)
      column_ = std::max(kLeastColumn, kMostLanes / model.columns);
  }

  std::string html() const {
    const std::string_view page(
        reinterpret_cast<const char*>(lathe_report_model_begin),
        static_cast<std::size_t>(lathe_report_model_end - lathe_report_model_begin));
    return filled(page, {{"name", escaped(model_.name)},
                         {"where", escaped(model_.target)},
                         {"summary", summary() + floors_text()},
                         {"width", std::to_string(width())},
                         {"lanes", lanes()},
                         {"rows", rows()},
                         {"tasks", tasks()},
                         {"details", details()}});
  }

 private:
  int width() const { return kReach + std::max(1, model_.columns) * column_; }

  std::string summary() const {
    const auto tasks = std::ssize(model_.tasks);
    const auto recorded = std::ranges::count_if(
        model_.tasks, [](const report::ModelTask& task) { return task.recorded.has_value(); });
    std::string out = fmt::format("{}, {}. By the times of its tasks a run takes {}",
                                  counted(std::ssize(model_.nodes), "node"), counted(tasks, "task"),
                                  time_text(model_.seconds));
    if (recorded == tasks) return out + "; all of them are on record.";
    const std::string others =
        "have their default programs, whose times the analytic model guesses: they may be far off.";
    if (recorded == 0) return out + "; none of them is on record, and all " + others;
    return out +
           fmt::format("; {} of them are on record, with {} of that. The others {}", recorded,
                       percent_text(model_.recorded_seconds / std::max(model_.seconds, 1e-30)),
                       others);
  }

  bool has_floors() const { return !model_.tasks.empty() && model_.tasks[0].floor; }
  std::string floors_text() const {
    if (!has_floors()) return "";
    return " Strokes mark how fast each could be here by its arithmetic, or by moving its inputs "
           "and "
           "outputs once; algorithms that multiply less may be faster.";
  }

  int x_of(const report::ModelLane& lane) const { return width() - kReach - lane.column * column_; }

  // A line down, one from each maker below the middle of its row, and arrows to readers above it.
  std::string lane_html(const report::ModelLane& lane) const {
    constexpr int kAside = 5;
    const auto middle = [](int row) { return row * kRow + kRow / 2; };
    const int x = x_of(lane), edge = width();
    const bool made_first = lane.makers.front() <= lane.readers.front();
    const bool made_last = lane.makers.back() > lane.readers.back();
    std::string path =
        fmt::format("M{} {}V{}", x, middle(lane.begin()) + (made_first ? kAside : -kAside),
                    middle(lane.end()) + (made_last ? kAside : -kAside));
    for (const int row : lane.makers)
      path += fmt::format("M{} {}H{}", edge, middle(row) + kAside, x);
    std::string rows;
    for (const int row : lane.readers) {
      path += fmt::format("M{0} {1}H{2}m-4 -3l4 3l-4 3", x, middle(row) - kAside, edge);
      rows += fmt::format("{} ", row);
    }
    for (const int row : lane.makers) rows += fmt::format("{} ", row);
    return fmt::format(
        "<path class=\"lane\" data-rows=\"{}\" style=\"--c: var(--c{})\" d=\"{}\">"
        "<title>{}</title></path>\n",
        rows, lane.column % kColours, path, escaped(lane.value));
  }

  std::string lanes() const {
    std::string out = fmt::format("<svg width=\"{}\" height=\"{}\" aria-hidden=\"true\">\n",
                                  width(), kRow * std::ssize(model_.next));
    for (const report::ModelLane& lane : model_.lanes) out += lane_html(lane);
    return out + "</svg>\n";
  }

  const char* linked(std::size_t row) const { return model_.next[row] ? " linked" : ""; }

  std::string border(const std::string& what, const std::string& value, std::size_t row) const {
    return fmt::format(
        "<li class=\"row{}\" data-row=\"{}\"><span class=\"node border\"><b>{}</b> "
        "<span>{}</span></span></li>\n",
        linked(row), row, what, escaped(value));
  }

  std::string node_row(std::size_t n) const {
    const report::ModelNode& node = model_.nodes[n];
    const report::ModelTask& task = model_.tasks[node.task];
    const std::size_t row = model_.inputs.size() + n;
    return fmt::format(
        "<li class=\"row{}\" data-row=\"{}\"><a class=\"node{}\" href=\"#n{}\" data-task=\"{}\" "
        "style=\"--share: {:.4f}\"><b>{}</b> <span>{}</span> <time>{}</time>{}</a></li>\n",
        linked(row), row, task.recorded ? "" : " guessed", n, node.task, of_most(task.seconds),
        escaped(node.op), escaped(node.made), seconds_text(task), floor_mark(task));
  }

  double of_most(double seconds) const { return most_ > 0 ? std::min(1.0, seconds / most_) : 0; }

  // A stroke where the bar could end.
  std::string floor_mark(const report::ModelTask& task) const {
    if (!task.floor) return "";
    return fmt::format("<i style=\"left: {:.2f}%\"></i>", 100 * of_most(task.floor->seconds()));
  }

  std::string rows() const {
    std::string out;
    std::size_t row = 0;
    for (const std::string& input : model_.inputs) out += border("input", input, row++);
    for (std::size_t n = 0; n < model_.nodes.size(); ++n, ++row) out += node_row(n);
    for (const std::string& output : model_.outputs) out += border("output", output, row++);
    return out;
  }

  static std::string seconds_text(const report::ModelTask& task) {
    if (task.seconds <= 0) return "–";
    return (task.recorded ? "" : "≈ ") + time_text(task.seconds);
  }

  static std::string standing(const report::ModelTask& task) {
    if (!task.recorded) return "guessed";
    std::string out = task.recorded->record->raced ? "raced" : "measured";
    if (task.elsewhere) out += ", elsewhere";
    if (task.recorded->exchanged) out += ", exchanged";
    return out;
  }

  double share(double seconds) const { return model_.seconds > 0 ? seconds / model_.seconds : 0; }

  std::string tasks() const {
    std::vector<Column> columns = {{"Task"}, {"Nodes", true}, {"Of a run", true}, {"A call", true}};
    if (has_floors()) columns.push_back({"Floor", true});
    columns.push_back({"Time is"});
    Table table(std::move(columns));
    for (std::size_t t = 0; t < model_.tasks.size(); ++t) {
      const report::ModelTask& task = model_.tasks[t];
      table.words(fmt::format("<a href=\"#n{}\" data-task=\"{}\">{}</a>", task.nodes[0], t,
                              escaped(task.label)));
      table.number(static_cast<double>(task.nodes.size()), std::to_string(task.nodes.size()));
      table.number(task.total(), percent_text(share(task.total())));
      table.number(task.seconds, seconds_text(task));
      if (has_floors()) table.number(task.floor->seconds(), time_text(task.floor->seconds()));
      table.text(standing(task));
    }
    return table.html(true, true);
  }

  static std::string record_text(const report::ModelTask& task) {
    if (!task.recorded)
      return "No record: the default program, whose time the analytic model guesses.";
    const store::Record& record = *task.recorded->record;
    std::string out = fmt::format("The best program, trial {} of run {}, {}.", record.index,
                                  record.run, escaped(date_text(record.time)));
    if (const auto& exchanged = task.recorded->exchanged) {
      out =
          "The model took another program than the best one on record, as it is faster among the "
          "others";
      if (exchanged->gain > 0)
        out += fmt::format(": that saved {} of a run", percent_text(exchanged->gain));
      out += ".";
    }
    if (task.elsewhere)
      out += " It was timed on another machine, " + escaped(record.fingerprint) + ".";
    if (!task.recorded->note.empty()) out += " Note: " + escaped(task.recorded->note) + ".";
    return out;
  }

  std::string program_text(const report::ModelTask& task) const {
    const auto section = sections_.find(task.key);
    if (section == sections_.end()) return record_text(task);
    return fmt::format("{} <a href=\"#{}\">Its runs, knobs and programs</a>", record_text(task),
                       section->second);
  }

  static std::string values(const char* what, const std::vector<std::string>& values) {
    std::string out;
    for (const std::string& value : values)
      out += fmt::format("<dt>{}</dt><dd><code>{}</code></dd>\n", what, escaped(value));
    return out;
  }

  std::string details() const {
    std::string out;
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      const report::ModelNode& node = model_.nodes[n];
      const report::ModelTask& task = model_.tasks[node.task];
      const std::string rate =
          task.seconds > 0 && task.flops > 0 ? ", " + rate_text(task.flops, task.seconds) : "";
      const std::string others =
          task.nodes.size() > 1
              ? fmt::format(", one task with {}", counted(std::ssize(task.nodes) - 1, "other node"))
              : "";
      const std::string floor =
          task.floor
              ? fmt::format(", floor {} by {}", time_text(task.floor->seconds()),
                            task.floor->arithmetic > task.floor->memory ? "arithmetic" : "memory")
              : "";
      out += fmt::format(
          "<div class=\"detail\" id=\"n{}\">\n<h4>{} <small>{}</small></h4>\n<p><b>{}</b>, {} of a "
          "run{}{}{}</p>\n<p>{}</p>\n<pre>{}</pre>\n<dl class=\"values\">\n{}{}</dl>\n</div>\n",
          n, escaped(node.op), escaped(node.name), seconds_text(task),
          percent_text(share(task.seconds)), rate, floor, others, program_text(task),
          escaped(node.expression), values("reads", node.inputs), values("makes", node.outputs));
    }
    return out;
  }

  const report::ModelReport& model_;
  const std::map<std::string, std::string>& sections_;
  double most_ = 0;  // seconds of the slowest node
  int column_ = kColumn;
};

}  // namespace

std::string model_section(const report::ModelReport& model,
                          const std::map<std::string, std::string>& sections) {
  return ModelSection(model, sections).html();
}

}  // namespace lathe::cli
