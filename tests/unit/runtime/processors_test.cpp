#include "runtime/pool/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_folder.h"

namespace lathe::pool {
namespace {

namespace fs = std::filesystem;

struct Tree {
  test::TemporaryFolder folder;
  fs::path root = folder.path();
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  int quota() const {
    return processors_by_quota((root / "cgroup").c_str(), (root / "sys").c_str());
  }
};

TEST(Processors, QuotaOfVersion2) {
  const Tree tree;
  EXPECT_EQ(tree.quota(), kNoQuota);
  tree.write("cgroup", "0::/user.slice/job.scope\n");
  EXPECT_EQ(tree.quota(), kNoQuota);
  tree.write("sys/user.slice/job.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(tree.quota(), kNoQuota);
  tree.write("sys/user.slice/cpu.max", "350000 100000\n");
  EXPECT_EQ(tree.quota(), 4);
  tree.write("sys/user.slice/job.scope/cpu.max", "50000 100000\n");
  EXPECT_EQ(tree.quota(), 1);
}

TEST(Processors, QuotaInsideAContainer) {
  const Tree tree;
  tree.write("cgroup", "0::/\n");
  tree.write("sys/cpu.max", "150000 100000\n");
  EXPECT_EQ(tree.quota(), 2);
}

TEST(Processors, QuotaOfVersion1) {
  const Tree tree;
  tree.write("cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/12ab\n1:name=systemd:/docker/12ab\n");
  tree.write("sys/cpu/cpu.cfs_quota_us", "-1\n");
  tree.write("sys/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.quota(), kNoQuota);
  tree.write("sys/cpu/docker/12ab/cpu.cfs_quota_us", "200001\n");
  tree.write("sys/cpu/docker/12ab/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.quota(), 3);
}

TEST(Processors, NonsenseIsNoQuota) {
  const Tree tree;
  for (const char* groups : {"", "\n\n", "0", "0:", "0::", ":::::", "abc\n0::/../../x\n"}) {
    tree.write("cgroup", groups);
    EXPECT_EQ(tree.quota(), kNoQuota) << groups;
  }
  tree.write("cgroup", "0::/a\n");
  for (const char* text : {"", "x", "0 0", "-5 100000", "100000", "100000 0", "9e99", "max"}) {
    tree.write("sys/a/cpu.max", text);
    EXPECT_EQ(tree.quota(), kNoQuota) << text;
  }
  tree.write("sys/a/cpu.max", "999999999999999999999999 1");
  EXPECT_EQ(tree.quota(), kNoQuota);
}

TEST(Processors, Nodes) {
  const Tree tree;
  Nodes nodes;
  nodes.read((tree.root / "node").c_str());
  EXPECT_EQ(nodes.count, 0);
  EXPECT_EQ(nodes.of(0), nullptr);
  tree.write("node/node0/cpulist", "0-3,8-11\n");
  tree.write("node/node1/cpulist", "4-7,12,14-15\n");
  tree.write("node/node2/cpulist", "\n");  // memory only
  nodes.read((tree.root / "node").c_str());
  ASSERT_GE(nodes.count, 2);
  EXPECT_EQ(nodes.of(9), &nodes.processors[0]);
  EXPECT_EQ(nodes.of(15), &nodes.processors[1]);
  EXPECT_EQ(nodes.of(13), nullptr);
  EXPECT_EQ(nodes.of(-1), nullptr);
  EXPECT_EQ(nodes.of(1 << 20), nullptr);
  EXPECT_EQ(CPU_COUNT(&nodes.processors[0]), 8);
  EXPECT_EQ(CPU_COUNT(&nodes.processors[1]), 7);
}

}  // namespace
}  // namespace lathe::pool
