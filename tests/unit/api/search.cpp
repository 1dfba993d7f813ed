#include "lathe/search.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();

Search matmul_search(const TuneOptions& options) {
  const auto workload = Workload::parse("C[i,j] = sum(k) A[k,i] * B[k,j]",
                                        {.shapes = {{"A", {11, 13}}, {"B", {11, 17}}}});
  EXPECT_TRUE(workload.has_value()) << workload.error().text();
  auto search = Search::make(*workload, options);
  EXPECT_TRUE(search.has_value()) << search.error().text();
  return std::move(*search);
}

Recording recorded() {
  auto recording = Recording::load(LATHE_SPACES "/C6.json.zst");
  EXPECT_TRUE(recording.has_value()) << recording.error().text();
  return *recording;
}

TEST(Search, IsForThoseWhoMeasureThemselves) {
  auto search = matmul_search({.seed = 3});
  std::set<std::string> seen;
  for (int round = 0; round < 4; ++round) {
    const auto proposals = search.ask(10);
    ASSERT_TRUE(proposals.has_value()) << proposals.error().text();
    ASSERT_EQ(proposals->size(), 10U);
    for (const auto& proposal : *proposals) {
      EXPECT_TRUE(seen.insert(proposal.config).second) << "proposed twice";
      EXPECT_TRUE(search.trace(proposal.config)->starts_with("["));
      const double seconds = proposal.id % 5 == 0
                                 ? kFailed
                                 : 1e-3 * static_cast<double>(1 + proposal.config.size() % 7);
      EXPECT_TRUE(search.tell(proposal.id, seconds).has_value());
    }
  }
  EXPECT_FALSE(search.tell(0, 1).has_value()) << "told before";
  EXPECT_FALSE(search.tell(12345, 1).has_value());
  const auto missing = Search::make(recorded().workload(), {.global_model = "/nowhere/a.model"});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().place, "/nowhere/a.model");
}

TEST(Search, RefusesAModelThatOthersCanChange) {
  const test::TemporaryFolder folder;
  const std::string file = folder.at("a.model");
  std::ofstream(file) << "dear aunt";
  const auto made = [&] { return Search::make(recorded().workload(), {.global_model = file}); };
  EXPECT_EQ(made().error().message, "this is not a saved cost model");
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  const auto refused = made();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().place, file);
  EXPECT_NE(refused.error().message.find("`chmod go-w "), std::string::npos);
}

TEST(Search, TakesConfigurationsFromOutside) {
  auto search = matmul_search({.seed = 3});
  auto other = matmul_search({.seed = 4});
  std::set<std::string> told;
  const auto proposals = other.ask(30);
  ASSERT_TRUE(proposals.has_value());
  for (const auto& theirs : *proposals) {
    const auto proposal = search.propose(theirs.config);
    ASSERT_TRUE(proposal.has_value() && proposal->has_value()) << theirs.config;
    EXPECT_EQ((*proposal)->config, theirs.config);
    told.insert(theirs.config);
    EXPECT_TRUE(search.tell((*proposal)->id, 1e-6).has_value());
    const auto again = search.propose(theirs.config);
    EXPECT_TRUE(search.tell((*again)->id, 1e-7).has_value());
  }
  const auto asked = search.ask(30);
  ASSERT_TRUE(asked.has_value());
  for (const auto& proposal : *asked) EXPECT_FALSE(told.contains(proposal.config));
}

TEST(Search, RefusesWhatIsNoConfiguration) {
  auto search = matmul_search({});
  for (const char* text : {"", "[1]", "7", "{}", "{\"colour\": 1}", "{\"order\": {}}"}) {
    const auto proposal = search.propose(text);
    ASSERT_FALSE(proposal.has_value()) << text;
    EXPECT_EQ(proposal.error().kind, "invalid-argument") << proposal.error().text();
    EXPECT_FALSE(search.trace(text).has_value());
  }
}

TEST(Recording, IsInOneOrder) {
  const Recording recording = recorded();
  const auto& knobs = recording.knobs();
  const auto positions = recording.positions();
  const auto failures = recording.failures();
  ASSERT_EQ(positions.size(), recording.size() * knobs.size());
  for (std::size_t i = 0; i < recording.size(); ++i) {
    ASSERT_EQ(recording.find(recording.config(i).value()).value(), i);
    EXPECT_EQ(failures[i].empty(), std::isfinite(recording.seconds()[i]));
    for (std::size_t k = 0; k < knobs.size(); ++k)
      ASSERT_LT(positions[i * knobs.size() + k], knobs[k].values.size());
  }
  EXPECT_EQ(std::ranges::min(recording.seconds()), recording.best_seconds());
  EXPECT_FALSE(recording.config(recording.size()).has_value());
}

TEST(Recording, HasFeatures) {
  const Recording recording = recorded();
  const auto context = recording.features("context", 1);
  ASSERT_TRUE(context.has_value()) << context.error().text();
  EXPECT_EQ(context->rows.size(), recording.size() * context->names.size());
  EXPECT_FALSE(recording.features("crystals").has_value());
}

TEST(Recording, IsSearchedWithoutHardware) {
  const Recording recording = recorded();
  auto search = Search::make(recording, {.jobs = 1, .seed = 1, .batch = 16});
  ASSERT_TRUE(search.has_value()) << search.error().text();
  double best = kFailed;
  for (int trial = 0; trial < 160; trial += 16) {
    const auto asked = search->ask(16);
    ASSERT_TRUE(asked.has_value()) << asked.error().text();
    for (const auto& proposal : *asked) {
      const auto place = recording.find(proposal.config);
      ASSERT_TRUE(place.has_value() && place->has_value()) << proposal.config;
      const double seconds = recording.seconds()[**place];
      best = std::min(best, seconds);
      ASSERT_TRUE(search->tell(proposal.id, seconds).has_value());
    }
  }
  EXPECT_LT(best, recording.best_seconds() * 1.15);
}

TEST(Recording, RefusesOtherFiles) {
  const auto missing = Recording::load("/nowhere/C6.json.zst");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().text().find("/nowhere/C6.json.zst"), std::string::npos);
  const auto text = Recording::load(LATHE_SPACES "/C6.json");
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().text().find("C6.json"), std::string::npos);
}

}  // namespace
}  // namespace lathe
