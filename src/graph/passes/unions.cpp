#include "graph/passes/unions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/te/work.h"
#include "graph/passes/fuse.h"

namespace lathe::graph {
namespace {

enum class Anchor {
  kNone,     // no reduction, or several that are no rows
  kProduct,  // a sum that uses what it reads again
  kWindow,   // neighbours of an image, for each channel
  kRows,     // along whole dimensions
};

// The row without iterators that have one value, which is 0, as of taps of a convolution of 1x1.
ir::Affine moving(const te::Stage& stage, const ir::Affine& row) {
  ir::Affine out = row;
  std::erase_if(out.terms, [&](const ir::AffineTerm& term) {
    return stage.iters[place(term.iter)].extent == 1;
  });
  return out;
}

// True if the stage reads neighbours: places that its own element and its terms move.
bool sums_neighbours(const te::Stage& stage) {
  const auto moves = [&](const ir::Affine& row) {
    std::set<te::IterKind> kinds;
    for (const ir::AffineTerm& term : moving(stage, row).terms)
      kinds.insert(stage.iters[place(term.iter)].kind);
    return kinds.size() > 1;
  };
  return std::ranges::any_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    return std::ranges::any_of(read->index, moves);
  });
}

// What a node's reductions of data are.
struct NodeAnchor {
  Anchor anchor = Anchor::kNone;
  bool neighbours = false;  // a product reads them, as a convolution of 3x3
};

NodeAnchor anchor_of(const te::Workload& expression) {
  std::set<int> fixed;  // tensors that follow from constants
  for (int t = 0; t < std::ssize(expression.tensors); ++t)
    if (const te::Tensor& tensor = expression.tensors[place(t)];
        tensor.constant || tensor.role == te::TensorRole::kLiteral)
      fixed.insert(t);
  int products = 0, windows = 0, rows = 0;
  NodeAnchor kind;
  for (const te::Stage& stage : expression.stages) {
    if (!ir::lookups_of(stage.body).empty()) return {};
    const auto read = ir::tensors_of(stage.body);
    if (std::ranges::all_of(read, [&](int t) { return fixed.contains(t); })) {
      fixed.insert(stage.tensor);
      continue;
    }
    if (std::ranges::count(read, stage.tensor) > 0) return {};
    if (stage.reduce == ir::ReduceOp::kNone) continue;
    const bool neighbours = sums_neighbours(stage);
    const bool product = stage.reduce == ir::ReduceOp::kSum && te::has_reuse(stage);
    ++(product ? products : neighbours ? windows : rows);
    kind.neighbours |= product && neighbours;
  }
  if (products + windows + rows == 0 || (products + windows > 0 && rows > 0) ||
      products + windows > 1)
    return {};
  kind.anchor = products > 0 ? Anchor::kProduct : windows > 0 ? Anchor::kWindow : Anchor::kRows;
  return kind;
}

// By dimension of a tensor that an expression reads, the dimension of its output of which each
// element needs the elements of the same number alone; -1: there is none.
using Ways = std::vector<int>;

// The dimension of the stage's tensor along which all reads of the tensor go through its dimension
// one by one; -1: there is none. Other tensors do not matter.
int way_through(const te::Stage& stage, int tensor, std::size_t dim, std::size_t made_dims) {
  int way = -1;
  for (const ir::Read* read : ir::reads_of(stage.body)) {
    if (read->tensor != tensor) continue;
    const ir::Affine row = moving(stage, read->index[dim]);
    if (row.terms.size() != 1 || row != ir::Affine::iter(row.terms[0].iter)) return -1;
    const int iter = row.terms[0].iter;
    if (place(iter) >= made_dims || (way >= 0 && way != iter)) return -1;
    way = iter;
  }
  return way;
}

Ways ways_through(const te::Workload& expression, int tensor) {
  const auto dims_of = [&](int t) { return expression.tensors[place(t)].shape.size(); };
  std::map<int, Ways> known;  // by tensor that follows from the one
  for (std::size_t d = 0; d < dims_of(tensor); ++d) known[tensor].push_back(static_cast<int>(d));
  for (const te::Stage& stage : expression.stages) {
    std::optional<Ways> made;
    for (const int read : ir::tensors_of(stage.body)) {
      const auto from = known.find(read);
      if (from == known.end()) continue;
      Ways ways;
      for (const int dim : from->second)
        ways.push_back(dim < 0 ? -1 : way_through(stage, read, place(dim), dims_of(stage.tensor)));
      if (!made) made = ways;
      for (std::size_t d = 0; d < ways.size(); ++d)
        if ((*made)[d] != ways[d]) (*made)[d] = -1;
    }
    if (made) known[stage.tensor] = std::move(*made);
  }
  const auto output = known.find(expression.outputs()[0]);
  return output == known.end() ? Ways(dims_of(tensor), -1) : output->second;
}

