#include "compiler/te/build_stage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/te/narrowing.h"
#include "compiler/te/scan.h"
#include "compiler/te/types.h"
#include "compiler/te/validate.h"

namespace lathe::te {
namespace {

using ir::Expr;

// True for a number, and for arithmetic on numbers alone: it takes the type of what it meets. With
// `own`, so does what a stage reads of the tensor that it writes, and of those of `open`, also
// where it is reduced.
bool is_flexible(const ExprSyntax& e, bool own = false, const OpenTensors* open = nullptr) {
  struct Visitor {
    bool own;
    const OpenTensors* open;
    bool all(const ExprSyntax& e) const { return is_flexible(e, own, open); }
    bool operator()(const NumberSyntax&) const { return true; }
    bool operator()(const TruthSyntax&) const { return false; }
    bool operator()(const NameSyntax&) const { return false; }
    bool operator()(const ReadSyntax& n) const {
      return own && (n.own || (open != nullptr && open->contains(n.tensor)));
    }
    bool operator()(const UnarySyntax& n) const { return !ir::yields_bool(n.op) && all(*n.x); }
    bool operator()(const BinarySyntax& n) const {
      return n.op < ir::BinaryOp::kLt && all(*n.a) && all(*n.b);
    }
    bool operator()(const SelectSyntax& n) const { return all(*n.then) && all(*n.otherwise); }
    bool operator()(const CastSyntax&) const { return false; }
    bool operator()(const ReduceSyntax& n) const { return open != nullptr && all(*n.body); }
  };
  return std::visit(Visitor{own, open}, e.value);
}

// The type of the expression if nothing were widened; an output that is not declared gets it. None
// where operands differ.
struct NaturalType {
  const Workload& workload;
  std::optional<Dtype> own;           // of the tensor that the stage writes, where that is declared
  bool widened = false;               // the type of what is read, once it is widened
  const OpenTensors* open = nullptr;  // these have no type yet

  std::optional<Dtype> operator()(const ExprSyntax& e) const { return std::visit(*this, e.value); }
  std::optional<Dtype> operator()(const NumberSyntax&) const { return {}; }
  std::optional<Dtype> operator()(const TruthSyntax&) const { return Dtype::kBool; }
  std::optional<Dtype> operator()(const NameSyntax&) const { return Dtype::kI64; }
  std::optional<Dtype> operator()(const ReadSyntax& n) const {
    if (open != nullptr && open->contains(n.tensor)) return {};
    if (n.own) return own.value_or(Dtype::kF32);
    const int tensor = workload.find(n.tensor);
    if (tensor < 0) return {};  // it is computed further down
    const Dtype dtype = workload.tensors[static_cast<std::size_t>(tensor)].dtype;
    return widened ? accumulator_of(dtype) : dtype;
  }
  std::optional<Dtype> operator()(const UnarySyntax& n) const {
    return ir::yields_bool(n.op) ? Dtype::kBool : (*this)(*n.x);
  }
  std::optional<Dtype> operator()(const BinarySyntax& n) const {
    if (n.op >= ir::BinaryOp::kLt) return Dtype::kBool;
    return common(*n.a, *n.b);
  }
  std::optional<Dtype> operator()(const SelectSyntax& n) const {
    return common(*n.then, *n.otherwise);
  }
  std::optional<Dtype> operator()(const CastSyntax& n) const { return n.dtype; }
  std::optional<Dtype> operator()(const ReduceSyntax& n) const {
    const auto body = (*this)(*n.body);
    const bool grows = n.op == ir::ReduceOp::kSum || n.op == ir::ReduceOp::kProd;
    return body && grows && !is_float(*body) ? accumulator_of(*body) : body;
  }
  std::optional<Dtype> common(const ExprSyntax& a, const ExprSyntax& b) const {
    if (is_flexible(a, true, open)) return (*this)(b);
    const auto left = (*this)(a);
    return is_flexible(b, true, open) || left == (*this)(b) ? left : std::nullopt;
  }
};

class StageBuilder {
 public:
  StageBuilder(Workload& workload, const StageSyntax& stage, const StageScope& scope,
               const StageOutput& output)
      : workload_(workload), stage_(stage), scope_(scope), output_(output) {
    for (const StageIter& i : scope.iters) all_.push_back({i.name, *i.extent, i.kind});
  }

