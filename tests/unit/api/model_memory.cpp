// Models whose weights lie in a file, and models that have to fit into memory.
#include "api/model_memory.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "api/last_word.h"
#include "api/model_check.h"
#include "api/targets.h"
#include "api/workload.h"
#include "graph/passes/passes.h"
#include "support/graph_writer.h"
#include "support/temporary_folder.h"
#include "tuner/measure/device.h"

namespace lathe::api {
namespace {

Target this_machine() { return *make_target("cpu:host", 1); }
const ModelProgress kSilent = [](const std::string&) {};
const ScheduleRequest kDefault{.which = "default", .database = {}};

// Of 3x3 points, with padding.
int convolution(test::GraphWriter& w, int x, int by) {
  const auto &in = w.shape(x), &weight = w.shape(by);
  return w.node("Conv",
                fmt::format("X: f32[{}]; const W: f32[{}]; Y[n,o,y:{},x:{}] = sum(c,r,s) "
                            "X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]",
                            test::list_of(in), test::list_of(weight), in[2], in[3]),
                {x, by}, {in[0], weight[0], in[2], in[3]});
}

// Convolutions that algorithms may compute, two of them one task, and a product.
graph::Graph convolutions(std::int64_t channels) {
  Rng rng(5);
  test::GraphWriter w;
  int x = w.input({1, channels, 14, 13});
  for (const std::int64_t out : {channels, channels, channels - 3}) {
    const int weight = w.constant({out, channels, 3, 3}, rng);
    x = test::unary(w, convolution(w, x, weight), "max({} * 0.125, 0)");
  }
  const std::int64_t flat = (channels - 3) * 14 * 13;
  const int row = w.value({1, flat}, x);
  graph::Graph graph = w.finish({test::product(w, row, w.constant({flat, 7}, rng))});
  const auto passed = graph::run_passes(graph);
  EXPECT_TRUE(passed) << passed.error().text();
  return graph;
}

Result<ModelProgram> made_by(const graph::Graph& graph, const ScheduleSource& source) {
  return model_program(graph, source, this_machine(), Checking::kSkip, kSilent);
}

void expect_right(const graph::Graph& graph, const ModelProgram& made) {
  const auto verified = flat::verify(made.program);
  ASSERT_TRUE(verified) << verified.error().text();
  const auto checked = check_model(graph, made);
  ASSERT_TRUE(checked) << checked.error().text();
  EXPECT_LT(checked->error, 1e-4);
}

TEST(ModelWeights, AreWhatPrepareMakes) {
  const graph::Graph graph = convolutions(32);
  for (const char* which : {"default", "naive"}) {
    const auto source = *schedule_source({.which = which, .database = {}});
    auto made = made_by(graph, source);
    ASSERT_TRUE(made) << made.error().text();
    const auto inside = check_model(graph, *made);
    const Status taken = take_weights_out(*made);
    ASSERT_TRUE(taken) << taken.error().text();
    EXPECT_TRUE(made->program.prepare.empty());
    EXPECT_EQ(std::ssize(*made->weights), made->program.constant_bytes);
    expect_right(graph, *made);
    EXPECT_EQ(check_model(graph, *made)->error, inside->error) << which;
    // All weights are there, and none in the code.
    EXPECT_GE(made->program.constant_bytes, 4 * (93 * 32 * 9 + 29 * 14 * 13 * 7)) << which;
    for (const flat::Buffer& buffer : made->program.buffers)
      EXPECT_LT(buffer.literal.bytes.size(), 4096U) << buffer.name;
    // Others compute something else.
    std::ranges::fill(*made->weights, std::byte{0x40});
    EXPECT_FALSE(check_model(graph, *made));
  }
}

TEST(ModelWeights, OfAnotherProcessorAreNotPacked) {
  const auto refused = check_packs_here(*make_target("cpu:cortex-a72;isa=aarch64", 1));
  if (refused) GTEST_SKIP() << "this is such a processor";
  EXPECT_NE(refused.error().message.find("compile there, or leave out --weights"),
            std::string::npos);
}

Result<WithinMemory> within(const graph::Graph& graph, std::int64_t most,
                            const ScheduleRequest& schedule = kDefault) {
  const auto source = LATHE_TRY(source_of_model(graph, schedule, this_machine()));
  return within_memory(graph, source, this_machine(), {most, schedule}, kSilent);
}

TEST(ModelMemory, OtherProgramsAreTakenUntilItFits) {
  const graph::Graph graph = convolutions(64);
  const auto usual = made_by(graph, *schedule_source(kDefault));
  ASSERT_TRUE(usual) << usual.error().text();
  const std::int64_t need = memory_of(usual->program, 1).bytes();
  const auto all = within(graph, need);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->exchanged, 0);
  EXPECT_EQ(all->slower, 0);

