// How many threads the programs of a run use, and what is said of it.
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "unit/cli/command.h"

namespace lathe {
namespace {

// The first line of a run tells them, and what is recorded for fewer serves.
TEST_F(Command, SaysHowManyThreadsThereAre) {
  const auto of = [&](const char* command, std::vector<std::string> more) {
    return lathe(with(with({command}, workload_), std::move(more)));
  };
  unsetenv("OMP_NUM_THREADS");
  const Outcome tuned = of("tune", {"--trials", "4", "--threads", "1"});
  ASSERT_EQ(tuned.code, 0) << tuned.error;
  EXPECT_TRUE(tuned.error.starts_with("lathe: 1 thread: as --threads says\n")) << tuned.error;
  const Outcome by_default = of("tune", {"--trials", "2", "--json"});
  ASSERT_EQ(by_default.code, 0) << by_default.error;
  EXPECT_TRUE(by_default.error.starts_with("lathe: ")) << by_default.error;
  EXPECT_NE(by_default.error.find("this process may use "), std::string::npos) << by_default.error;

  const std::string fewer =
      "lathe: nothing for 2 threads is on record; the best for 1 is taken, and runs with 1; lathe "
      "tune with --threads 2 finds one for 2, on as many processors\n";
  std::filesystem::remove(folder_.at("records.db"));
  ASSERT_EQ(of("tune", {"--trials", "4", "--threads", "1"}).code, 0);
  const std::string library = folder_.at("product.so");
  const Outcome compiled = of("compile", {"-o", library, "--threads", "2"});
  ASSERT_EQ(compiled.code, 0) << compiled.error;
  EXPECT_NE(compiled.error.find(fewer), std::string::npos) << compiled.error;
  EXPECT_NE(content(folder_.at("product.h")).find("NULL: up to 1 thread,"), std::string::npos);
  const Outcome untuned = of("compile", {"-o", library, "--schedule", "default", "--threads", "2"});
  EXPECT_NE(untuned.error.find("lathe: 2 threads: as --threads says\n"), std::string::npos)
      << untuned.error;
  EXPECT_NE(content(folder_.at("product.h")).find("NULL: up to 2 threads,"), std::string::npos);
  // What is timed needs two processors.
  if (std::thread::hardware_concurrency() < 2) return;
  const Outcome bench = of("bench", {"--threads", "2", "--json"});
  ASSERT_EQ(bench.code, 0) << bench.error;
  EXPECT_TRUE(bench.error.starts_with("lathe: 2 threads: as --threads says\n" + fewer))
      << bench.error;
  const std::string target = json_of(bench)["target"];
  EXPECT_TRUE(target.ends_with(";threads=1")) << target;
  const Outcome race = of("race", {"--threads", "2", "--time", "30"});
  ASSERT_EQ(race.code, 0) << race.error;
  EXPECT_NE(race.error.find("lathe: nothing for 2 threads is on record; what is for 1 is taken\n"),
            std::string::npos)
      << race.error;
}

}  // namespace
}  // namespace lathe
