#include "graph/passes/groups.h"

#include <algorithm>
#include <set>

#include "graph/passes/aligned.h"

namespace lathe::graph {
namespace {

class Grouper {
 public:
  explicit Grouper(const Graph& graph)
      : graph_(graph),
        maker_(graph.values.size(), -1),
        users_(graph.values.size()),
        is_output_(graph.values.size(), false),
        begins_(graph.nodes.size(), false) {
    for (int n = 0; n < count(); ++n) {
      for (const int id : node(n).outputs) maker_[place(id)] = n;
      for (const int id : node(n).inputs) users_[place(graph.storage_of(id))].push_back(n);
    }
    for (const int id : graph.outputs) is_output_[place(graph.storage_of(id))] = true;
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
  // The node that makes the value; -1: none does.
  int maker_of(int value) const { return maker_[place(graph_.storage_of(value))]; }

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
    return std::ranges::any_of(node(n).outputs, [&](int value) {
      return is_output_[place(value)] || std::ranges::any_of(users_[place(value)], [&](int user) {
               return std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(members),
                                user) == all.begin() + static_cast<std::ptrdiff_t>(members);
             });
    });
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
  std::vector<int> maker_;                // by value
  std::vector<std::vector<int>> users_;   // by value that is no view
  std::vector<bool> is_output_;           // by value that is no view
  std::vector<bool> begins_;              // by node: it joins no group
  std::vector<int> group_of_;             // by node: the first node of its group
  std::vector<std::vector<int>> groups_;  // by first node
};

}  // namespace

std::vector<std::vector<int>> groups_of(const Graph& graph) { return Grouper(graph).run(); }

}  // namespace lathe::graph