  Result<int> run() {
    auto natural = NaturalType{workload_, output_.dtype}(*stage_.body);
    if (reads_itself()) {
      if (!natural && scope_.reduces)
        natural = NaturalType{workload_, output_.dtype, true}(*stage_.body);
      output_.dtype = output_.dtype.value_or(natural.value_or(Dtype::kF32));
      output_.tensor = written(*output_.dtype);
    }
    std::vector<int> spatial;
    for (const IterSyntax& iter : stage_.iters) spatial.push_back(iter.id);
    if (const auto* reduce = std::get_if<ReduceSyntax>(&stage_.body->value)) {
      const Expr body = LATHE_TRY(reduction_body(*reduce, stage_.body->place, output_.dtype));
      const Dtype dtype = output_.dtype.value_or(natural.value_or(body->dtype));
      const Expr terms = accumulated(*reduce, body);
      if (dtype == terms->dtype && !reads_written(terms)) {
        const int tensor = written(dtype);
        LATHE_TRY_STATUS(emit(tensor, spatial, *reduce, terms));
        return tensor;
      }
      const Expr result = LATHE_TRY(split_off(*reduce, terms));
      return element_wise(spatial, ir::cast(result, dtype));
    }
    Expr body = LATHE_TRY(type(*stage_.body, output_.dtype, scope_.reduces));
    const Dtype dtype = output_.dtype.value_or(natural.value_or(body->dtype));
    return element_wise(spatial, ir::cast(std::move(body), dtype));
  }

 private:
  template <class T>
  static Result<T> at(Place place, Result<T> result) {
    if (!result) result.error().place = place.text();
    return result;
  }

  bool reads_itself() const {
    return std::ranges::any_of(scope_.reads, [](const auto& read) { return read.first->own; });
  }

  // A sum over what the stage writes is one over earlier steps.
  bool reads_written(const Expr& e) const {
    return output_.tensor >= 0 && std::ranges::count(ir::tensors_of(e), output_.tensor) > 0;
  }

  Result<Expr> type(const ExprSyntax& e, std::optional<Dtype> expected, bool widen) {
    return std::visit([&](const auto& node) { return visit(node, e.place, expected, widen); },
                      e.value);
  }

  Result<Expr> visit(const NumberSyntax& n, Place place, std::optional<Dtype> expected, bool) {
    const Dtype dtype = expected.value_or(Dtype::kF32);
    return ir::constant(LATHE_TRY(at(place, number_as(n.value, dtype))), dtype);
  }
  Result<Expr> visit(const TruthSyntax& n, Place, std::optional<Dtype>, bool) {
    return ir::constant(n.value ? 1 : 0, Dtype::kBool);
  }
  Result<Expr> visit(const NameSyntax& n, Place, std::optional<Dtype>, bool) {
    return ir::iter_value(n.iter);
  }

  Result<Expr> visit(const ReadSyntax& n, Place place, std::optional<Dtype>, bool widen) {
    const int t = n.own ? output_.tensor : workload_.find(n.tensor);
    const Dtype dtype = workload_.tensors[static_cast<std::size_t>(t)].dtype;
    std::optional<double> pad = n.pad;
    if (pad) pad = LATHE_TRY(at(place, number_as(*pad, dtype)));
    std::vector<Expr> index;
    for (std::size_t d = 0; d < n.index.size(); ++d)
      index.push_back(n.affine[d] ? ir::value_of(*n.affine[d]) : LATHE_TRY(index_of(*n.index[d])));
    Expr out = ir::lookup(t, std::move(index), dtype, pad);
    if (n.own)
      LATHE_TRY_STATUS(at(place, check_own_read(n.tensor, std::get<ir::Read>(out->value), all_)));
    LATHE_TRY_STATUS(at(place, check_access(workload_, out, all_)));
    if (indexing_) return as_index(std::move(out));
    return widen ? ir::cast(std::move(out), accumulator_of(dtype)) : out;
  }

  // An index that is not affine: integers of all types are i64 in it.
  Result<Expr> index_of(const ExprSyntax& e) {
    const bool outside = std::exchange(indexing_, true);
    auto typed = type(e, Dtype::kI64, false);
    indexing_ = outside;
    Expr index = as_index(LATHE_TRY(std::move(typed)));
    if (index->dtype == Dtype::kI64) return index;
    return at<Expr>(e.place, fail(ErrorKind::kInvalidArgument,
                                  "an index is a whole number, and this one is {}; cast it, for "
                                  "example i64(...)",
                                  name_of(index->dtype)));
  }
  static Expr as_index(Expr e) {
    return is_float(e->dtype) || e->dtype == Dtype::kBool ? e : ir::cast(std::move(e), Dtype::kI64);
  }
  // Types what has its own rules, wherever it stands.
  Result<Expr> outside_index(const ExprSyntax& e, std::optional<Dtype> expected, bool widen) {
    const bool before = std::exchange(indexing_, false);
    auto typed = type(e, expected, widen);
    indexing_ = before;
    return typed;
  }

