#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <thread>

#include "base/environment.h"
#include "base/split.h"
#include "base/target.h"

namespace lathe {
namespace {

constexpr int kMostProcessors = 1 << 16;  // a larger number of one is a damaged file
constexpr std::size_t kLargestFile = 1 << 16;

// Empty where it cannot be read.
std::string text_of(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  std::string text(kLargestFile, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kSpaces = " \t\r\n";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// None where the text is anything but one number, or one that is too large.
std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "0-3,8" as the system lists processors. None where it is not such a list.
std::optional<std::vector<int>> list_in(const std::string& text) {
  std::vector<int> list;
  const std::string all = trimmed(text);
  if (all.empty()) return list;
  for (const std::string& part : split(all, ',')) {
    const auto dash = part.find('-');
    const auto first = number_in(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostProcessors)
      return std::nullopt;
    for (auto cpu = *first; cpu <= *last; ++cpu) list.push_back(static_cast<int>(cpu));
  }
  return list;
}

// Those of `some` that are among `others`.
std::vector<int> both(const std::vector<int>& some, const std::vector<int>& others) {
  std::vector<int> out;
  std::ranges::copy_if(some, std::back_inserter(out),
                       [&](int cpu) { return std::ranges::find(others, cpu) != others.end(); });
  return out;
}

// The allowed ones that are switched on; all, where the system does not tell.
std::vector<int> usable(const Surroundings& at) {
  const auto online = list_in(text_of(at.sys + "/devices/system/cpu/online"));
  auto out = both(at.allowed, online.value_or(at.allowed));
  return out.empty() ? at.allowed : out;
}

// Of the core that a processor is part of, the lowest processor.
std::optional<int> core_of(const std::string& sys, int cpu) {
  const std::string folder = sys + "/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
    const auto siblings = list_in(text_of(folder + name));
    if (siblings && std::ranges::find(*siblings, cpu) != siblings->end())
      return *std::ranges::min_element(*siblings);
  }
  return std::nullopt;
}

// Processors of each core, in order of the cores' lowest ones.
using Cores = std::vector<std::vector<int>>;

// The cores of each node, the node with most of them last. Processors that no node lists are one.
std::vector<Cores> nodes_of(const std::vector<int>& cpus, const std::string& sys) {
  const std::string folder = sys + "/devices/system/node/";
  std::vector<int> left = cpus;
  std::vector<Cores> nodes;
  const auto add = [&](const std::vector<int>& here) {
    std::map<int, std::vector<int>> cores;
    for (const int cpu : here) cores[core_of(sys, cpu).value_or(cpu)].push_back(cpu);
    nodes.emplace_back();
    for (auto& [lowest, processors] : cores) nodes.back().push_back(std::move(processors));
  };
  for (const int node : list_in(text_of(folder + "online")).value_or(std::vector<int>())) {
    const auto listed = list_in(text_of(folder + "node" + std::to_string(node) + "/cpulist"));
    const auto here = both(left, listed.value_or(std::vector<int>()));
    std::erase_if(left, [&](int cpu) { return std::ranges::find(here, cpu) != here.end(); });
    add(here);
  }
  add(left);
  std::ranges::stable_sort(nodes, {}, [](const Cores& cores) { return cores.size(); });
  return nodes;
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// Processors that so much time in such a period makes.
double quota_of(const std::string& time, const std::string& period) {
  const auto part = number_in(trimmed(time)), whole = number_in(trimmed(period));
  if (!part || !whole || *part <= 0 || *whole <= 0) return kNoQuota;
  return static_cast<double>(*part) / static_cast<double>(*whole);
}

// "150000 100000" of version 2; "max" in place of the first sets no limit.
double quota_in(const std::string& cpu_max) {
  const auto words = split(trimmed(cpu_max), ' ');
  return words.size() == 2 ? quota_of(words[0], words[1]) : kNoQuota;
}

// The least of what `limit` finds in a group's folder and in those above it, up to the root. A path
// that leads out of what is mounted here is no folder here, but the root is.
template <class Limit>
double least_upwards(const std::string& root, std::string path, const Limit& limit) {
  double least = limit(root);
  if ((path + "/").find("/../") != std::string::npos) return least;
  for (; path.size() > 1; path.resize(path.rfind('/'))) least = std::min(least, limit(root + path));
  return least;
}

// "1 physical core", "4 processors".
std::string counted(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// Lowers the count to what the variable says, whose first number is for the outermost threads.
// Returns what is wrong with it.
std::string heed_variable(const std::string& said, const std::string& there, ReasonedCount& count) {
  if (trimmed(said).empty()) return "";
  const std::string first = trimmed(split(said, ',').front());
  const auto number = number_in(first);
  const bool digits = !first.empty() && first.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || number == 0) {
    constexpr std::size_t kShown = 20;
    return "; OMP_NUM_THREADS=" + said.substr(0, kShown) + (said.size() > kShown ? "..." : "") +
           " is no number of threads, and ignored";
  }
  // What is no number now is a very large one.
  if (number && *number < count.number)
    count = {static_cast<int>(*number), "OMP_NUM_THREADS says so; " + there};
  return "";
}

// Lowers the count to the whole processors of the quota: with a thread more its time would be used
// up before its period is, and all threads would stop.
void heed_quota(double quota, const std::string& there, ReasonedCount& count) {
  if (!(quota < count.number)) return;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g",
                quota < 1 ? quota : std::floor(quota * 100) / 100);
  count = {std::max(1, static_cast<int>(quota)),
           std::string("the quota of its control group is the time of ") + text.data() +
               (quota == 1 ? " processor; " : " processors; ") + there};
}

// `there`: "this process may use 4 physical cores".
ReasonedCount limited(ReasonedCount count, const std::string& there, const Surroundings& at) {
  count.number = std::clamp(count.number, 1, kMostThreads);
  const std::string remark = heed_variable(at.omp_num_threads, there, count);
  heed_quota(processor_quota(at), there, count);
  count.why += remark;
  count.ignores = !remark.empty();
  return count;
}

}  // namespace

std::vector<int> allowed_processors() {
  std::vector<int> cpus;
  for (int most = CPU_SETSIZE; cpus.empty() && most <= kMostProcessors; most *= 2) {
    cpu_set_t* set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(bytes, set);
    // It fails where there are more than fit.
    const bool known = ::sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < most; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    CPU_FREE(set);
  }
  if (!cpus.empty()) return cpus;
  cpus.resize(std::max(1U, std::thread::hardware_concurrency()));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

Surroundings own_surroundings() {
  return {.allowed = allowed_processors(), .omp_num_threads = environment("OMP_NUM_THREADS")};
}

double processor_quota(const Surroundings& at) {
  const auto newer = [](const std::string& folder) {
    return quota_in(text_of(folder + "/cpu.max"));
  };
  const auto older = [](const std::string& folder) {
    return quota_of(text_of(folder + "/cpu.cfs_quota_us"), text_of(folder + "/cpu.cfs_period_us"));
  };
  double least = std::min(newer(at.cgroup), older(at.cgroup + "/cpu"));
  for (const std::string& line : split(text_of(at.proc + "/self/cgroup"), '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    const auto names = split(controllers, ',');
    if (controllers.empty()) {
      for (const char* mount : {"", "/unified"})
        least = std::min(least, least_upwards(at.cgroup + mount, path, newer));
    } else if (std::ranges::find(names, "cpu") != names.end()) {
      for (const std::string& mount : {std::string("cpu"), controllers})
        least = std::min(least, least_upwards(at.cgroup + "/" + mount, path, older));
    }
  }
  return least;
}

ReasonedCount usual_threads(const Surroundings& surroundings) {
  const auto cpus = usable(surroundings);
  const auto nodes = nodes_of(cpus, surroundings.sys);
  int all = 0;
  for (const Cores& cores : nodes) all += static_cast<int>(cores.size());
  const auto near = static_cast<int>(nodes.back().size());
  const bool told = std::ranges::any_of(
      cpus, [&](int cpu) { return core_of(surroundings.sys, cpu).has_value(); });
  const std::string there =
      "this process may use " + counted(all, told ? "physical core" : "processor");
  return limited({near, near < all ? "those of one NUMA node; " + there : there}, there,
                 surroundings);
}

ReasonedCount usual_jobs(const Surroundings& surroundings) {
  const auto cpus = static_cast<int>(usable(surroundings).size());
  const std::string why = "this process may use " + counted(cpus, "processor");
  return limited({cpus, why}, why, surroundings);
}

Places places_for(int threads, const Surroundings& surroundings) {
  const auto cpus = usable(surroundings);
  const auto timed = static_cast<std::size_t>(std::max(threads, 0));
  if (cpus.size() < timed) return {};
  Cores cores;  // those that are timed on last
  for (Cores& node : nodes_of(cpus, surroundings.sys))
    cores.insert(cores.end(), node.begin(), node.end());
  if (cores.size() < timed) {  // some cores get several threads: each processor counts
    cores.clear();
    for (const int cpu : cpus) cores.push_back({cpu});
  }
  Places places;
  const std::size_t others = cores.size() - timed;
  for (std::size_t i = 0; i < others; ++i)
    places.others.insert(places.others.end(), cores[i].begin(), cores[i].end());
  for (std::size_t i = others; i < cores.size(); ++i) places.timed.push_back(cores[i].back());
  std::ranges::sort(places.others);
  std::ranges::sort(places.timed);
  return places;
}

std::string threads_text(const ReasonedCount& threads) {
  return counted(threads.number, "thread") + ": " + threads.why;
}

void keep_to(std::span<const int> processors) {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace lathe