  // The least, as its error says it.
  const auto refused = within(graph, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kOutOfMemory);
  const std::string& said = refused.error().message;
  const std::size_t at = said.find("needs ");
  ASSERT_NE(at, std::string::npos) << said;
  std::size_t digits = 0;
  const double number = std::stod(said.substr(at + 6), &digits);
  const double unit = said.substr(at + 6 + digits, 3) == " MB" ? 1e6 : 1e3;
  const auto least = static_cast<std::int64_t>(std::llround(number * unit));
  ASSERT_LT(least, need - need / 4) << said;

  int exchanged = 0;
  double slower = 0;
  for (const std::int64_t most : {need - 1, (need + least) / 2, least}) {
    const auto fits = within(graph, most);
    ASSERT_TRUE(fits) << fits.error().text();
    EXPECT_GE(fits->exchanged, std::max(1, exchanged));
    EXPECT_GE(fits->slower, slower);
    exchanged = fits->exchanged, slower = fits->slower;
    auto made = made_by(graph, fits->source);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_LE(memory_of(made->program, 1).bytes(), most);
    expect_right(graph, *made);
    // It holds of weights in a file, too.
    const std::int64_t inside = memory_of(made->program, 1).bytes();
    ASSERT_TRUE(take_weights_out(*made));
    EXPECT_LE(memory_of(made->program, 1).bytes(), inside);
    expect_right(graph, *made);
  }
}

// A record that needs less and is hardly slower comes before the default without algorithms.
TEST(ModelMemory, RecordsAreKnown) {
  const graph::Graph graph = convolutions(64);
  const test::TemporaryFolder folder;
  const std::string path = folder.at("records.db");
  const auto store = *store::open_sqlite(path);
  const auto usual = *schedule_source(kDefault);
  for (const graph::Task& task : graph::tasks_of(graph)) {
    const te::Workload& workload = graph.nodes[graph::place(task.nodes[0])].expression;
    const auto run = *store->open_run(
        {.workload = task.key, .target = this_machine().text(), .space = "default"});
    std::vector<store::Record> records(2);
    for (store::Record& record : records) {
      record.run = run.id;
      record.workload = task.key;
      record.target = this_machine().text();
      record.cpu = record.fingerprint = measure::machine_for(this_machine()).cpu();
      record.codegen_version = *codegen_version(this_machine());
      record.config = Json::object();
    }
    records[0].trace = schedule::to_json(usual(workload, this_machine())->trace);
    records[0].seconds = 1e-4;
    records[1].index = 1;
    records[1].trace = Json::array();  // the naive loops, which pack nothing
    records[1].seconds = 1.01e-4;
    ASSERT_TRUE(store->add(records));
  }
  const ScheduleRequest best{.which = "best", .database = path};
  const std::int64_t need =
      memory_of(made_by(graph, *source_of_model(graph, best, this_machine()))->program, 1).bytes();
  const auto fits = within(graph, need - 1, best);
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_EQ(fits->exchanged, 1);
  EXPECT_GT(fits->slower, 0);
  EXPECT_LT(fits->slower, 0.01);
}

}  // namespace
}  // namespace lathe::api
