#include "search/process_tree.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <vector>

namespace lathe::bench {
namespace {

namespace fs = std::filesystem;

struct Process {
  pid_t id, parent;
  std::string name;
};

// /proc/ID/stat: "ID (NAME) STATE PARENT ...", where the name may hold anything.
bool read_stat(const fs::path& folder, Process& process) {
  std::ifstream file(folder / "stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 > line.size())
    return false;
  process.name = line.substr(open + 1, close - open - 1);
  const char* parent = line.data() + close + 4;
  return std::from_chars(parent, line.data() + line.size(), process.parent).ec == std::errc();
}

std::vector<Process> processes() {
  std::vector<Process> out;
  std::error_code gone;
  for (fs::directory_iterator entry("/proc", gone), end; !gone && entry != end;
       entry.increment(gone)) {
    const std::string name = entry->path().filename();
    Process process{};
    const bool number = std::from_chars(name.data(), name.data() + name.size(), process.id).ptr ==
                        name.data() + name.size();
    if (number && read_stat(entry->path(), process)) out.push_back(std::move(process));
  }
  return out;
}

double proportional_bytes(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/smaps_rollup");
  for (std::string word; file >> word;) {
    double kilobytes = 0;
    if (word == "Pss:" && file >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

}  // namespace

std::map<std::string, double> tree_memory(pid_t root) {
  const auto all = processes();
  std::vector<pid_t> tree = {root};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& process : all)
      if (process.parent == tree[i]) tree.push_back(process.id);
  std::map<std::string, double> out;
  for (const auto& process : all)
    if (std::ranges::find(tree, process.id) != tree.end())
      out[process.name] += proportional_bytes(process.id);
  return out;
}

}  // namespace lathe::bench
