// In which state of the caches a model's nodes are timed, and which programs on record they have.
#include "api/model_caches.h"

#include <cmath>

#include <gtest/gtest.h>

#include "api/targets.h"
#include "api/workload.h"
#include "compiler/te/workload.h"
#include "support/graph_writer.h"
#include "support/temporary_folder.h"
#include "tuner/measure/device.h"
#include "tuner/model/analytic.h"
#include "unit/api/naive_record.h"

namespace lathe::api {
namespace {

Target on_this_machine() { return *make_target("cpu:host", 1); }

// Products by weights of about so many bytes together.
graph::Graph products(std::int64_t bytes) {
  Rng rng(1);
  test::GraphWriter w;
  const auto size = static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes) / 8)) + 1;
  int x = w.input({1, size});
  for (int layer = 0; layer < 2; ++layer) x = test::product(w, x, w.constant({size, size}, rng));
  return w.finish({x});
}

std::int64_t last_cache() {
  const Target target = on_this_machine();
  return static_cast<std::int64_t>(model::core_of(target, measure::machine_for(target)).l3_bytes);
}

TEST(ModelCaches, HaveNoWeightsThatExceedThem) {
  EXPECT_EQ(caches_of(products(1000), on_this_machine()), CacheMode::kWarm);
  EXPECT_EQ(caches_of(products(last_cache() / 4), on_this_machine()), CacheMode::kWarm);
  EXPECT_EQ(caches_of(products(last_cache() / 2), on_this_machine()), CacheMode::kFar);
}

class NodeSchedules : public ::testing::Test {
 protected:
  // The loops as written, as if they had taken so long.
  void record(const te::Workload& workload, CacheMode cache, double seconds) {
    store::Record made =
        naive_record(*store_, te::workload_key(workload), on_this_machine(), seconds, cache);
    made.index = ++records_;
    made.program_hash = fmt::format("program {}", records_);
    std::vector<store::Record> all = {made};
    ASSERT_TRUE(store_->add(all));
  }
  // The number of the record that a node of the graph has; 0: none.
  int chosen(const graph::Graph& graph, const std::string& which = "best") {
    const auto source =
        node_schedules(graph, {.which = which, .database = path_}, on_this_machine());
    EXPECT_TRUE(source) << source.error().text();
    const auto found = (*source)(graph.nodes[0].expression, on_this_machine());
    EXPECT_TRUE(found || found.error().kind == ErrorKind::kNotFound) << found.error().text();
    return found && found->record ? found->record->index : 0;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.at("records.db");
  const std::unique_ptr<store::Store> store_ = *store::open_sqlite(path_);
  int records_ = 0;
};

TEST_F(NodeSchedules, OfLargeModelsWereTimedWithFarWeights) {
  const graph::Graph graph = products(last_cache() / 2);
  const te::Workload& node = graph.nodes[0].expression;
  EXPECT_EQ(chosen(graph), 0);
  record(node, CacheMode::kCold, 1e-6);
  EXPECT_EQ(chosen(graph), 0);
  record(node, CacheMode::kWarm, 1e-3);
  EXPECT_EQ(chosen(graph), 2) << "better than none";
  record(node, CacheMode::kFar, 5e-3);
  EXPECT_EQ(chosen(graph), 3) << "it is no slower in the model for its higher time";
  EXPECT_EQ(chosen(graph, "default"), 0);
}

TEST_F(NodeSchedules, OfSmallModelsWereTimedWithWarmCaches) {
  const graph::Graph graph = products(1000);
  const te::Workload& node = graph.nodes[0].expression;
  record(node, CacheMode::kFar, 1e-6);
  EXPECT_EQ(chosen(graph), 0);
  record(node, CacheMode::kWarm, 1e-3);
  EXPECT_EQ(chosen(graph), 2);
}

}  // namespace
}  // namespace lathe::api
