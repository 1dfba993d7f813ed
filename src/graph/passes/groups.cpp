#include "graph/passes/groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/passes/aligned.h"

namespace lathe::graph {
namespace {

class Grouper {
 public:
  explicit Grouper(const Graph& graph)
      : graph_(graph), users_(graph.nodes.size()), begins_(graph.nodes.size(), false) {
    std::vector<std::vector<int>> makers(graph.values.size());  // by value that is no view
    for (int n = 0; n < count(); ++n)
      for (const int id : node(n).outputs) {
        maker_[graph.range_of(id)] = n;
        makers[place(graph.storage_of(id))].push_back(n);
      }
    const auto use = [&](int id, int user) {
      const Range range = graph.range_of(id);
      for (const int n : makers[place(range.storage)])
        for (const int made : node(n).outputs)
          if (const Range other = graph.range_of(made); overlap(range, other))
            users_[place(n)].push_back(range == other ? user : -1);
    };
    for (int n = 0; n < count(); ++n)
      for (const int id : node(n).inputs) use(id, n);
    for (const int id : graph.outputs) use(id, -1);
  }

  std::vector<std::vector<int>> run() {
    while (true) {
      group_all();
      if (!cut()) break;
    }
    std::erase_if(groups_, [](const std::vector<int>& group) { return group.empty(); });
    std::ranges::sort(groups_, {}, [](const std::vector<int>& group) { return group.back(); });
    return std::move(groups_);
  }

 private:
  int count() const { return static_cast<int>(graph_.nodes.size()); }
  const Node& node(int n) const { return graph_.nodes[place(n)]; }
  // The node that makes the value; -1: none does, or that makes more or less.
  int maker_of(int value) const {
    const auto found = maker_.find(graph_.range_of(value));
    return found == maker_.end() ? -1 : found->second;
  }

  void group_all() {
    groups_.assign(graph_.nodes.size(), {});
    group_of_.assign(graph_.nodes.size(), -1);
    for (int n = 0; n < count(); ++n) {
      int joined = n;
      for (const int candidate : candidates(n))
        if (!begins_[place(n)] && may_join(n, candidate)) {
          joined = candidate;
          break;
        }
      group_of_[place(n)] = joined;
      groups_[place(joined)].push_back(n);
    }
  }

  // Groups that make inputs of the node, the latest first.
  std::vector<int> candidates(int n) const {
    std::set<int, std::greater<>> makers;
    for (const int id : node(n).inputs)
      if (const int maker = maker_of(id); maker >= 0) makers.insert(maker);
    std::vector<int> out;
    for (const int maker : makers)
      if (const int group = group_of_[place(maker)]; std::ranges::count(out, group) == 0)
        out.push_back(group);
    return out;
  }

  bool may_join(int n, int group) const {
    const std::vector<int> tensors = node(n).expression.inputs();
    std::vector<int> from_group;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const int maker = maker_of(node(n).inputs[i]);
      if (maker >= 0 && group_of_[place(maker)] == group) from_group.push_back(tensors[i]);
    }
    return node(n).outputs.size() == 1 && node(group).outputs.size() == 1 &&
           is_aligned(node(n).expression, from_group);
  }

  bool escapes(int n, int group, std::size_t members) const {
    const auto& all = groups_[place(group)];
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(members);
    return std::ranges::any_of(users_[place(n)],
                               [&](int user) { return std::find(all.begin(), end, user) == end; });
  }

  // Ends each group where what its last node makes is all that is needed outside; true if something
  // was cut off, which then begins a group of its own.
  bool cut() {
    bool changed = false;
    for (int group = 0; group < count(); ++group) {
      const auto& all = groups_[place(group)];
      std::size_t members = all.size();
      const auto is_whole = [&] {
        for (std::size_t m = 0; m + 1 < members; ++m)
          if (escapes(all[m], group, members)) return false;
        return true;
      };
      while (members > 1 && !is_whole()) --members;
      if (members >= all.size()) continue;
      begins_[place(all[members])] = true;
      changed = true;
    }
    return changed;
  }

  const Graph& graph_;
  std::map<Range, int> maker_;
  // By node, the nodes that read what it makes; -1: an output of the graph, or a node that reads a
  // part, or more.
  std::vector<std::vector<int>> users_;
  std::vector<bool> begins_;              // by node: it joins no group
  std::vector<int> group_of_;             // by node: the first node of its group
  std::vector<std::vector<int>> groups_;  // by first node
};

}  // namespace

std::vector<std::vector<int>> groups_of(const Graph& graph) { return Grouper(graph).run(); }

}  // namespace lathe::graph
