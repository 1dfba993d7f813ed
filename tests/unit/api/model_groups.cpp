// Nodes as one program or several: both compute the same, and records say which the model has.
#include "api/model_groups.h"

#include <gtest/gtest.h>

#include "api/model_check.h"
#include "api/targets.h"
#include "api/workload.h"
#include "graph/ir/print.h"
#include "graph/passes/passes.h"
#include "support/anchors.h"
#include "support/temporary_folder.h"
#include "unit/api/naive_record.h"

namespace lathe::api {
namespace {

Target host_with(int threads) { return *make_target("cpu:host", threads); }

// A configuration of the space for each workload, with the rows of several stages together where it
// has such.
ScheduleSource random_programs(Rng& rng) {
  return [&rng](const te::Workload& workload, const Target& target) -> Result<Chosen> {
    const auto space = LATHE_TRY(space_of_key(workload, target, space::Flavour::kDefault));
    space::Config config = space->random(rng);
    for (int tries = 0; tries < 20 && space->describe(config).contains("rows=apart"); ++tries)
      config = space->random(rng);
    return Chosen{space->trace(config), target, std::nullopt, ""};
  };
}

TEST(ModelGroups, OneProgramComputesWhatSeveralDo) {
  std::size_t joined = 0;
  for (std::uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    Rng rng(seed);
    graph::Graph graph = test::RandomAnchors(rng).make(11, 37);
    ASSERT_TRUE(graph::run_passes(graph));
    const auto taken = test::some_apart(graph::unions_of(graph, 0), 1, rng);
    const graph::Graph one = graph::united(graph, taken);
    joined += taken.size();
    const Target target = host_with(seed % 3 == 0 ? 2 : 1);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, graph::print(one)));
    for (const graph::Graph* made : {&std::as_const(graph), &one}) {
      const auto program = model_program(*made, random_programs(rng), target, Checking::kSkip,
                                         [](const std::string&) {});
      ASSERT_TRUE(program) << program.error().text();
      const auto checked = check_model(graph, *program);
      EXPECT_TRUE(checked) << checked.error().text();
    }
  }
  EXPECT_GT(joined, 5U);
}

// A window, a product and a window, with much between them.
graph::Graph network() {
  Rng rng(1);
  test::GraphWriter w;
  int x = test::depthwise(w, w.input({1, 96, 96, 16}), 3, 1, rng);
  x = test::pointwise(w, x, 16, rng);
  graph::Graph graph = w.finish({test::depthwise(w, x, 3, 1, rng)});
  EXPECT_TRUE(graph::run_passes(graph));
  return graph;
}

class ModelGroupsTest : public ::testing::Test {
 protected:
  void record(const te::Workload& workload, double seconds, const std::string& cpu = "",
              int threads = 1) {
    store::Record made =
        naive_record(*store_, te::workload_key(workload), host_with(threads), seconds);
    made.index = ++records_;
    if (!cpu.empty()) made.cpu = made.fingerprint = cpu;
    made.program_hash = fmt::format("program {}", records_);
    std::vector<store::Record> all = {made};
    ASSERT_TRUE(store_->add(all));
  }

  ChosenGroups chosen(const graph::Graph& graph, int threads = 1) {
    auto made = choose_groups(graph, {.which = "best", .database = path_}, host_with(threads));
    EXPECT_TRUE(made) << made.error().text();
    EXPECT_TRUE(graph::verify(made->graph));
    return std::move(*made);
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.at("records.db");
  const std::unique_ptr<store::Store> store_ = *store::open_sqlite(path_);
  int records_ = 0;
};

TEST_F(ModelGroupsTest, TimesOnRecordDecide) {
  const graph::Graph graph = network();
  const auto offered = graph::unions_of(graph);
  ASSERT_EQ(offered.size(), 2U);
  for (const graph::Node& node : graph.nodes) record(node.expression, 1e-3);
  EXPECT_EQ(chosen(graph).graph.nodes.size(), 3U);  // together nothing is known
  record(offered[0].node.expression, 2.1e-3);
  const ChosenGroups slower = chosen(graph);
  EXPECT_TRUE(slower.choices[0].recorded);
  EXPECT_FALSE(slower.choices[0].one);
  EXPECT_FALSE(slower.choices[1].recorded);
  EXPECT_DOUBLE_EQ(slower.choices[0].together, 2.1e-3);
  EXPECT_DOUBLE_EQ(slower.choices[0].apart, 2e-3);
  record(offered[0].node.expression, 1.8e-3);
  const ChosenGroups faster = chosen(graph);
  EXPECT_TRUE(faster.choices[0].one);
  ASSERT_EQ(faster.graph.nodes.size(), 2U);
  EXPECT_EQ(faster.graph.nodes[0].op, "Depthwise+Pointwise");
  // Of two that share a node, the one that gains more.
  record(offered[1].node.expression, 1.5e-3);
  const ChosenGroups other = chosen(graph);
  EXPECT_FALSE(other.choices[0].one);
  EXPECT_TRUE(other.choices[1].one);
  ASSERT_EQ(other.graph.nodes.size(), 2U);
  EXPECT_EQ(other.graph.nodes[1].op, "Pointwise+Depthwise");
}

TEST_F(ModelGroupsTest, OnlyTimesOfOneKindCompare) {
  const graph::Graph graph = network();
  const auto offered = graph::unions_of(graph);
  for (const graph::Node& node : graph.nodes) record(node.expression, 1e-3);
  record(offered[0].node.expression, 1e-3, "another machine");
  EXPECT_EQ(chosen(graph).graph.nodes.size(), 3U);
  for (const graph::Node& node : graph.nodes) record(node.expression, 1e-3, "", 2);
  EXPECT_EQ(chosen(graph, 2).graph.nodes.size(), 3U);
  record(offered[0].node.expression, 1e-3, "", 2);
  EXPECT_EQ(chosen(graph, 2).graph.nodes.size(), 2U);
}

TEST_F(ModelGroupsTest, WithoutRecordsThereAreSeveral) {
  const graph::Graph graph = network();
  for (const char* which : {"best", "default", "naive"}) {
    const auto made = choose_groups(graph, {.which = which, .database = path_}, host_with(1));
    ASSERT_TRUE(made) << made.error().text();
    for (const GroupChoice& choice : made->choices) {
      EXPECT_FALSE(choice.recorded);
      EXPECT_FALSE(choice.one);  // little lies between
      EXPECT_EQ(choice.together, 0);
    }
  }
}

// Scores of two heads, which are larger than the caches of a core.
TEST_F(ModelGroupsTest, AGuessMaySayThatMuchBetweenIsWorthOneProgram) {
  test::GraphWriter w;
  const int scores = test::heads_product(w, w.input({2, 1024, 8}), w.input({2, 8, 1024}));
  const int y = test::heads_product(w, test::softmax(w, scores), w.input({2, 1024, 8}));
  graph::Graph graph = w.finish({y});
  ASSERT_TRUE(graph::run_passes(graph));
  const ChosenGroups made = chosen(graph);
  ASSERT_EQ(made.choices.size(), 1U);
  EXPECT_FALSE(made.choices[0].recorded);
  EXPECT_GT(made.choices[0].together, 0);
  EXPECT_GT(made.choices[0].apart, 0);
}

}  // namespace
}  // namespace lathe::api
