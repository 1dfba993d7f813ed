// A model's rows, the lanes beside them, and the times of its tasks.
#include "api/report/model_report.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "api/targets.h"
#include "graph/passes/passes.h"
#include "support/graph_writer.h"
#include "support/random_graph.h"
#include "support/temporary_folder.h"
#include "tuner/measure/device.h"
#include "tuner/store/store.h"

namespace lathe::report {
namespace {

using graph::place;

class Models : public testing::Test {
 protected:
  ModelReport described(const graph::Graph& graph) const {
    auto out = describe_model(graph, {.which = "best", .database = database_}, target_);
    EXPECT_TRUE(out) << out.error().text();
    return std::move(*out);
  }
  const test::TemporaryFolder folder_;
  const std::string database_ = folder_.at("records.db");
  const Target target_ = *api::make_target("cpu:host", 1);
};

// x -> relu -> exp -> + relu's, and exp again: relu is read by the next node and by one further.
graph::Graph residual() {
  test::GraphWriter w;
  const int x = w.input({13, 7});
  const auto after = [&](int id, const std::string& body) {
    return w.node("Op", "X: f32[91]; Y[i] = " + body, {id}, {13, 7});
  };
  const int a = after(x, "max(X[i], 0)"), b = after(a, "exp(X[i])");
  const int c = w.node("Add", "X: f32[91]; Z: f32[91]; Y[i] = X[i] + Z[i]", {b, a}, {13, 7});
  return w.finish({after(c, "exp(X[i])")});
}

TEST_F(Models, RowsAndLanes) {
  const ModelReport model = described(residual());
  ASSERT_EQ(model.nodes.size(), 4U);
  EXPECT_EQ(model.inputs, std::vector<std::string>{"v0: f32[13,7]"});
  EXPECT_EQ(model.next, (std::vector<bool>{true, true, true, true, true, false}));
  // Relu in row 1 is read by row 2, which needs no line, and by row 3.
  ASSERT_EQ(model.lanes.size(), 1U);
  EXPECT_EQ(model.lanes[0].makers, std::vector<int>{1});
  EXPECT_EQ(model.lanes[0].readers, std::vector<int>{3});
  EXPECT_EQ(model.lanes[0].value, "v1: f32[13,7]");
  EXPECT_EQ(model.nodes[2].inputs, (std::vector<std::string>{"v2: f32[13,7]", "v1: f32[13,7]"}));
  EXPECT_EQ(model.nodes[1].task, model.nodes[3].task) << "equal nodes are one task";
}

TEST_F(Models, WithoutRecordsTimesAreGuessed) {
  const ModelReport model = described(residual());
  ASSERT_EQ(model.tasks.size(), 3U);
  double sum = 0;
  for (const ModelTask& task : model.tasks) {
    EXPECT_FALSE(task.recorded);
    EXPECT_GT(task.seconds, 0);
    sum += task.total();
  }
  EXPECT_DOUBLE_EQ(model.seconds, sum);
  EXPECT_EQ(model.recorded_seconds, 0);
  EXPECT_TRUE(std::ranges::is_sorted(model.tasks, std::greater(), &ModelTask::total));
}

TEST_F(Models, RecordsAreTaken) {
  const graph::Graph graph = residual();
  const std::string key = te::workload_key(graph.nodes[1].expression);
  {
    const auto store = *store::open_sqlite(database_);
    store::Run run{.workload = key, .target = target_.text(), .space = "default"};
    run = *store->open_run(run);
    std::vector<store::Record> records(1);
    records[0].run = run.id;
    records[0].workload = key;
    records[0].target = run.target;
    records[0].cpu = measure::machine_for(target_).cpu();
    records[0].trace = Json::array();
    records[0].config = Json::object();
    records[0].codegen_version = *api::codegen_version(target_);
    records[0].seconds = 0.25;
    ASSERT_TRUE(store->add(records));
  }
  const ModelReport model = described(graph);
  const ModelTask& first = model.tasks[0];
  EXPECT_EQ(first.key, key);
  ASSERT_TRUE(first.recorded);
  EXPECT_FALSE(first.elsewhere);
  EXPECT_FALSE(first.recorded->exchanged);
  EXPECT_EQ(first.nodes, (std::vector<int>{1, 3}));
  EXPECT_DOUBLE_EQ(first.total(), 0.5);
  EXPECT_DOUBLE_EQ(model.recorded_seconds, 0.5);
}

// Rows that a lane passes, or ends in.
bool crosses(const ModelLane& a, const ModelLane& b) {
  return a.column == b.column && a.begin() <= b.end() && b.begin() <= a.end();
}

TEST_F(Models, OfRandomGraphsEveryReadIsShownAndLanesDoNotMeet) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    graph::Graph graph = test::RandomGraph(rng).make();
    if (seed % 2 == 1) ASSERT_TRUE(graph::run_passes(graph));
    const ModelReport model = described(graph);
    const auto inputs = static_cast<int>(graph.inputs.size());
    ASSERT_EQ(model.next.size(), graph.inputs.size() + graph.nodes.size() + graph.outputs.size());
    std::map<int, std::vector<int>> makers;  // rows, by storage
    for (int i = 0; i < inputs; ++i) makers[graph.storage_of(graph.inputs[place(i)])].push_back(i);
    const auto shown = [&](int storage, int row) {
      const std::vector<int>& made = makers[storage];
      if (made == std::vector{row - 1}) return model.next[place(row - 1)] == true;
      return std::ranges::any_of(model.lanes, [&](const ModelLane& lane) {
        return lane.makers.front() == made.front() && std::ranges::count(lane.readers, row) == 1;
      });
    };
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const int row = inputs + static_cast<int>(n);
      for (const int id : graph.nodes[n].inputs)
        if (!graph.value(graph.storage_of(id)).constant)
          EXPECT_TRUE(shown(graph.storage_of(id), row)) << "row " << row;
      for (const int id : graph.nodes[n].outputs) makers[graph.storage_of(id)].push_back(row);
    }
    for (std::size_t a = 0; a < model.lanes.size(); ++a) {
      EXPECT_LT(model.lanes[a].column, model.columns);
      for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(crosses(model.lanes[a], model.lanes[b]));
    }
  }
}

}  // namespace
}  // namespace lathe::report
