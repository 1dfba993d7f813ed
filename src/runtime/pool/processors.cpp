#include "runtime/pool/processors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lathe::pool {
namespace {

constexpr std::size_t kPath = 1024;

// The beginning of a small file as text; false: it cannot be read.
bool read_text(const char* path, char* text, std::size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::size_t all = 0;
  for (ssize_t got; all + 1 < size && (got = read(file, text + all, size - 1 - all)) > 0;)
    all += static_cast<std::size_t>(got);
  close(file);
  text[all] = 0;
  return all > 0;
}

int rounded_up(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return kNoQuota;
  const long long processors = quota / period + (quota % period != 0 ? 1 : 0);
  return processors < kNoQuota ? static_cast<int>(processors) : kNoQuota;
}

// Of one folder of version 2: "150000 100000" or "max 100000".
int quota_2(const char* folder) {
  char path[kPath + 16], text[64];
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (!read_text(path, text, sizeof text)) return kNoQuota;
  char* rest = nullptr;
  const long long quota = strtoll(text, &rest, 10);
  return rest == text ? kNoQuota : rounded_up(quota, strtoll(rest, nullptr, 10));
}

// Of one folder of version 1; -1: no quota.
int quota_1(const char* folder) {
  char path[kPath + 32], text[64];
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_text(path, text, sizeof text)) return kNoQuota;
  const long long quota = strtoll(text, nullptr, 10);
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  if (!read_text(path, text, sizeof text)) return kNoQuota;
  return rounded_up(quota, strtoll(text, nullptr, 10));
}

// The least of a group and of those that it lies in. In a container the group's own path may be
// hidden; its root is not.
int least(const char* root, const char* group, int (*quota_of)(const char*)) {
  char folder[kPath];
  const int size = snprintf(folder, sizeof folder, "%s%s", root, group);
  if (size < 0 || static_cast<std::size_t>(size) >= sizeof folder) return kNoQuota;
  int fewest = kNoQuota;
  for (const std::size_t shortest = strlen(root);;) {
    const int here = quota_of(folder);
    if (here < fewest) fewest = here;
    char* slash = strrchr(folder, '/');
    if (slash == nullptr || strlen(folder) <= shortest) return fewest;
    *slash = 0;
    if (strlen(folder) < shortest) return fewest;
  }
}

// True where "cpu" is in a list of controllers, as "cpu,cpuacct".
bool has_cpu(const char* list, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    std::size_t end = at;
    while (end < size && list[end] != ',') ++end;
    if (end - at == 3 && memcmp(list + at, "cpu", 3) == 0) return true;
    at = end + 1;
  }
  return false;
}

// Adds what "0-3,8,10-11" lists.
void add_list(const char* text, cpu_set_t& set) {
  while (*text >= '0' && *text <= '9') {
    char* rest = nullptr;
    const long first = strtol(text, &rest, 10);
    long last = first;
    if (*rest == '-') last = strtol(rest + 1, &rest, 10);
    for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu)
      CPU_SET(static_cast<std::size_t>(cpu), &set);
    text = *rest == ',' ? rest + 1 : rest;
  }
}

}  // namespace

int processors_by_quota(const char* groups, const char* root) {
  char text[4096];
  if (!read_text(groups, text, sizeof text)) return kNoQuota;
  int fewest = kNoQuota;
  // Lines as "0::/user.slice" (version 2) and "4:cpu,cpuacct:/docker/1234" (version 1).
  char* next = nullptr;
  for (char* line = strtok_r(text, "\n", &next); line != nullptr;
       line = strtok_r(nullptr, "\n", &next)) {
    char* list = strchr(line, ':');
    char* group = list == nullptr ? nullptr : strchr(list + 1, ':');
    if (group == nullptr) continue;
    const auto size = static_cast<std::size_t>(group - list - 1);
    const char* path = strcmp(group + 1, "/") == 0 ? "" : group + 1;
    char tree[kPath];
    snprintf(tree, sizeof tree, "%s/cpu", root);
    int here = kNoQuota;
    if (size == 0) here = least(root, path, quota_2);
    else if (has_cpu(list + 1, size)) here = least(tree, path, quota_1);
    if (here < fewest) fewest = here;
  }
  return fewest;
}

void Nodes::read(const char* nodes) {
  for (count = 0; count < kMost; ++count) {
    char path[kPath], text[4096];
    snprintf(path, sizeof path, "%s/node%d/cpulist", nodes, count);
    if (!read_text(path, text, sizeof text)) return;
    CPU_ZERO(&processors[count]);
    add_list(text, processors[count]);
  }
}

const cpu_set_t* Nodes::of(int cpu) const {
  for (int i = 0; i < count; ++i)
    if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &processors[i]))
      return &processors[i];
  return nullptr;
}

}  // namespace lathe::pool
