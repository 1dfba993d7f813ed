// A model as a whole: its check against a reference, and the last word on its programs.
#include <utility>

#include <gtest/gtest.h>

#include "api/last_word.h"
#include "api/model_chain.h"
#include "api/model_check.h"
#include "api/model_times.h"
#include "api/targets.h"
#include "api/workload.h"
#include "compiler/te/parse.h"
#include "graph/passes/passes.h"
#include "support/graph_writer.h"
#include "support/temporary_folder.h"
#include "unit/api/naive_record.h"

namespace lathe::api {
namespace {

Target here() { return *make_target("cpu:host", 1); }

// Products with what follows them, of which two are one task.
graph::Graph network(std::uint64_t seed, std::int64_t rows) {
  Rng rng(seed);
  test::GraphWriter w;
  const int weight = w.constant({31, 31}, rng);
  int x = w.input({rows, 31});
  for (const int by : {weight, w.constant({31, 31}, rng)})
    x = test::unary(w, test::product(w, x, by), "tanh({} * 0.125)");
  graph::Graph graph = w.finish({test::unary(w, test::product(w, x, weight), "max({}, 0)"), x});
  EXPECT_TRUE(graph::run_passes(graph));
  return graph;
}

Result<ModelProgram> program_of(const graph::Graph& graph) {
  const auto source = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
  return model_program(graph, source, here(), Checking::kSkip, [](const std::string&) {});
}

TEST(ModelCheck, AgreesWithTheReference) {
  for (const std::int64_t rows : {1, 7, 16}) {
    const graph::Graph graph = network(3, rows);
    const auto made = program_of(graph);
    ASSERT_TRUE(made) << made.error().text();
    const auto checked = check_model(graph, *made);
    ASSERT_TRUE(checked) << checked.error().text();
    EXPECT_GT(checked->error, 0);
    EXPECT_LT(checked->error, 1e-6);
    EXPECT_GT(checked->elements, 100);
  }
}

TEST(ModelCheck, FindsAProgramThatComputesSomethingElse) {
  const auto wrong = program_of(network(4, 7));  // with other weights
  ASSERT_TRUE(wrong);
  const auto checked = check_model(network(3, 7), *wrong);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kWrongAnswer);
  EXPECT_NE(checked.error().message.find("is off by"), std::string::npos);
}

TEST(ModelCheck, FindsWhatIsInfiniteOrNoNumber) {
  Rng rng(1);
  test::GraphWriter w;
  const int x = w.input({5, 7});
  const graph::Graph right = w.finish({test::unary(w, x, "{} + 1")});
  for (const char* body : {"{0} + 1 + 0 / ({0} - {0})", "{0} + 1 + 1 / abs({0} - {0})"}) {
    test::GraphWriter other;
    const int y = other.input({5, 7});
    const auto made = program_of(other.finish({test::unary(other, y, body)}));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_FALSE(check_model(right, *made)) << body;
  }
}

TEST(ModelChain, TimesItsNodes) {
  const graph::Graph graph = network(3, 16);
  const auto chain = ModelChain::make(graph, here());
  ASSERT_TRUE(chain);
  const auto source = *schedule_source({.which = "default", .database = {}});
  ASSERT_TRUE(fill(**chain, graph, source, here(), Checking::kSkip));
  (*chain)->fill_random(1);
  (*chain)->call();
  EXPECT_GT((*chain)->time(0.001), 0);
  EXPECT_EQ((*chain)->node_times(0.001).size(), graph.nodes.size());
}

class LastWordTest : public ::testing::Test {
 protected:
  // The naive loops stand before the default program on record, as if they had been faster alone.
  void record(const graph::Graph& graph) {
    const auto otherwise = *schedule_source({.which = "default", .database = {}});
    for (const graph::Task& task : graph::tasks_of(graph)) {
      const te::Workload& workload = graph.nodes[graph::place(task.nodes[0])].expression;
      const store::Record naive = naive_record(*store_, task.key, here(), 1e-6);
      store::Record usual = naive;
      usual.index = 1;
      usual.trace = schedule::to_json(otherwise(workload, here())->trace);
      usual.seconds = 1.1e-6;
      usual.program_hash = "usual";
      std::vector<store::Record> records = {naive, usual};
      ASSERT_TRUE(store_->add(records));
    }
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.at("records.db");
  const std::unique_ptr<store::Store> store_ = *store::open_sqlite(path_);
};

TEST_F(LastWordTest, ExchangesWhatIsSlowInTheWhole) {
  const graph::Graph graph = network(3, 64);
  record(graph);
  const auto said = have_last_word(graph, *store_, {.target = here(), .seconds = 60});
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_EQ(said->tried, 2);
  ASSERT_EQ(said->exchanges.size(), 2U);
  EXPECT_LT(said->after, said->before);

  const ScheduleRequest request{.which = "best", .database = path_};
  const auto chosen = source_of_model(graph, request, here());
  ASSERT_TRUE(chosen) << chosen.error().text();
  const te::Workload& first = graph.nodes[0].expression;
  EXPECT_FALSE((*chosen)(first, here())->trace.empty());
  EXPECT_TRUE((*schedule_source(request))(first, here())->trace.empty());
  // What it gained is kept, and the time is that of the program that is there now.
  const auto programs = recorded_programs(graph, request, here());
  ASSERT_TRUE(programs) << programs.error().text();
  const auto tasks = graph::tasks_of(graph);
  ASSERT_EQ(programs->size(), tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const auto exchange = std::ranges::find(said->exchanges, tasks[t].key, &Exchange::workload);
    ASSERT_NE(exchange, said->exchanges.end());
    ASSERT_TRUE((*programs)[t] && (*programs)[t]->exchanged) << t;
    EXPECT_DOUBLE_EQ((*programs)[t]->exchanged->gain, exchange->gain);
    EXPECT_GT((*programs)[t]->exchanged->seconds, (*programs)[t]->record->seconds);
    EXPECT_EQ(recorded_seconds(*(*programs)[t]), (*programs)[t]->exchanged->seconds);
  }
  // The next time it begins from there.
  const auto again = have_last_word(graph, *store_, {.target = here(), .seconds = 60});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->tried, 2);
  EXPECT_TRUE(again->exchanges.empty());
  EXPECT_FALSE((*source_of_model(graph, request, here()))(first, here())->trace.empty());
  // Of another model it says nothing, nor once there is a better record.
  EXPECT_TRUE((*source_of_model(network(3, 65), request, here()))(first, here())->trace.empty());
  std::vector<store::Record> better;
  ASSERT_TRUE(store_->each({.workload = te::workload_key(first)}, [&](const store::Record& r) {
    if (r.index == 0) better.push_back(r);
    return true;
  }));
  better[0].id = 0, better[0].index = 2, better[0].seconds = 0.5e-6, better[0].standing = 0;
  ASSERT_TRUE(store_->add(better));
  EXPECT_TRUE((*source_of_model(graph, request, here()))(first, here())->trace.empty());
}

// By a clock of the test, on which building the model takes longer than there is time for all.
TEST_F(LastWordTest, HasItsTurnWhereBuildingTakesAllItsTime) {
  const graph::Graph graph = network(3, 64);
  record(graph);
  for (const double seconds : {0.5, 10.0}) {
    double now = 0;
    const Clock clock = [&] { return std::exchange(now, 100); };
    const auto said =
        have_last_word(graph, *store_, {.target = here(), .seconds = seconds, .clock = clock});
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_EQ(said->tried, 2);
  }
}

TEST_F(LastWordTest, EndsWithItsTime) {
  const graph::Graph graph = network(3, 64);
  record(graph);
  double now = 0;
  const Clock clock = [&] {
    return now++;
  };  // it is asked when it begins, ends to begin, and tries
  const auto said =
      have_last_word(graph, *store_, {.target = here(), .seconds = 3, .clock = clock});
  ASSERT_TRUE(said) << said.error().text();
  EXPECT_EQ(said->tried, 1);
  EXPECT_TRUE(said->exchanges.empty());
}

}  // namespace
}  // namespace lathe::api