  Result<Expr> visit(const UnarySyntax& n, Place place, std::optional<Dtype> expected, bool widen) {
    if (ir::yields_bool(n.op)) expected = std::nullopt;
    Expr x = LATHE_TRY(type(*n.x, expected, widen));
    LATHE_TRY_STATUS(at(place, check_unary(n.op, x)));
    return ir::unary(n.op, std::move(x));
  }

  // Makes two operands of one type: a number takes the type of the other side, or the expected one.
  Result<std::pair<Expr, Expr>> pair(const ExprSyntax& a, const ExprSyntax& b,
                                     std::optional<Dtype> expected, bool widen) {
    if (is_flexible(a) && !is_flexible(b)) {
      Expr second = LATHE_TRY(type(b, expected, widen));
      Expr first = LATHE_TRY(type(a, second->dtype, widen));
      return std::pair(std::move(first), std::move(second));
    }
    Expr first = LATHE_TRY(type(a, expected, widen));
    Expr second = LATHE_TRY(type(b, first->dtype, widen));
    return std::pair(std::move(first), std::move(second));
  }

  Result<Expr> visit(const BinarySyntax& n, Place place, std::optional<Dtype> expected,
                     bool widen) {
    if (n.op >= ir::BinaryOp::kLt) expected = std::nullopt;
    auto [a, b] = LATHE_TRY(pair(*n.a, *n.b, expected, widen));
    LATHE_TRY_STATUS(at(place, check_binary(n.op, a, b)));
    return ir::binary(n.op, std::move(a), std::move(b));
  }

  Result<Expr> visit(const SelectSyntax& n, Place place, std::optional<Dtype> expected,
                     bool widen) {
    Expr condition = LATHE_TRY(type(*n.condition, {}, widen));
    auto [then, otherwise] = LATHE_TRY(pair(*n.then, *n.otherwise, expected, widen));
    LATHE_TRY_STATUS(at(place, check_select(condition, then, otherwise)));
    return ir::select(std::move(condition), std::move(then), std::move(otherwise));
  }

  // Inside a cast nothing is widened, for a cast says exactly which type its operand has.
  Result<Expr> visit(const CastSyntax& n, Place, std::optional<Dtype>, bool) {
    std::optional<Dtype> expected;
    if (is_flexible(*n.x)) expected = n.dtype;
    Expr out = ir::cast(LATHE_TRY(outside_index(*n.x, expected, false)), n.dtype);
    return indexing_ ? as_index(std::move(out)) : out;
  }

  Result<Expr> visit(const ReduceSyntax& n, Place place, std::optional<Dtype> expected, bool) {
    const Expr body = LATHE_TRY(reduction_body(n, place, expected));
    Expr out = ir::cast(LATHE_TRY(split_off(n, accumulated(n, body))), body->dtype);
    return indexing_ ? as_index(std::move(out)) : out;
  }

  // The least or largest of small integers, as the place that argmax finds, is an i32.
  Expr accumulated(const ReduceSyntax& n, const Expr& body) const {
    const bool selects = n.op == ir::ReduceOp::kMin || n.op == ir::ReduceOp::kMax;
    return selects ? narrowed(body, all_).value_or(body) : body;
  }

  // Builds the body in the type of the accumulator. A body that is a cast chooses that type.
  Result<Expr> reduction_body(const ReduceSyntax& n, Place place, std::optional<Dtype> expected) {
    if (expected) expected = accumulator_of(*expected);
    Expr body = LATHE_TRY(outside_index(*n.body, expected, true));
    LATHE_TRY_STATUS(at(place, check_reduction(n.op, body->dtype)));
    if (std::holds_alternative<CastSyntax>(n.body->value)) return body;
    const Dtype accumulator = accumulator_of(body->dtype);
    return ir::cast(std::move(body), accumulator);
  }

  // Makes a stage over the outer iterators that the reduction depends on; returns the read of its
  // result.
  Result<Expr> split_off(const ReduceSyntax& n, const Expr& body) {
    const std::string name = output_.unique_name(stage_.name + "_acc");
    std::vector<int> outer = free_iters(n, body);
    std::vector<ir::Affine> index;
    for (const int id : outer) index.push_back(ir::Affine::iter(id));
    if (outer.empty()) {
      outer.push_back(kOne);
      index.push_back(ir::Affine::constant(0));
    }
    Tensor tensor{name, body->dtype, {}, TensorRole::kIntermediate};
    for (const int id : outer) tensor.shape.push_back(iter(id).extent);
    const int t = static_cast<int>(workload_.tensors.size());
    workload_.tensors.push_back(std::move(tensor));
    LATHE_TRY_STATUS(emit(t, outer, n, body));
    return ir::read(t, std::move(index), body->dtype);
  }

  static constexpr int kOne = -1;  // stands for an iterator with a single iteration

  Iterator iter(int id) const {
    return id == kOne ? Iterator{name_of_one(), 1} : all_[static_cast<std::size_t>(id)];
  }

