#include "compiler/te/inlining.h"

namespace lathe::te {
namespace {

// What takes the place of a read beside the expression: casts and the test of a padded read.
constexpr double kAround = 3;

struct CountNodes {
  double operator()(const ir::Expr& e) const { return std::visit(*this, e->value); }
  double operator()(const ir::Const&) const { return 1; }
  double operator()(const ir::IterValue&) const { return 1; }
  double operator()(const ir::Read&) const { return 1; }
  double operator()(const ir::InRange&) const { return 1; }
  double operator()(const ir::Unary& n) const { return 1 + (*this)(n.x); }
  double operator()(const ir::Cast& n) const { return 1 + (*this)(n.x); }
  double operator()(const ir::Binary& n) const { return 1 + (*this)(n.a) + (*this)(n.b); }
  double operator()(const ir::Select& n) const {
    return 1 + (*this)(n.condition) + (*this)(n.then) + (*this)(n.otherwise);
  }
};

}  // namespace

std::vector<bool> stages_to_inline(const Program& program) {
  const std::size_t count = program.stages.size();
  std::vector<int> writer(program.tensors.size(), -1);
  for (std::size_t s = 0; s < count; ++s)
    writer[static_cast<std::size_t>(program.stages[s].tensor)] = static_cast<int>(s);
  // Nodes of each stage's expression, and how often each later stage reads it; what is inlined
  // passes both on.
  std::vector<double> nodes;
  std::vector<std::vector<double>> reads(count, std::vector<double>(count));
  for (std::size_t s = 0; s < count; ++s) {
    nodes.push_back(CountNodes{}(program.stages[s].body));
    for (const ir::Read* read : ir::reads_of(program.stages[s].body))
      if (const int w = writer[static_cast<std::size_t>(read->tensor)]; w >= 0)
        ++reads[static_cast<std::size_t>(w)][s];
  }
  std::vector<bool> inlined(count);
  for (std::size_t s = 0; s < count; ++s) {
    const Stage& stage = program.stages[s];
    if (stage.reduce != ir::ReduceOp::kNone ||
        program.tensors[static_cast<std::size_t>(stage.tensor)].role != TensorRole::kIntermediate)
      continue;
    const auto grown = [&](std::size_t r) { return nodes[r] + reads[s][r] * (nodes[s] + kAround); };
    bool fits = true;
    for (std::size_t r = s + 1; r < count; ++r)
      fits = fits && (reads[s][r] == 0 || grown(r) <= kMaxInlined);
    if (!fits) continue;
    inlined[s] = true;
    for (std::size_t r = s + 1; r < count; ++r) {
      if (reads[s][r] == 0) continue;
      nodes[r] = grown(r);
      for (std::size_t w = 0; w < s; ++w) reads[w][r] += reads[s][r] * reads[w][s];
    }
  }
  return inlined;
}

}  // namespace lathe::te
