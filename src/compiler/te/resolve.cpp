#include "compiler/te/resolve.h"

#include <algorithm>
#include <cmath>

#include "base/known_names.h"
#include "compiler/te/limits.h"

namespace lathe::te {
namespace {

class Resolver {
 public:
  explicit Resolver(StageSyntax& stage) : stage_(stage) {}

  Result<StageScope> run() {
    LATHE_TRY_STATUS(enter(stage_.iters, IterKind::kSpatial));
    LATHE_TRY_STATUS(walk(*stage_.body));
    // The tree of a > b has b before a.
    std::ranges::stable_sort(out_.reads, {}, [](const auto& read) {
      return std::pair(read.second.line, read.second.column);
    });
    return std::move(out_);
  }

 private:
  Status enter(std::vector<IterSyntax>& iters, IterKind kind) {
    for (IterSyntax& iter : iters) {
      if (find(iter.name) >= 0)
        return error_at(iter.place,
                        "the iterator {} is already in use here; give this one another name",
                        iter.name);
      if (out_.iters.size() == kMaxIterators)
        return error_at(iter.place, "a stage has at most {} iterators", kMaxIterators);
      iter.id = static_cast<int>(out_.iters.size());
      out_.iters.push_back({iter.name, iter.size, kind, iter.place});
      visible_.push_back(iter.id);
    }
    return {};
  }

  int find(std::string_view name) const {
    for (const int id : visible_)
      if (out_.iters[static_cast<std::size_t>(id)].name == name) return id;
    return -1;
  }

  Status walk(ExprSyntax& e) {
    return std::visit([&](auto& node) { return visit(node, e.place); }, e.value);
  }

  Status visit(NumberSyntax&, Place) { return {}; }
  Status visit(TruthSyntax&, Place) { return {}; }
  Status visit(NameSyntax& n, Place place) {
    n.iter = find(n.name);
    return n.iter < 0 ? unknown(n.name, place) : Status{};
  }
  Status visit(UnarySyntax& n, Place) { return walk(*n.x); }
  Status visit(CastSyntax& n, Place) { return walk(*n.x); }
  Status visit(BinarySyntax& n, Place) {
    LATHE_TRY_STATUS(walk(*n.a));
    return walk(*n.b);
  }
  Status visit(SelectSyntax& n, Place) {
    LATHE_TRY_STATUS(walk(*n.condition));
    LATHE_TRY_STATUS(walk(*n.then));
    return walk(*n.otherwise);
  }
  Status visit(ReduceSyntax& n, Place) {
    out_.reduces = true;
    const std::size_t outside = visible_.size();
    LATHE_TRY_STATUS(enter(n.iters, IterKind::kReduce));
    ++reductions_;
    LATHE_TRY_STATUS(walk(*n.body));
    --reductions_;
    visible_.resize(outside);
    return {};
  }
  Status visit(ReadSyntax& n, Place place) {
    for (const Ast& index : n.index) {
      n.affine.push_back(LATHE_TRY(affine(*index)));
      if (!n.affine.back()) LATHE_TRY_STATUS(walk(*index));
    }
    n.own = n.tensor == stage_.name;
    if (n.own && !std::ranges::all_of(n.affine, [](const auto& a) { return a.has_value(); }))
      return error_at(place,
                      "{0} is read to compute {0}, at a place that is computed; a scan reads one "
                      "before the element along an axis, as t-1 for t",
                      n.tensor);
    if (n.own && n.affine.size() != stage_.iters.size())
      return error_at(place, "{} is written with {} iterators but read with {}", n.tensor,
                      stage_.iters.size(), n.affine.size());
    // The reduction becomes a stage of its own, which goes on with this one.
    if (reductions_ > 0) n.own = false;
    out_.reads.emplace_back(&n, place);
    return {};
  }

  std::unexpected<Error> unknown(const std::string& name, Place place) const {
    std::vector<std::string> names;
    for (const int id : visible_) names.push_back(out_.iters[static_cast<std::size_t>(id)].name);
    return error_at(
        place, "{0} is no iterator here (known: {1}); if it is a tensor, write its index: {0}[...]",
        name, known_names(names, name));
  }

  using MaybeAffine = std::optional<ir::Affine>;

  // Nothing where the index is something else than a sum of iterators times whole numbers.
  Result<MaybeAffine> affine(const ExprSyntax& e) {
    MaybeAffine out = LATHE_TRY(affine_of(e));
    const auto too_large = [](std::int64_t v) { return v > kMaxElements || v < -kMaxElements; };
    if (out && (too_large(out->offset) ||
                std::ranges::any_of(out->terms, [&](const auto& t) { return too_large(t.coef); })))
      return error_at(e.place, "a number in this index is beyond 2^40");
    return out;
  }

  Result<MaybeAffine> affine_of(const ExprSyntax& e) {
    if (const auto* n = std::get_if<NumberSyntax>(&e.value)) {
      if (n->value != std::floor(n->value) ||
          std::abs(n->value) > static_cast<double>(kMaxElements))
        return error_at(e.place, "an index needs whole numbers up to 2^40");
      return MaybeAffine(ir::Affine::constant(static_cast<std::int64_t>(n->value)));
    }
    if (const auto* n = std::get_if<NameSyntax>(&e.value)) {
      const int id = find(n->name);
      if (id < 0) return unknown(n->name, e.place);
      return MaybeAffine(ir::Affine::iter(id));
    }
    if (const auto* n = std::get_if<UnarySyntax>(&e.value);
        n != nullptr && n->op == ir::UnaryOp::kNeg) {
      const MaybeAffine x = LATHE_TRY(affine(*n->x));
      return x ? MaybeAffine(*x * -1) : MaybeAffine();
    }
    if (const auto* n = std::get_if<BinarySyntax>(&e.value)) {
      using enum ir::BinaryOp;
      if (n->op != kAdd && n->op != kSub && n->op != kMul) return MaybeAffine();
      const MaybeAffine a = LATHE_TRY(affine(*n->a)), b = LATHE_TRY(affine(*n->b));
      if (!a || !b) return MaybeAffine();
      if (n->op == kMul) return product(*a, *b, e.place);
      return MaybeAffine(*a + *b * (n->op == kAdd ? 1 : -1));
    }
    return MaybeAffine();
  }

  static Result<MaybeAffine> product(const ir::Affine& a, const ir::Affine& b, Place place) {
    if (!a.terms.empty() && !b.terms.empty()) return MaybeAffine();
    const ir::Affine& scaled = a.terms.empty() ? b : a;
    const std::int64_t factor = a.terms.empty() ? a.offset : b.offset;
    // Both are at most 2^40, so that doubles tell overflow from a legal product.
    const auto fits = [&](std::int64_t v) {
      return std::abs(static_cast<double>(v) * static_cast<double>(factor)) <=
             static_cast<double>(kMaxElements);
    };
    if (!fits(scaled.offset) ||
        !std::ranges::all_of(scaled.terms, [&](auto& t) { return fits(t.coef); }))
      return error_at(place, "a number in this index is beyond 2^40");
    return MaybeAffine(scaled * factor);
  }

  StageSyntax& stage_;
  StageScope out_;
  std::vector<int> visible_;
  int reductions_ = 0;  // around the place
};

}  // namespace

Result<StageScope> resolve(StageSyntax& stage) { return Resolver(stage).run(); }

}  // namespace lathe::te
