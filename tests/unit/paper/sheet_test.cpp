#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "research/paper/sheet.h"
#include "support/temporary_folder.h"

namespace lathe::paper {
namespace {

const std::vector<SpaceFile>& spaces() {
  static const auto all = *spaces_in(LATHE_RECORDINGS);
  return all;
}

TEST(Plans, TakeEveryRecordingWhereTheFigureNamesNone) {
  const auto sheet = sheet_for(figures_named("fig7")->front(), spaces(), {.seeds = 3});
  ASSERT_TRUE(sheet) << sheet.error().text();
  ASSERT_EQ(sheet->sets.size(), 1U);
  ASSERT_EQ(sheet->sets[0].panels.size(), 2U);
  EXPECT_EQ(sheet->sets[0].panels[0].title, "conv");
  EXPECT_EQ(sheet->sets[0].panels[1].cells.size(), 3U);
  EXPECT_EQ(sheet->sets[0].panels[1].cells[0].seeds, 3);
  std::set<std::string> settings;
  for (const Cell& cell : sheet->sets[0].panels[0].cells) settings.insert(cell.settings);
  EXPECT_EQ(settings.size(), 3U) << "other settings, other runs";
}

TEST(Plans, SayWhatIsMissing) {
  const auto sheet = sheet_for(figures_named("fig9")->front(), spaces(), {});
  ASSERT_TRUE(sheet);
  EXPECT_TRUE(sheet->sets.empty());
  ASSERT_EQ(sheet->left_out.size(), 4U);
  EXPECT_EQ(sheet->left_out[0],
            "fig9, in domain, needs a recording of C7, made with lathe space record");
  Figure targets{"fig",
                 "",
                 "",
                 {{.title = "across targets",
                   .targets = {"conv"},
                   .sources = {"matmul"},
                   .other_target = true}}};
  EXPECT_EQ(sheet_for(targets, spaces(), {})->left_out.at(0),
            "fig, across targets, needs a recording of matmul on a second target to learn from, "
            "made with lathe space record");
}

TEST(Plans, SearchOnAnotherTargetToo) {
  auto two = spaces();
  ASSERT_EQ(two.size(), 2U);
  two[1].recording.target = *parse_target("cpu:haswell");
  two[1].recording.target.as_cpu().vector_bits =
      two[0].recording.target.as_cpu().vector_bits == 128 ? 256 : 128;
  const auto sheet = sheet_for(figures_named("fig4")->front(), two, {});
  ASSERT_TRUE(sheet);
  ASSERT_EQ(sheet->sets.size(), 2U);
  ASSERT_EQ(sheet->sets[1].panels.size(), 1U);
  EXPECT_EQ(sheet->sets[0].panels.size(), 1U);
  EXPECT_EQ(sheet->sets[1].panels[0].title, two[1].recording.name + ": on another target");
  EXPECT_EQ(sheet->sets[1].panels[0].space, &two[1]);
  EXPECT_TRUE(sheet->left_out.empty());
  EXPECT_EQ(sheet_for(figures_named("fig4")->front(), spaces(), {})->left_out,
            std::vector<std::string>{"fig4, on another target, needs a recording of another "
                                     "target, made with lathe space record"});
}

TEST(Plans, LearnFromTheRecordingsThatThereAre) {
  const Figure figure{"fig",
                      "",
                      "",
                      {{.targets = {"matmul"},
                        .sources = {"C1", "conv"},
                        .series = {{"xgb-rank-transfer", "with"}, {"xgb-rank", "without"}}}}};
  const auto sheet = sheet_for(figure, spaces(), {});
  ASSERT_TRUE(sheet);
  const auto& cells = sheet->sets.at(0).panels.at(0).cells;
  ASSERT_EQ(cells.at(0).sources.size(), 1U);
  EXPECT_EQ(cells[0].sources[0]->recording.name, "conv");
  EXPECT_EQ(sheet->left_out,
            std::vector<std::string>{"fig does without C1 to learn from: no recording"});
  EXPECT_TRUE(cells.at(1).sources.empty());
}

TEST(Plans, KnowEveryArmOfEveryFigure) {
  for (const Figure& figure : known_figures())
    for (const Setting& setting : figure.settings) {
      std::set<std::string> arms;
      for (const Series& series : setting.series) {
        EXPECT_TRUE(experiment::arm_named(series.arm)) << figure.name << " " << series.arm;
        arms.insert(series.arm);
      }
      for (const Claim& claim : setting.claims)
        EXPECT_TRUE(arms.contains(claim.arm) && arms.contains(claim.against)) << figure.name;
    }
}

TEST(Plans, FindRecordingsInFoldersOfTheirOwn) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "avx2");
  for (const auto& entry : std::filesystem::directory_iterator(LATHE_RECORDINGS))
    if (entry.path().string().ends_with(".json.zst"))
      std::filesystem::copy_file(
          entry, folder.path() / (entry.path().filename() == "conv.json.zst" ? "avx2" : "") /
                     entry.path().filename());
  const auto found = spaces_in(folder.path().string());
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].recording.name, "conv");
}

TEST(Plans, RefuseUnknownNames) {
  EXPECT_EQ(figures_named("fig3").error().text(),
            "unknown figure \"fig3\"; known are fig4, fig5, fig6, fig7, fig8, fig9, fig10a, all; "
            "did you mean fig4?");
  const Figure figure{"fig", "", "", {{.series = {{"guess", "guess"}}}}};
  EXPECT_TRUE(sheet_for(figure, spaces(), {})
                  .error()
                  .text()
                  .starts_with("unknown arm \"guess\"; known are xgb-rank, "));
  EXPECT_TRUE(
      spaces_in("/nowhere").error().text().starts_with("/nowhere: there are no recordings here; "));
}

}  // namespace
}  // namespace lathe::paper
