#include "compiler/te/softmax_exponents.h"

#include <optional>
#include <vector>

namespace lathe::te {
namespace {

using ir::Affine;
using ir::Expr;
using ir::Read;

// True if the index is one of [0, extent), wherever the stage's iterators are.
bool lies_within(const Affine& index, const Stage& stage, std::int64_t extent) {
  std::int64_t low = index.offset, high = index.offset;
  for (const ir::AffineTerm& term : index.terms) {
    const std::int64_t last =
        term.coef * (stage.iters[static_cast<std::size_t>(term.iter)].extent - 1);
    (last < 0 ? low : high) += last;
  }
  return low >= 0 && high < extent;
}

// Says of which iteration of a maximum a value is the term.
class Term {
 public:
  Term(const Stage& maximum, const Stage& user) : maximum_(maximum), user_(user) {}

  // `at`: the element of the maximum, by the user's iterators.
  bool is(const Expr& value, const std::vector<Affine>& at) {
    if (depends_on_places(maximum_.body)) return false;
    known_.assign(maximum_.iters.size(), std::nullopt);
    for (std::size_t i = 0; i < at.size(); ++i) known_[i] = at[i];
    const auto theirs = ir::reads_of(maximum_.body), ours = ir::reads_of(value);
    if (theirs.size() != ours.size()) return false;
    for (std::size_t i = 0; i < ours.size(); ++i) learn(*theirs[i], *ours[i]);
    std::vector<Affine> places;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const std::int64_t extent = maximum_.iters[i].extent;
      if (!known_[i] && extent == 1) known_[i] = Affine::constant(0);
      if (!known_[i] || !lies_within(*known_[i], user_, extent)) return false;
      places.push_back(*known_[i]);
    }
    return ir::equal(value, ir::rewrite_leaves(maximum_.body, [&](const Expr& leaf) {
                       const auto& read = std::get<Read>(leaf->value);
                       std::vector<Affine> index;
                       for (const Affine& of_one : read.index)
                         index.push_back(ir::substitute(of_one, places));
                       return ir::read(read.tensor, std::move(index), leaf->dtype, read.pad);
                     }));
  }

 private:
  static bool depends_on_places(const Expr& e) {
    bool any = false;
    ir::for_each_node(e, [&](const Expr& node) {
      any |= std::holds_alternative<ir::IterValue>(node->value) ||
             std::holds_alternative<ir::InRange>(node->value) ||
             std::holds_alternative<ir::Lookup>(node->value);
    });
    return any;
  }

  // Where an index is an iterator and nothing else, it is what stands in its place.
  void learn(const Read& theirs, const Read& ours) {
    if (theirs.index.size() != ours.index.size()) return;
    for (std::size_t dim = 0; dim < ours.index.size(); ++dim) {
      const Affine& index = theirs.index[dim];
      if (index.terms.size() != 1 || index.terms[0].coef != 1) continue;
      auto& known = known_[static_cast<std::size_t>(index.terms[0].iter)];
      if (!known) known = ours.index[dim] + Affine::constant(-index.offset);
    }
  }

  const Stage &maximum_, &user_;
  std::vector<std::optional<Affine>> known_;  // by iterator of the maximum
};

// True if a larger value is never converted to a smaller one: integers that do not fit wrap, and
// NaN has no integer.
bool keeps_order(Dtype from, Dtype to) {
  if (is_float(to)) return true;
  if (from == to || from == Dtype::kBool) return true;
  return !is_float(from) && size_of(to) > size_of(from) &&
         (is_unsigned(from) || !is_unsigned(to)) && to != Dtype::kBool;
}

// Where the same conversion of two values keeps which is larger, it says nothing more.
void drop_conversions(Expr& a, Expr& b) {
  for (;;) {
    const auto *from_a = std::get_if<ir::Cast>(&a->value),
               *from_b = std::get_if<ir::Cast>(&b->value);
    if (from_a == nullptr || from_b == nullptr || from_a->x->dtype != from_b->x->dtype ||
        !keeps_order(from_a->x->dtype, a->dtype))
      return;
    const Expr inner_a = from_a->x, inner_b = from_b->x;
    a = inner_a;
    b = inner_b;
  }
}

bool is_below_maximum(const Workload& workload, const Stage& stage, const Expr& difference) {
  const auto* n = std::get_if<ir::Binary>(&difference->value);
  if (n == nullptr || n->op != ir::BinaryOp::kSub || !is_float(difference->dtype)) return false;
  Expr value = n->a, most = n->b;
  drop_conversions(value, most);
  const auto* read = std::get_if<Read>(&most->value);
  if (read == nullptr || read->pad) return false;
  const Stage* maximum = workload.writer(read->tensor);
  return maximum != nullptr && maximum->reduce == ir::ReduceOp::kMax &&
         Term(*maximum, stage).is(value, read->index);
}

}  // namespace

Expr bound_exponents(const Workload& workload, const Stage& stage) {
  const auto rewrite = [&](const auto& self, const Expr& e) -> Expr {
    if (const auto* n = std::get_if<ir::Unary>(&e->value)) {
      if (n->op == ir::UnaryOp::kExp && is_below_maximum(workload, stage, n->x))
        return ir::unary(n->op, ir::binary(ir::BinaryOp::kMin, ir::constant(0, e->dtype), n->x));
      const Expr x = self(self, n->x);
      return x == n->x ? e : ir::unary(n->op, x);
    }
    if (const auto* n = std::get_if<ir::Binary>(&e->value)) {
      const Expr a = self(self, n->a), b = self(self, n->b);
      return a == n->a && b == n->b ? e : ir::binary(n->op, a, b);
    }
    if (const auto* n = std::get_if<ir::Select>(&e->value)) {
      const Expr then = self(self, n->then), otherwise = self(self, n->otherwise);
      return then == n->then && otherwise == n->otherwise
                 ? e
                 : ir::select(n->condition, then, otherwise);
    }
    if (const auto* n = std::get_if<ir::Cast>(&e->value)) {
      const Expr x = self(self, n->x);
      return x == n->x ? e : ir::cast(x, e->dtype);
    }
    return e;
  };
  return rewrite(rewrite, stage.body);
}

}  // namespace lathe::te