class UnionFinder {
 public:
  UnionFinder(const Graph& graph, std::int64_t least_bytes)
      : graph_(graph), least_bytes_(least_bytes) {
    for (int n = 0; n < std::ssize(graph.nodes); ++n) {
      const Node& node = graph.nodes[place(n)];
      const bool one = node.outputs.size() == 1;
      kinds_.push_back(one ? anchor_of(node.expression) : NodeAnchor());
      if (one) maker_[graph.range_of(node.outputs[0])] = n;
      for (const int id : node.inputs) readers_[graph.storage_of(id)].insert(n);
    }
    for (const int id : graph.outputs) readers_[graph.storage_of(id)].insert(-1);
  }

  std::vector<Union> run() {
    for (int n = 0; n < std::ssize(graph_.nodes); ++n)
      for (const int before : makers_of(n)) {
        const NodeAnchor first = kinds_[place(before)], last = kinds_[place(n)];
        const bool ends = last.anchor == Anchor::kProduct,
                   begins = first.anchor == Anchor::kProduct;
        const bool windows = (first.anchor == Anchor::kWindow && ends) ||
                             (begins && !first.neighbours && last.anchor == Anchor::kWindow);
        if (windows) offer({before, n});
        if (first.anchor != Anchor::kRows || !ends) continue;
        for (const int product : makers_of(before))
          if (kinds_[place(product)].anchor == Anchor::kProduct) offer({product, before, n});
      }
    return std::move(out_);
  }

 private:
  const Node& node(int n) const { return graph_.nodes[place(n)]; }

  // Nodes that make something for this one alone that is no part of anything.
  std::set<int> makers_of(int n) const {
    std::set<int> out;
    for (const int id : node(n).inputs) {
      const Range range = graph_.range_of(id);
      const auto maker = maker_.find(range);
      if (maker != maker_.end() && graph_.is_whole(range) &&
          readers_.at(range.storage) == std::set<int>{n})
        out.insert(maker->second);
    }
    return out;
  }

  // Of what the member before makes: for each of its dimensions, that of what this one makes.
  Ways ways_between(int before, int n) const {
    const te::Workload &from = node(before).expression, &to = node(n).expression;
    const std::vector<int> tensors = to.inputs();
    const Shape& made = from.tensors[place(from.outputs()[0])].shape;
    Ways ways(made.size(), -1);
    bool any = false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (graph_.range_of(node(n).inputs[i]) != graph_.range_of(node(before).outputs[0])) continue;
      if (to.tensors[place(tensors[i])].shape != made) return Ways(made.size(), -1);
      const Ways own = ways_through(to, tensors[i]);
      for (std::size_t d = 0; d < ways.size(); ++d)
        if (!any) ways[d] = own[d];
        else if (ways[d] != own[d]) ways[d] = -1;
      any = true;
    }
    return ways;
  }

  bool has_common_rows(const std::vector<int>& members) const {
    const te::Workload& first = node(members[0]).expression;
    const Shape& made = first.tensors[place(first.outputs()[0])].shape;
    Ways ways;
    for (std::size_t d = 0; d < made.size(); ++d)
      ways.push_back(made[d] > 1 ? static_cast<int>(d) : -1);
    for (std::size_t m = 1; m < members.size(); ++m) {
      const Ways next = ways_between(members[m - 1], members[m]);
      for (int& way : ways) way = way < 0 ? -1 : next.at(place(way));
    }
    return std::ranges::any_of(ways, [](int way) { return way >= 0; });
  }

  void offer(std::vector<int> members) {
    for (std::size_t m = 0; m + 1 < members.size(); ++m)
      if (graph_.value(node(members[m]).outputs[0]).bytes() < least_bytes_) return;
    if (!has_common_rows(members)) return;
    if (auto node = merged(graph_, members)) out_.push_back({std::move(members), std::move(*node)});
  }

  const Graph& graph_;
  const std::int64_t least_bytes_;
  std::vector<NodeAnchor> kinds_;         // by node
  std::map<Range, int> maker_;            // nodes with one output, by what they make
  std::map<int, std::set<int>> readers_;  // nodes, by value that is no view; -1: an output
  std::vector<Union> out_;
};

}  // namespace

std::vector<Union> unions_of(const Graph& graph, std::int64_t least_bytes) {
  return UnionFinder(graph, least_bytes).run();
}

Graph united(const Graph& graph, const std::vector<Union>& taken) {
  std::map<int, const Union*> by_last;
  std::set<int> inside;
  for (const Union& each : taken) {
    by_last[each.members.back()] = &each;
    for (const int member : each.members)
      LATHE_CHECK(inside.insert(member).second, "a node is in two groups");
  }
  Graph out = graph;
  out.nodes.clear();
  for (int n = 0; n < std::ssize(graph.nodes); ++n) {
    if (const auto found = by_last.find(n); found != by_last.end())
      out.nodes.push_back(found->second->node);
    else if (!inside.contains(n)) out.nodes.push_back(graph.nodes[place(n)]);
  }
  drop_unused(out);
  return out;
}

}  // namespace lathe::graph
