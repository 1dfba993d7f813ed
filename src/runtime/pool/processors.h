// What the system says of processors: how many a container may use, and which belong to one NUMA
// node. Libc only; folders are arguments for tests.
#pragma once

#include <sched.h>

namespace lathe::pool {

constexpr int kNoQuota = 1 << 20;

// Processors that the quota of this process's control group allows, rounded up: 1 for half of one;
// kNoQuota where there is none. It reads cpu.max (version 2) or cpu.cfs_quota_us (version 1) of the
// group and of all that it lies in.
int processors_by_quota(const char* groups = "/proc/self/cgroup",
                        const char* root = "/sys/fs/cgroup");

// The NUMA nodes of the machine; without folders in `nodes` there are none.
struct Nodes {
  static constexpr int kMost = 64;
  int count = 0;
  cpu_set_t processors[kMost];

  void read(const char* nodes = "/sys/devices/system/node");
  // The node of a processor; null: unknown.
  const cpu_set_t* of(int cpu) const;
};

}  // namespace lathe::pool
