// Records of derived spaces, with made-up times, as rows; global models and judgements of them.
#include "tuner/learn/history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "compiler/te/parse.h"
#include "support/temporary_folder.h"
#include "tuner/feature/feature.h"
#include "tuner/feature/plan.h"
#include "tuner/feature/tree.h"
#include "tuner/learn/evaluation.h"
#include "tuner/learn/featurizer.h"
#include "tuner/learn/global.h"
#include "tuner/space/space.h"

namespace lathe::learn {
namespace {

Target a_target() {
  Target target = *parse_target("cpu:x86-64-v4");
  target.as_cpu().vector_bits = 512;
  target.as_cpu().vector_registers = 32;
  target.as_cpu().has_fma = true;
  return target;
}

std::string matmul(int m, int n) {
  return fmt::format("A: f32[61,{}]; B: f32[61,{}]; C[i,j] = sum(k) A[k,i] * B[k,j]", m, n);
}

class Histories : public testing::Test {
 protected:
  Histories() { store_ = std::move(*store::open_sqlite(folder_.at("records.db"))); }

  // Random configurations; the time is the working set's size in the first features, so that it can
  // be learnt.
  std::string fill(const std::string& text, int count, std::uint64_t seed = 1) {
    const te::Workload workload = te::canonical(*te::parse_workload(text));
    const Target target = a_target();
    const auto space = *space::derive_space(workload, target, space::Flavour::kDefault);
    const feature::Extractor extractor({feature::Kind::kContext, DeviceKind::kCpu}, *space);
    const std::string key = te::workload_key(workload);
    const auto run = *store_->open_run(
        {0, key, target.text(), CacheMode::kWarm, "default", "00", "random", "none", seed});
    Rng rng(seed);
    std::vector<float> row(static_cast<std::size_t>(extractor.width()));
    std::vector<store::Record> records;
    for (int i = 0; i < count; ++i) {
      const auto config = space->random(rng);
      extractor.rows({&config, 1}, row, 1);
      rows_.insert(row);
      store::Record r;
      r.run = run.id;
      r.index = i;
      r.workload = key;
      r.target = target.text();
      r.cache_mode = CacheMode::kWarm;
      r.cpu = "6/1/1";
      r.trace = schedule::to_json(space->trace(config));
      r.config = space->to_json(config);
      r.visits = {{0, {1e-3}, 0}};
      double sum = 0;
      for (std::size_t f = 0; f < row.size(); f += 3) sum += row[f];
      r.seconds = 1e-3 * std::exp(0.02 * sum);
      r.time = fmt::format("{}.{}", run.id, i);
      records.push_back(std::move(r));
    }
    EXPECT_TRUE(store_->add(records));
    return key;
  }
  void fail(const std::string& text, int count) {
    const std::string key = te::workload_key(*te::parse_workload(text));
    const auto run = *store_->open_run({0, key, "cpu:x86-64-v4;threads=1", CacheMode::kWarm,
                                        "default", "00", "random", "none", 9});
    std::vector<store::Record> records(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      auto& r = records[static_cast<std::size_t>(i)];
      r.run = run.id;
      r.index = i;
      r.workload = key;
      r.target = run.target;
      r.cache_mode = CacheMode::kWarm;
      r.cpu = "6/1/1";
      r.trace = Json::array();
      r.config = Json::object();
      r.error_kind = "timeout";
      r.time = fmt::format("{}.{}", run.id, i);
    }
    EXPECT_TRUE(store_->add(records));
  }
  History read(const Selection& selection = {}, const std::string& features = "context") {
    History history;
    const Status status = read_history(*store_, selection, features, history);
    EXPECT_TRUE(status) << status.error().text();
    return history;
  }

