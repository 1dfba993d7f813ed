#include "base/processors.h"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lathe {
namespace {

// A machine that is made up, with a file for each thing that its system tells.
class Processors : public testing::Test {
 protected:
  Processors() {
    at_.sys = folder_.at("sys");
    at_.proc = folder_.at("proc");
    at_.cgroup = folder_.at("cgroup");
  }

  void write(const std::string& path, const std::string& text) const {
    const auto file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void allow(int processors) {
    at_.allowed.resize(static_cast<std::size_t>(processors));
    std::iota(at_.allowed.begin(), at_.allowed.end(), 0);
  }
  static std::string topology(int cpu, const char* file = "core_cpus_list") {
    return "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + file;
  }
  // Sockets of so many cores; where there are two threads to a core, the second ones of all come
  // after the first ones of all, as on most servers.
  void machine(int sockets, int cores, int threads_of_a_core) {
    const int all = sockets * cores;
    allow(all * threads_of_a_core);
    std::string nodes;
    for (int cpu = 0; cpu < all * threads_of_a_core; ++cpu) {
      std::string siblings;
      for (int t = 0; t < threads_of_a_core; ++t)
        siblings += (t == 0 ? "" : ",") + std::to_string(cpu % all + t * all);
      write(topology(cpu), siblings + "\n");
    }
    for (int node = 0; node < sockets; ++node) {
      std::string list;
      for (int t = 0; t < threads_of_a_core; ++t)
        list += (t == 0 ? "" : ",") + std::to_string(node * cores + t * all) + "-" +
                std::to_string(node * cores + cores - 1 + t * all);
      write("sys/devices/system/node/node" + std::to_string(node) + "/cpulist", list + "\n");
    }
    write("sys/devices/system/node/online",
          sockets == 1 ? "0\n" : "0-" + std::to_string(sockets - 1) + "\n");
  }
  std::string threads() const { return threads_text(usual_threads(at_)); }
  int jobs() const { return usual_jobs(at_).number; }

  const test::TemporaryFolder folder_;
  Surroundings at_;
};

TEST_F(Processors, OneThreadForEachPhysicalCore) {
  machine(1, 8, 2);
  EXPECT_EQ(threads(), "8 threads: this process may use 8 physical cores");
  EXPECT_EQ(jobs(), 16);
  machine(1, 7, 1);
  EXPECT_EQ(threads(), "7 threads: this process may use 7 physical cores");
  machine(1, 1, 2);
  EXPECT_EQ(threads(), "1 thread: this process may use 1 physical core");
}

TEST_F(Processors, ThoseOfOneNode) {
  machine(2, 16, 2);
  EXPECT_EQ(threads(),
            "16 threads: those of one NUMA node; this process may use 32 physical cores");
  EXPECT_EQ(jobs(), 64);
  // Of the node with most cores, however many processors these have.
  at_.allowed = {3, 35, 4, 36, 5, 37, 16, 17, 18, 19, 20};
  EXPECT_EQ(threads(), "5 threads: those of one NUMA node; this process may use 8 physical cores");
  at_.allowed = {20, 52};
  EXPECT_EQ(threads(), "1 thread: this process may use 1 physical core");
}

TEST_F(Processors, ByTheMask) {
  machine(1, 8, 2);
  at_.allowed = {0, 1, 2, 3, 9, 10};
  EXPECT_EQ(threads(), "4 threads: this process may use 4 physical cores");
  EXPECT_EQ(jobs(), 6);
  at_.allowed = {12};
  EXPECT_EQ(threads(), "1 thread: this process may use 1 physical core");
}

TEST_F(Processors, ThatAreOnline) {
  machine(1, 6, 1);
  write("sys/devices/system/cpu/online", "0-1,4\n");
  EXPECT_EQ(threads(), "3 threads: this process may use 3 physical cores");
  // What contradicts the mask says nothing.
  write("sys/devices/system/cpu/online", "6-7\n");
  EXPECT_EQ(usual_threads(at_).number, 6);
}

TEST_F(Processors, ProcessorsWhereNothingIsToldOfCores) {
  allow(6);
  EXPECT_EQ(threads(), "6 threads: this process may use 6 processors");
  at_.allowed = {5};
  EXPECT_EQ(threads(), "1 thread: this process may use 1 processor");
  at_.allowed = {};
  EXPECT_EQ(usual_threads(at_).number, 1);
  EXPECT_EQ(jobs(), 1);
  allow(5000);
  EXPECT_EQ(usual_threads(at_).number, 1024) << "more are no number of threads";
}

TEST_F(Processors, TheOlderNameOfTheSiblings) {
  allow(4);
  for (int cpu = 0; cpu < 4; ++cpu)
    write(topology(cpu, "thread_siblings_list"), cpu < 2 ? "0-1\n" : "2-3\n");
  EXPECT_EQ(threads(), "2 threads: this process may use 2 physical cores");
}

TEST_F(Processors, FilesThatMakeNoSenseSayNothing) {
  machine(2, 4, 1);
  for (const char* text : {"", "one", "0-", "-3", "3-0", "0,,1", "0-99999999999", "7\n0", "2-3"}) {
    write(topology(0), text);
    EXPECT_EQ(usual_threads(at_).number, 4) << text;
  }
  write(topology(0), "0\n");
  const std::string nodes = "sys/devices/system/node/";
  for (const char* text : {"", "x", "0-x", "9"}) {
    write(nodes + "online", text);
    EXPECT_EQ(usual_threads(at_).number, 8) << text;
  }
  write(nodes + "online", "0-2\n");
  EXPECT_EQ(usual_threads(at_).number, 4) << "a node that only has memory";
  write(nodes + "node1/cpulist", "0-3\n");
  EXPECT_EQ(usual_threads(at_).number, 4) << "processors of two nodes, and of none";
  write(nodes + "node1/cpulist", "4\n");
  EXPECT_EQ(usual_threads(at_).number, 4);
  write(nodes + "node0/cpulist", "0\n");
  EXPECT_EQ(usual_threads(at_).number, 6) << "those of no node";
}

TEST_F(Processors, FewerWhereTheVariableSaysSo) {
  machine(1, 8, 2);
  const auto said = [&](const char* value) {
    at_.omp_num_threads = value;
    return threads();
  };
  const std::string all = "8 threads: this process may use 8 physical cores";
  const std::string three =
      "3 threads: OMP_NUM_THREADS says so; this process may use 8 physical "
      "cores";
  for (const char* value : {"3", " 3 ", "3,2,1", "3 , 2", "03"}) EXPECT_EQ(said(value), three);
  EXPECT_EQ(jobs(), 3);
  EXPECT_EQ(said("1"), "1 thread: OMP_NUM_THREADS says so; this process may use 8 physical cores");
  for (const char* value : {"", " ", "8", "9", "16", "99999999999999999999"})
    EXPECT_EQ(said(value), all) << value;
  for (const char* value : {"abc", "0", "-2", "+3", "3x", "0x3", ",3", "3.5", "00"})
    EXPECT_EQ(said(value),
              all + "; OMP_NUM_THREADS=" + value + " is no number of threads, and ignored");
  EXPECT_TRUE(
      said("a value that is longer than that")
          .ends_with(
              "; OMP_NUM_THREADS=a value that is long... is no number of threads, and ignored"));
  at_.omp_num_threads = "12";
  EXPECT_EQ(jobs(), 12);
}

TEST_F(Processors, FewerByTheQuotaOfANewGroup) {
  machine(1, 8, 1);
  write("proc/self/cgroup", "0::/work/job\n");
  const auto quota = [&](const std::string& text) {
    write("cgroup/work/job/cpu.max", text);
    return threads();
  };
  const std::string all = "8 threads: this process may use 8 physical cores";
  EXPECT_EQ(quota("250000 100000\n"),
            "2 threads: the quota of its control group is the time of 2.5 processors; this process "
            "may use 8 physical cores");
  EXPECT_EQ(jobs(), 2);
  EXPECT_TRUE(quota("299999 100000\n").find(" time of 2.99 processors") != std::string::npos);
  EXPECT_EQ(quota("50000 100000\n"),
            "1 thread: the quota of its control group is the time of 0.5 processors; this process "
            "may use 8 physical cores");
  EXPECT_EQ(quota("20000 20000\n"),
            "1 thread: the quota of its control group is the time of 1 processor; this process may "
            "use 8 physical cores");
  for (const char* text : {"max 100000\n", "800000 100000\n", "900000 100000\n", "", "150000\n",
                           "x y\n", "150000 0\n", "-1 100000\n", "0 100000\n", "150000 100000 7\n"})
    EXPECT_EQ(quota(text), all) << text;
  // The least of those on the way up counts, that of the root, too.
  quota("600000 100000\n");
  write("cgroup/work/cpu.max", "300000 100000\n");
  EXPECT_EQ(usual_threads(at_).number, 3);
  write("cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(usual_threads(at_).number, 2);
  at_.omp_num_threads = "1";
  EXPECT_EQ(usual_threads(at_).number, 1);
  EXPECT_TRUE(threads().starts_with("1 thread: OMP_NUM_THREADS says so")) << threads();
  at_.omp_num_threads = "few";
  EXPECT_EQ(threads(),
            "2 threads: the quota of its control group is the time of 2 processors; this process "
            "may use 8 physical cores; OMP_NUM_THREADS=few is no number of threads, and ignored");
}

TEST_F(Processors, OfAGroupThatIsMountedElsewhere) {
  machine(1, 8, 1);
  write("cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(usual_threads(at_).number, 3) << "without a list of groups";
  write("cgroup/other/cpu.max", "100000 100000\n");
  for (const char* text : {"0::/\n", "0::/../other\n", "0::/a/../../other\n", "0::/no/such\n",
                           "0::other\n", "0:\n", "no list\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(usual_threads(at_).number, 3) << text;
  }
}

TEST_F(Processors, FewerByTheQuotaOfAnOldGroup) {
  machine(1, 8, 1);
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:/docker/1f\n3:cpuset:/\n0::/\n");
  const auto quota = [&](const std::string& folder, const char* time, const char* period) {
    write("cgroup/" + folder + "/cpu.cfs_quota_us", time);
    write("cgroup/" + folder + "/cpu.cfs_period_us", period);
    return usual_threads(at_).number;
  };
  EXPECT_EQ(quota("cpuset/docker/1f", "100000\n", "100000\n"), 8) << "of another controller";
  EXPECT_EQ(quota("cpu,cpuacct/docker/1f", "-1\n", "100000\n"), 8);
  EXPECT_EQ(quota("cpu,cpuacct/docker/1f", "500000\n", "100000\n"), 5);
  EXPECT_EQ(quota("cpu/docker", "420000\n", "100000\n"), 4) << "by the other name of the folder";
  EXPECT_EQ(quota("cpu", "30000\n", "10000\n"), 3) << "as a container has it mounted";
  EXPECT_EQ(quota("cpu", "many\n", "10000\n"), 4);
  // Both versions side by side.
  write("cgroup/unified/cpu.max", "200000 100000\n");
  EXPECT_EQ(usual_threads(at_).number, 2);
}

TEST_F(Processors, TimedOnesAreCoresOfTheirOwn) {
  const auto timed = [&](int threads) { return places_for(threads, at_).timed; };
  const auto others = [&](int threads) { return places_for(threads, at_).others; };
  using Cpus = std::vector<int>;
  allow(4);
  EXPECT_EQ(timed(1), Cpus{3});
  EXPECT_EQ(others(1), (Cpus{0, 1, 2}));
  EXPECT_EQ(timed(4), (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(others(4), Cpus{});
  EXPECT_EQ(timed(5), Cpus{});
  // Cores of two processors each: 0 and 4, 1 and 5 ...
  machine(1, 4, 2);
  EXPECT_EQ(timed(1), Cpus{7});
  EXPECT_EQ(others(1), (Cpus{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(timed(4), (Cpus{4, 5, 6, 7}));
  EXPECT_EQ(others(4), Cpus{});
  EXPECT_EQ(timed(5), (Cpus{3, 4, 5, 6, 7}));
  EXPECT_EQ(others(5), (Cpus{0, 1, 2}));
  at_.allowed = {0, 1, 2, 4, 6, 7};
  EXPECT_EQ(timed(2), (Cpus{6, 7}));
  EXPECT_EQ(others(2), (Cpus{0, 1, 4}));
  // Cores of neighbours: 0 and 1, 2 and 3 ...
  allow(8);
  for (int cpu = 0; cpu < 8; ++cpu)
    write(topology(cpu), std::to_string(cpu & ~1) + "-" + std::to_string(cpu | 1) + "\n");
  EXPECT_EQ(timed(3), (Cpus{3, 5, 7}));
  EXPECT_EQ(others(3), (Cpus{0, 1}));
  // In the node with most cores, then in others.
  machine(2, 4, 1);
  at_.allowed = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(timed(2), (Cpus{2, 3}));
  EXPECT_EQ(others(2), (Cpus{0, 1, 4, 5}));
  EXPECT_EQ(timed(5), (Cpus{0, 1, 2, 3, 5}));
}

TEST_F(Processors, OfThisProcess) {
  const auto allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  EXPECT_TRUE(std::ranges::is_sorted(allowed));
  const ReasonedCount usual = usual_threads();
  EXPECT_GE(usual.number, 1);
  EXPECT_LE(usual.number, static_cast<int>(allowed.size()));
  EXPECT_GE(usual_jobs().number, usual.number);
  // A thread's mask is its own.
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(allowed.back(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_processors(), std::vector<int>{allowed.back()});
    EXPECT_EQ(usual_threads().number, 1);
    EXPECT_EQ(usual_jobs().number, 1);
  }).join();
  EXPECT_EQ(allowed_processors(), allowed);
}

}  // namespace
}  // namespace lathe
