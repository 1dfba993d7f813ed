// What gnuplot is told, and, where it is installed, whether it understands.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "research/paper/picture.h"
#include "support/temporary_folder.h"

namespace lathe::paper {
namespace {

const Picture kPicture = {
    "Figure \"4\": λ\\1",
    "trials",
    "GFLOP/s",
    {{"C1", {{"random", {{1, 0, 10, 20}, {2, 5, 15, 25}}}, {"guided", {{1, 10, 20, 30}}}}},
     {"C2", {{"guided", {{1, 11, 21, 31}}}, {"never run", {}}}}}};

TEST(PaperPictures, AreTwoPanelsAndALegend) {
  const std::string script = gnuplot_script(kPicture, ImageFormat::kPng, "/tmp/a \"b\".png");
  for (const char* part :
       {"set terminal pngcairo noenhanced size 840,680 ", "set output \"/tmp/a \\\"b\\\".png\"\n",
        "set multiplot layout 2,2 title \"Figure \\\"4\\\": λ\\\\1\" ",
        "$p0c0 << END\n1 0 10 20\n2 5 15 25\nEND\n",
        "set xlabel \"trials\"\nset ylabel \"GFLOP/s\"\n", "set title \"C2\"\n", "set xtics 0.5\n",
        "set xtics 0.2\n", "unset multiplot\n"})
    EXPECT_NE(script.find(part), std::string::npos) << part << "\n" << script;
  // A search has its colour in every panel and in the legend.
  EXPECT_NE(script.find("$p0c1 using 1:3 with steps lw 2 dt 1 lc rgb '#D55E00'"), std::string::npos)
      << script;
  EXPECT_NE(script.find("$p1c0 using 1:3 with steps lw 2 dt 1 lc rgb '#D55E00'"),
            std::string::npos);
  EXPECT_NE(script.find("NaN with lines lw 2 dt 1 lc rgb '#D55E00' title \"guided\""),
            std::string::npos);
  EXPECT_EQ(script.find("$p1c1 using"), std::string::npos) << "nothing to draw";
  EXPECT_NE(gnuplot_script(kPicture, ImageFormat::kSvg, "a").find("set terminal svg noenhanced "),
            std::string::npos);
}

TEST(PaperPictures, AreDrawn) {
  const auto gnuplot = find_gnuplot();
  if (!gnuplot) GTEST_SKIP() << gnuplot.error().text();
  const test::TemporaryFolder folder;
  const auto status = draw(kPicture, *gnuplot, folder.at("fig"));
  EXPECT_TRUE(status) << status.error().text();
  EXPECT_TRUE(read_file(folder.at("fig.png")).value_or("").starts_with("\x89PNG"));
  const std::string svg = read_file(folder.at("fig.svg")).value_or("");
  for (const char* text : {"Figure", "λ", "guided", "never run", "GFLOP/s"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2)
      << "scripts are left behind";
  EXPECT_TRUE(draw({"", "", "", {}}, *gnuplot, folder.at("empty")));
  const auto refused = draw(kPicture, *gnuplot, folder.at("no/such/fig"));
  ASSERT_FALSE(refused);
}

}  // namespace
}  // namespace lathe::paper