  // The stage has only reduction iterators besides this one.
  std::string name_of_one() const {
    std::string name = "one";
    while (is_reduction(name)) name += "_";
    return name;
  }
  bool is_reduction(const std::string& name) const {
    return std::ranges::any_of(
        all_, [&](const Iterator& i) { return i.name == name && i.kind == IterKind::kReduce; });
  }

  // In their order; but where something is read along one of them, it is such a one that is last.
  std::vector<int> free_iters(const ReduceSyntax& n, const Expr& body) const {
    std::set<int> ids, along;
    const auto collect = [&](const Expr& leaf) {
      if (const auto* value = std::get_if<ir::IterValue>(&leaf->value)) ids.insert(value->iter);
      if (const auto* read = std::get_if<ir::Read>(&leaf->value)) {
        for (const ir::Affine& index : read->index)
          for (const ir::AffineTerm& term : index.terms) ids.insert(term.iter);
        for (const ir::AffineTerm& term : read->index.back().terms) along.insert(term.iter);
      }
      return leaf;
    };
    ir::rewrite_leaves(body, collect);
    for (const IterSyntax& own : n.iters) ids.erase(own.id), along.erase(own.id);
    std::vector<int> out(ids.begin(), ids.end());
    if (!along.empty()) {
      std::erase(out, *along.rbegin());
      out.push_back(*along.rbegin());
    }
    return out;
  }

  int written(Dtype dtype) {
    if (output_.tensor >= 0) return output_.tensor;
    Tensor tensor{stage_.name, dtype, {}, TensorRole::kIntermediate};
    for (const IterSyntax& i : stage_.iters) tensor.shape.push_back(iter(i.id).extent);
    workload_.tensors.push_back(std::move(tensor));
    return static_cast<int>(workload_.tensors.size()) - 1;
  }

  Result<int> element_wise(const std::vector<int>& spatial, const Expr& body) {
    const int tensor = written(body->dtype);
    LATHE_TRY_STATUS(emit(tensor, spatial, ir::ReduceOp::kNone, {}, body));
    return tensor;
  }

  Status emit(int tensor, const std::vector<int>& spatial, const ReduceSyntax& reduce,
              const Expr& body) {
    std::vector<int> ids;
    for (const IterSyntax& own : reduce.iters) ids.push_back(own.id);
    return emit(tensor, spatial, reduce.op, ids, body);
  }

  // Iterators get new numbers in the new stage.
  Status emit(int tensor, const std::vector<int>& spatial, ir::ReduceOp op,
              const std::vector<int>& reduce, const Expr& body) {
    LATHE_TRY_STATUS(
        at(stage_.place,
           check_shape(stage_.name, workload_.tensors[static_cast<std::size_t>(tensor)].shape)));
    LATHE_TRY_STATUS(at(stage_.place, check_depth(body)));
    Stage out;
    out.tensor = tensor;
    out.reduce = op;
    out.accumulator = body->dtype;
    std::vector<ir::Affine> local(all_.size());
    const auto add = [&](int id, IterKind kind) {
      if (id != kOne)
        local[static_cast<std::size_t>(id)] = ir::Affine::iter(static_cast<int>(out.iters.size()));
      out.iters.push_back(iter(id));
      out.iters.back().kind = kind;
    };
    for (const int id : spatial) add(id, IterKind::kSpatial);
    for (const int id : reduce) add(id, IterKind::kReduce);
    out.body = ir::rewrite_leaves(body, [&](const Expr& leaf) {
      if (const auto* value = std::get_if<ir::IterValue>(&leaf->value))
        return ir::iter_value(local[static_cast<std::size_t>(value->iter)].terms.at(0).iter);
      if (std::holds_alternative<ir::Lookup>(leaf->value)) return leaf;
      ir::Read read = std::get<ir::Read>(leaf->value);
      for (ir::Affine& index : read.index) index = ir::substitute(index, local);
      return ir::read(read.tensor, std::move(read.index), leaf->dtype, read.pad);
    });
    workload_.stages.push_back(std::move(out));
    return {};
  }

  Workload& workload_;
  const StageSyntax& stage_;
  const StageScope& scope_;
  StageOutput output_;
  std::vector<Iterator> all_;
  bool indexing_ = false;  // what is typed belongs to an index
};

}  // namespace

std::optional<Dtype> natural_type(const Workload& workload, const StageSyntax& stage,
                                  const OpenTensors& open) {
  return NaturalType{workload, {}, false, &open}(*stage.body);
}

Result<int> build_stage(Workload& workload, const StageSyntax& stage, const StageScope& scope,
                        const StageOutput& output) {
  return StageBuilder(workload, stage, scope, output).run();
}

}  // namespace lathe::te
