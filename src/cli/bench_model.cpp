#include "cli/bench_model.h"

#include "api/last_word.h"
#include "api/model_chain.h"
#include "api/model_floors.h"
#include "base/file.h"
#include "base/statistics.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/floor_text.h"
#include "cli/live_work.h"
#include "cli/open_model.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

constexpr double kSeconds = 0.1;  // of each round
constexpr int kRounds = 9;
constexpr int kTimelineCalls = 10;  // calls

struct Times {
  double median = 0, fastest = 0;  // seconds of the whole
  std::vector<double> nodes;
  std::vector<api::NodeFloor> floors;  // empty: they were not asked for
};

Times timed(api::ModelChain& chain) {
  chain.fill_random(1);
  chain.call();  // it touches the memory
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) rounds.push_back(chain.time(kSeconds));
  Times times;
  times.fastest = *std::ranges::min_element(rounds);
  times.median = quantile(std::move(rounds), 0.5);
  times.nodes = chain.node_times(kSeconds * kRounds);
  return times;
}

std::string shown_node(const graph::Graph& graph, const graph::Node& node) {
  const graph::Value& made = graph.value(node.outputs[0]);
  return fmt::format("{} -> {}, {}", node.op, graph::typed(made.dtype, made.shape), node.name);
}

std::string table(const graph::Graph& graph, const Times& times) {
  double sum = 0;
  for (const double node : times.nodes) sum += node;
  const bool floors = !times.floors.empty();
  std::string out = fmt::format("{:>10}  {:>6}  {:>12}  {}node\n", "time", "share", "rate",
                                floors ? floor_title() + "  " : "");
  for (std::size_t n = 0; n < times.nodes.size(); ++n)
    out += fmt::format("{:>10}  {:>4.1f} %  {:>12}  {}{}\n", time_text(times.nodes[n]),
                       100 * times.nodes[n] / sum,
                       rate_text(te::flops(graph.nodes[n].expression), times.nodes[n]),
                       floors ? floor_text(times.floors[n]) + "  " : "",
                       printable(shown_node(graph, graph.nodes[n])));
  return out + fmt::format("the model: {}, at best {}; its nodes add up to {}\n",
                           time_text(times.median), time_text(times.fastest), time_text(sum));
}

Json json_of(const graph::Graph& graph, const Times& times, const Target& target) {
  Json json = {{"model", graph.name},
               {"target", target.text()},
               {"seconds", times.median},
               {"fastest_seconds", times.fastest},
               {"nodes", Json::array()}};
  for (std::size_t n = 0; n < times.nodes.size(); ++n)
    json["nodes"].push_back({{"name", graph.nodes[n].name},
                             {"op", graph.nodes[n].op},
                             {"workload", te::workload_key(graph.nodes[n].expression)},
                             {"seconds", times.nodes[n]}});
  for (std::size_t n = 0; n < times.floors.size(); ++n)
    json["nodes"][n]["floor_seconds"] = {{"arithmetic", times.floors[n].arithmetic},
                                         {"memory", times.floors[n].memory}};
  return json;
}

// In Chromium's trace event format, which its tracing page and Perfetto show.
Status write_timeline(const std::string& path, const graph::Graph& graph, api::ModelChain& chain) {
  Json events = Json::array();
  for (const auto& [n, begin, seconds] : chain.moments(kTimelineCalls)) {
    const graph::Node& node = graph.nodes[n];
    const double flops = te::flops(node.expression);
    events.push_back({{"name", shown_node(graph, node)},
                      {"cat", node.op},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", begin * 1e6},
                      {"dur", seconds * 1e6},
                      {"args", {{"node", n}, {"gflops", flops / seconds / 1e9}}}});
  }
  return write_whole(path, dump({{"traceEvents", events}, {"displayTimeUnit", "ms"}}));
}

}  // namespace

Result<int> bench_model(const ModelBenchFlags& flags) {
  const OpenModel model =
      LATHE_TRY(open_model(flags.path, flags.shapes, flags.weights, flags.target, flags.schedule));
  const graph::Graph& graph = model.graph();
  const auto source = LATHE_TRY(api::source_of_model(graph, flags.schedule, flags.target));
  const auto chain = LATHE_TRY(api::ModelChain::make(graph, flags.target));
  const auto times = LATHE_TRY(
      with_live_line("building, checking and timing", [&](const auto& say) -> Result<Times> {
        LATHE_TRY_STATUS(api::fill(*chain, graph, source, flags.target, flags.checking));
        Times done = timed(*chain);
        if (flags.floors)
          done.floors = LATHE_TRY(api::node_floors(graph, flags.target, flags.jobs, say));
        if (!flags.timeline.empty())
          LATHE_TRY_STATUS(write_timeline(flags.timeline, graph, *chain));
        return done;
      }));
  if (flags.json) fmt::print("{}\n", dump(json_of(graph, times, flags.target)));
  else fmt::print("{}", table(graph, times));
  return kDone;
}

}  // namespace lathe::cli