  const test::TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::set<std::vector<float>> rows_;  // as the search saw them
};

// Equal but for the work of copies and transforms: a sketch's open sizes bound some of their loops
// a little higher or lower, most where a last block is smaller.
bool alike(const std::vector<float>& a, const std::vector<float>& b) {
  static const auto names = feature::context_names();
  for (std::size_t f = 0; f < a.size(); ++f)
    if (std::abs(a[f] - b[f]) > (names[f] == "copy_work" || names[f] == "other_work" ? 0.4F : 0.0F))
      return false;
  return true;
}

TEST_F(Histories, RowsOfTracesAreThoseTheSearchSaw) {
  fill(matmul(37, 53), 60);
  fill(
      "X: f32[1,8,14,14]; const W: f32[32,8,3,3]; Y[n,o,y:14,x:14] = sum(c,r,s) X[n,c,y+r-1,x+s-1 "
      "else 0] * W[o,c,r,s]",
      60);
  fill("X: f32[7,13]; Y[i,j] = max(X[i,j], 0)", 5);
  const History history = read();
  EXPECT_EQ(history.skipped, 0);
  EXPECT_EQ(history.groups.size(), 3U);
  ASSERT_EQ(history.rows.count(), 125);
  const auto width = static_cast<std::ptrdiff_t>(history.rows.width);
  for (int i = 0; i < history.rows.count(); ++i) {
    const auto begin = history.rows.features.begin() + i * width;
    const std::vector<float> row(begin, begin + width);
    const bool met = std::ranges::any_of(rows_, [&](const auto& seen) { return alike(seen, row); });
    EXPECT_TRUE(met) << "row " << i;
  }
}

TEST_F(Histories, SelectsWorkloadsInAnyLayout) {
  const std::string a = fill(matmul(37, 53), 10), b = fill(matmul(8, 8), 20);
  const std::string free = fill(matmul(37, 53) + "; layout free", 5);
  EXPECT_NE(a, free);
  EXPECT_EQ(shape_of(a), shape_of(free));
  EXPECT_EQ(shape_of("no program"), "no program");
  EXPECT_EQ(read().rows.count(), 35);
  EXPECT_EQ(read({.only = {shape_of(a)}}).rows.count(), 15);
  EXPECT_EQ(read({.without = {shape_of(a)}}).workloads(), std::vector<std::string>{b});
  EXPECT_EQ(read({.except = a}).rows.count(), 25);
  EXPECT_EQ(read({.cpu = "6/2/2"}).rows.count(), 0);
  EXPECT_EQ(read({.target = "cpu:znver5;threads=1"}).rows.count(), 0);
  EXPECT_EQ(read({.rows_a_group = 7}).rows.count(), 7 + 7 + 5);
  EXPECT_EQ(read({.rows = 22}).rows.count(), 22);
  EXPECT_EQ(read({}, "relation").rows.width, feature::relation_width());
  EXPECT_EQ(read({}, "tree").rows.width, feature::tree_width());
  EXPECT_EQ(read({}, "configuration").rows.features.size(),
            35U * read({}, "configuration").configs[0].size());
  History history;
  EXPECT_EQ(read_history(*store_, {}, "colour", history).error().message,
            "unknown features \"colour\"; known are context, relation, configuration, tree, "
            "blocks");
}

TEST_F(Histories, CopiesOfAnotherStoreCountOnce) {
  fill(matmul(37, 53), 10);
  std::stringstream lines;
  ASSERT_TRUE(store::export_lines(*store_, {}, lines));
  const auto copy = *store::open_in_memory();
  ASSERT_TRUE(store::import_lines(*copy, lines));
  fill(matmul(37, 53), 5, 2);
  History history = read();
  EXPECT_EQ(history.copies, 0);
  ASSERT_TRUE(read_history(*copy, {}, "context", history));
  EXPECT_EQ(history.rows.count(), 15);
  EXPECT_EQ(history.copies, 10);
}

TEST_F(Histories, WhatDoesNotReplayIsCountedAndLeftOut) {
  fill(matmul(5, 7), 3);
  const auto run = *store_->open_run({0, "not a program", "cpu:x86-64-v4;threads=1",
                                      CacheMode::kWarm, "default", "00", "random", "none", 1});
  std::vector<store::Record> records(1);
  records[0].run = run.id;
  records[0].workload = run.workload;
  records[0].target = run.target;
  records[0].cache_mode = CacheMode::kWarm;
  records[0].trace = Json::array();
  records[0].config = Json::object();
  records[0].seconds = 1;
  ASSERT_TRUE(store_->add(records));
  const History history = read();
  EXPECT_EQ(history.skipped, 1);
  EXPECT_EQ(history.rows.count(), 3);
  EXPECT_EQ(history.groups.size(), 1U);
}

TEST(ConfigurationRows, AColumnAKnobByName) {
  std::vector<float> out;
  const std::vector<Json> configs = {
      {{"tile", 3}, {"order", "b"}}, {{"order", "a"}, {"pad", 0}}, Json::object()};
  EXPECT_EQ(configuration_rows(configs, out), 3);
  EXPECT_EQ(out, (std::vector<float>{2, 0, 2, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(configuration_rows({}, out), 0);
}

TEST_F(Histories, GlobalModelsKnowOtherWorkloads) {
  const std::string a = fill(matmul(37, 53), 200), b = fill(matmul(24, 96), 200),
                    c = fill(matmul(61, 61), 100);
  const auto global = global_of_store(*store_, c, a_target().text(), CacheMode::kWarm, "6/1/1",
                                      {.target_class = {model::CpuClass{Isa::kX86, 512}}});
  ASSERT_TRUE(global && *global);
  EXPECT_EQ((*global)->workloads, (std::vector<std::string>{b, a}));
  EXPECT_EQ((*global)->records, 2 * 192);
  const History held_out = read({.only = {shape_of(c)}});
  std::vector<float> scores(held_out.rows.seconds.size());
  ASSERT_TRUE((*global)->model->predict(held_out.rows.features, held_out.rows.width, scores));
  EXPECT_GT(model::pairwise_accuracy(scores, held_out.rows.seconds), 0.75);
  // Another operator learns nothing from products.
  EXPECT_FALSE(*global_of_store(*store_, "X: f32[7,13]; Y[i,j] = max(X[i,j], 0)", a_target().text(),
                                CacheMode::kWarm, "6/1/1", {}));
  // Not enough of other workloads here, none at all there.
  EXPECT_FALSE(*global_of_store(*store_, c, a_target().text(), CacheMode::kCold, "6/1/1", {}));
  EXPECT_FALSE(*global_of_store(*store_, c, a_target().text(), CacheMode::kWarm, "6/9/9", {}));
}

TEST_F(Histories, TooLittleForAGlobalModel) {
  EXPECT_EQ(train_global(read(), {}).error().kind, ErrorKind::kNotFound);
  fill(matmul(5, 7), 1);
  fail(matmul(8, 8), 300);
  const std::string sentence = train_global(read(), {}).error().message;
  EXPECT_EQ(sentence,
            "301 records are left to train on, and no workload has two that worked; run lathe tune "
            "on more "
            "workloads, or leave out fewer");
  EXPECT_FALSE(
      *global_of_store(*store_, "", "cpu:x86-64-v4;threads=1", CacheMode::kWarm, "6/1/1", {}));
  EXPECT_EQ(train_global(read({}, "configuration"), {.features = "configuration"}).error().kind,
            ErrorKind::kInvalidArgument);
}

TEST_F(Histories, JudgesHeldOutConfigurationsAndWorkloads) {
  const std::string a = fill(matmul(37, 53), 200), b = fill(matmul(24, 96), 200);
  const ModelMaker make = [](std::shared_ptr<const model::CostModel> global) {
    return model::make_xgboost({.global = std::move(global)});
  };
  const auto alone = evaluate(read(), make, {.train_rows = 100});
  ASSERT_TRUE(alone) << alone.error().text();
  ASSERT_EQ(alone->size(), 2U);
  for (const Judged& judged : *alone) {
    EXPECT_EQ(judged.trained_on, 100);
    EXPECT_EQ(judged.judged_on, 100);
    EXPECT_EQ(judged.global_trained_on, 0);
    EXPECT_GT(judged.quality.pairwise_accuracy, 0.8);
  }
  const auto held_out = evaluate(read(), make, {.train_rows = 0, .held_out = {shape_of(a)}});
  ASSERT_TRUE(held_out && held_out->size() == 1);
  EXPECT_EQ(held_out->front().group.workload, a);
  EXPECT_EQ(held_out->front().judged_on, 200);
  EXPECT_EQ(held_out->front().global_trained_on, 200);
  EXPECT_GT(held_out->front().quality.pairwise_accuracy, 0.7);
  const auto in_turn = evaluate(read(), make, {.train_rows = 40, .in_turn = true});
  ASSERT_TRUE(in_turn && in_turn->size() == 2);
  EXPECT_EQ(in_turn->back().trained_on, 40);
  EXPECT_EQ(mean_of(*in_turn).workloads, 2);
  EXPECT_NEAR(
      mean_of(*in_turn).pairwise_accuracy,
      (in_turn->front().quality.pairwise_accuracy + in_turn->back().quality.pairwise_accuracy) / 2,
      1e-12);
}

TEST_F(Histories, RelativesOfWhatIsJudgedDoNotTeach) {
  const std::string map = "X: f32[37,53]; Y[i,j] = max(X[i,j], 0)";
  const std::string a = fill(matmul(37, 53), 60), b = fill(matmul(24, 96), 60), c = fill(map, 60);
  const ModelMaker make = [](std::shared_ptr<const model::CostModel> global) {
    return model::make_xgboost({.global = std::move(global)});
  };
  const auto teachers = [&](std::vector<Relation> unrelated) -> std::int64_t {
    const auto judged =
        evaluate(read(), make,
                 {.train_rows = 0, .held_out = {shape_of(a)}, .unrelated = std::move(unrelated)});
    return judged ? judged->front().global_trained_on : -1;
  };
  const auto rows = [&](const std::string& key) {
    const History history = read({.only = {shape_of(key)}});
    return static_cast<std::int64_t>(history.rows.count());
  };
  EXPECT_EQ(teachers({}), rows(b) + rows(c));
  EXPECT_EQ(teachers({Relation::kOperator}), rows(c));
  EXPECT_EQ(teachers({Relation::kFamily}), rows(c));
  EXPECT_EQ(teachers({Relation::kImage}), rows(b));
  EXPECT_EQ(teachers({Relation::kImage, Relation::kOperator}), -1) << "nobody is left";
}

TEST_F(Histories, WhatWasMeasuredTwiceIsNotJudgedByItself) {
  fill(matmul(37, 53), 60);
  History history = read();
  std::vector<int> twice;
  for (int i = 0; i < 120; ++i) twice.push_back(i / 2);
  history.rows = model::select(history.rows, twice);
  std::vector<std::uint64_t> programs;
  for (const int i : twice) programs.push_back(history.programs[static_cast<std::size_t>(i)]);
  history.programs = programs;
  const ModelMaker make = [](std::shared_ptr<const model::CostModel> global) {
    return model::make_xgboost({.global = std::move(global)});
  };
  const auto judged = evaluate(history, make, {.train_rows = 60});
  ASSERT_TRUE(judged && judged->size() == 1);
  EXPECT_LT(judged->front().judged_on, 60);
  EXPECT_EQ(judged->front().judged_on % 2, 0) << "both of a pair, or none";
}

TEST_F(Histories, NothingToJudgeBy) {
  const ModelMaker make = [](std::shared_ptr<const model::CostModel> global) {
    return model::make_xgboost({.global = std::move(global)});
  };
  EXPECT_EQ(evaluate(read(), make, {}).error().kind, ErrorKind::kNotFound);
  fill(matmul(5, 7), 1);  // one record
  EXPECT_EQ(evaluate(read(), make, {}).error().kind, ErrorKind::kNotFound);
  fail(matmul(8, 8), 20);  // all failed
  EXPECT_EQ(evaluate(read(), make, {}).error().kind, ErrorKind::kNotFound);
  const History all = read();
  std::vector<std::string> every;
  for (const Conditions& group : all.groups) every.push_back(shape_of(group.workload));
  EXPECT_NE(evaluate(all, make, {.held_out = every})
                .error()
                .message.find("no records of other workloads"),
            std::string::npos);
}

}  // namespace
}  // namespace lathe::learn
