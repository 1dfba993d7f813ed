#include "graph/passes/concat.h"

#include <algorithm>
#include <set>

#include "compiler/te/parse.h"
#include "graph/passes/aligned.h"
#include "graph/passes/pieces.h"

namespace lathe::graph {
namespace {

struct Joined {
  Range from;
  std::int64_t to;  // its first element there
};

// What the node joins; neighbours that lie side by side as one.
std::vector<Joined> joined_by(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1) return {};
  const auto pieces = pieces_of(node.expression);
  if (!pieces) return {};
  const std::vector<int> tensors = node.expression.inputs();
  std::vector<Joined> out;
  for (const Piece& piece : *pieces) {
    const auto i = std::ranges::find(tensors, piece.tensor) - tensors.begin();
    const Range all = graph.range_of(node.inputs[static_cast<std::size_t>(i)]);
    const std::int64_t begin = all.begin + piece.from;
    if (!out.empty() && out.back().from.storage == all.storage && out.back().from.end == begin)
      out.back().from.end += piece.count;
    else out.push_back({{all.storage, begin, begin + piece.count}, piece.to});
  }
  return out;
}

// By value: a node makes it, as a whole.
std::vector<bool> made_values(const Graph& graph) {
  std::vector<bool> made(graph.values.size(), false);
  for (const Node& node : graph.nodes)
    for (const int id : node.outputs) made[place(id)] = true;
  return made;
}

// True if what is joined may be made in the result: it is all of a value that a node makes, or
// several, and has no other place, as by being joined before.
bool is_free(const Graph& graph, const std::vector<bool>& made, const Joined& each, int result) {
  const int storage = each.from.storage;
  return graph.is_whole(each.from) && made[place(storage)] && !graph.value(storage).view_of &&
         storage != graph.storage_of(result);
}

// How many elements of the result may be made there.
std::int64_t free_elements(const Graph& graph, const std::vector<bool>& made,
                           const std::vector<Joined>& joined, int result) {
  std::set<int> placed;  // each once
  std::int64_t count = 0;
  for (const Joined& each : joined)
    if (is_free(graph, made, each, result) && placed.insert(each.from.storage).second)
      count += each.from.end - each.from.begin;
  return count;
}

class Concatenations {
 public:
  explicit Concatenations(Graph& graph) : graph_(graph), is_made_(made_values(graph)) {
    for (const Value& value : graph.values) names_.insert(value.name);
  }

  // The last ones first: shorter ones may lie in them.
  Status run() {
    std::vector<Node> reversed;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      const auto joined = joined_by(graph_, node);
      if (!joined.empty() && see(node, joined)) continue;
      if (joined.empty() || !is_worth_it(node, joined)) reversed.push_back(node);
      else LATHE_TRY_STATUS(make_in_place(node, joined, reversed));
    }
    std::ranges::reverse(reversed);
    graph_.nodes = std::move(reversed);
    drop_unused(graph_);
    return {};
  }

 private:
  // Makes the result a view where everything lies side by side already.
  bool see(const Node& node, const std::vector<Joined>& joined) {
    const int made = node.outputs[0];
    const Range& from = joined[0].from;
    if (joined.size() != 1 || graph_.value(made).view_of || graph_.value(from.storage).constant)
      return false;
    Value& value = graph_.values[place(made)];
    value.view_of = from.storage;
    value.begin = from.begin;
    return true;
  }

  // Copies cost what the node would have: half of it must be made in place. Where nothing but an
  // element-wise node reads the result, that can read what is joined as it is.
  bool is_worth_it(const Node& node, const std::vector<Joined>& joined) const {
    const std::int64_t count = free_elements(graph_, is_made_, joined, node.outputs[0]);
    const std::int64_t all = graph_.value(node.outputs[0]).elements();
    if (count == all) return true;
    return 2 * count >= all && !joins_readers(node.outputs[0]);
  }

  bool joins_readers(int result) const {
    const Range made = graph_.range_of(result);
    const auto touches = [&](int id) { return overlap(graph_.range_of(id), made); };
    if (std::ranges::any_of(graph_.outputs, touches)) return false;
    return std::ranges::all_of(graph_.nodes, [&](const Node& node) {
      return std::ranges::none_of(node.inputs, touches) || is_pointwise(node.expression);
    });
  }

  Status make_in_place(const Node& node, const std::vector<Joined>& joined,
                       std::vector<Node>& reversed) {
    const int result = node.outputs[0];
    for (const Joined& each : joined) {
      if (!is_free(graph_, is_made_, each, result)) {
        reversed.push_back(LATHE_TRY(copy_of(each, node)));
        continue;
      }
      Value& storage = graph_.values[place(each.from.storage)];
      storage.view_of = result;
      storage.begin = each.to;
    }
    is_made_.resize(graph_.values.size(), true);
    return {};
  }

  int add_view(const std::string& name, int of, std::int64_t begin, std::int64_t count) {
    std::string unique = name;
    for (int n = 2; !names_.insert(unique).second; ++n) unique = fmt::format("{}_{}", name, n);
    graph_.values.push_back({unique, graph_.value(of).dtype, {count}, {}, of, begin});
    return static_cast<int>(graph_.values.size()) - 1;
  }

  Result<Node> copy_of(const Joined& each, const Node& node) {
    const std::string name = graph_.value(each.from.storage).name;
    const std::int64_t count = each.from.end - each.from.begin;
    Node copy;
    copy.expression = LATHE_TRY(te::parse_workload(fmt::format(
        "X: {}[{}]; Y[i] = X[i]", name_of(graph_.value(each.from.storage).dtype), count)));
    copy.inputs = {graph_.is_whole(each.from)
                       ? each.from.storage
                       : add_view(name + "_part", each.from.storage, each.from.begin, count)};
    copy.outputs = {add_view(name + "_joined", node.outputs[0], each.to, count)};
    copy.name = node.name;
    copy.op = "Copy";
    return copy;
  }

  Graph& graph_;
  std::vector<bool> is_made_;  // by value: by a node, as a whole
  std::set<std::string> names_;
};

}  // namespace

Status concat(Graph& graph) { return Concatenations(graph).run(); }

bool has_no_program(const Graph& graph, const Node& node) {
  const auto joined = joined_by(graph, node);
  if (joined.empty()) return false;
  const int result = node.outputs[0];
  if (joined.size() == 1 && !graph.value(joined[0].from.storage).constant) return true;
  return free_elements(graph, made_values(graph), joined, result) == graph.value(result).elements();
}

}  // namespace lathe::graph
