#include "compiler/te/validate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/te/limits.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"
#include "compiler/te/types.h"

namespace lathe::te {
namespace {

using Wide = __int128;

std::int64_t clamped(Wide value) {
  constexpr Wide kMax = Wide{1} << 62;
  return static_cast<std::int64_t>(std::clamp(value, -kMax, kMax));
}

bool is_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto part = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  static constexpr std::string_view kReserved[] = {"else", "inf", "true", "false"};
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, part) &&
         std::ranges::find(kReserved, name) == std::end(kReserved) && !dtype_from_name(name);
}

std::unexpected<Error> too_deep() {
  return fail(ErrorKind::kInvalidArgument,
              "the expression is nested deeper than {} operations; split it into stages",
              kMaxDepth);
}

// False if e is deeper than `depth`.
bool fits(const ir::Expr& e, int depth) {
  if (depth == 0) return false;
  const auto all = [&](auto&... below) { return (fits(below, depth - 1) && ...); };
  struct Visitor {
    const decltype(all)& check;
    bool operator()(const ir::Const&) const { return true; }
    bool operator()(const ir::IterValue&) const { return true; }
    bool operator()(const ir::Read&) const { return true; }
    bool operator()(const ir::InRange&) const { return true; }
    bool operator()(const ir::Lookup& n) const {
      return std::ranges::all_of(n.index, [&](const ir::Expr& index) { return check(index); });
    }
    bool operator()(const ir::Unary& n) const { return check(n.x); }
    bool operator()(const ir::Cast& n) const { return check(n.x); }
    bool operator()(const ir::Binary& n) const { return check(n.a, n.b); }
    bool operator()(const ir::Select& n) const { return check(n.condition, n.then, n.otherwise); }
  };
  return std::visit(Visitor{all}, e->value);
}

// Checks types and indices of one stage's body, bottom-up.
struct BodyCheck {
  const Workload& workload;
  const Stage& stage;

  Status check(const ir::Expr& e, int depth = 0) const {
    if (!e) return fail(ErrorKind::kInvalidArgument, "an expression is null");
    if (depth == kMaxDepth) return too_deep();
    return std::visit([&](const auto& node) { return visit(node, e->dtype, depth + 1); }, e->value);
  }

  Status iter_known(int iter) const {
    if (iter >= 0 && static_cast<std::size_t>(iter) < stage.iters.size()) return {};
    return fail(ErrorKind::kInvalidArgument, "iterator {} does not exist", iter);
  }

  Status visit(const ir::Const& n, Dtype dtype, int) const {
    const double as = LATHE_TRY(number_as(n.value, dtype));
    if (as == n.value) return {};
    return fail(ErrorKind::kInvalidArgument, "the number {} is not rounded to {}", n.value,
                name_of(dtype));
  }
  Status visit(const ir::IterValue& n, Dtype dtype, int) const {
    if (dtype != Dtype::kI64)
      return fail(ErrorKind::kInvalidArgument, "an iterator's value is i64");
    return iter_known(n.iter);
  }
  Status visit(const ir::Read& n, Dtype dtype, int) const {
    if (n.tensor < 0 || static_cast<std::size_t>(n.tensor) >= workload.tensors.size())
      return fail(ErrorKind::kInvalidArgument, "tensor {} does not exist", n.tensor);
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(n.tensor)];
    for (const ir::Affine& index : n.index)
      for (const ir::AffineTerm& term : index.terms) LATHE_TRY_STATUS(iter_known(term.iter));
    if (tensor.dtype != dtype)
      return fail(ErrorKind::kInvalidArgument, "{} is {}, but read as {}", tensor.name,
                  name_of(tensor.dtype), name_of(dtype));
    return check_read(tensor, n, stage.iters);
  }
  Status visit(const ir::Lookup& n, Dtype dtype, int depth) const {
    if (n.tensor < 0 || static_cast<std::size_t>(n.tensor) >= workload.tensors.size())
      return fail(ErrorKind::kInvalidArgument, "tensor {} does not exist", n.tensor);
    for (const ir::Expr& index : n.index) LATHE_TRY_STATUS(check(index, depth));
    const Tensor& tensor = workload.tensors[static_cast<std::size_t>(n.tensor)];
    LATHE_TRY_STATUS(same(dtype, tensor.dtype));
    return check_lookup(workload, n, stage.iters);
  }
  Status visit(const ir::Unary& n, Dtype dtype, int depth) const {
    LATHE_TRY_STATUS(check(n.x, depth));
    LATHE_TRY_STATUS(check_unary(n.op, n.x));
    return same(dtype, ir::yields_bool(n.op) ? Dtype::kBool : n.x->dtype);
  }
  Status visit(const ir::Binary& n, Dtype dtype, int depth) const {
    LATHE_TRY_STATUS(check(n.a, depth));
    LATHE_TRY_STATUS(check(n.b, depth));
    LATHE_TRY_STATUS(check_binary(n.op, n.a, n.b));
    return same(dtype, n.op >= ir::BinaryOp::kLt ? Dtype::kBool : n.a->dtype);
  }
  Status visit(const ir::Select& n, Dtype dtype, int depth) const {
    LATHE_TRY_STATUS(check(n.condition, depth));
    LATHE_TRY_STATUS(check(n.then, depth));
    LATHE_TRY_STATUS(check(n.otherwise, depth));
    LATHE_TRY_STATUS(check_select(n.condition, n.then, n.otherwise));
    return same(dtype, n.then->dtype);
  }
  Status visit(const ir::Cast& n, Dtype, int depth) const { return check(n.x, depth); }
  Status visit(const ir::InRange&, Dtype, int) const {
    return fail(ErrorKind::kInvalidArgument,
                "a range test is made by schedule steps only; use a read with `else`");
  }

  static Status same(Dtype have, Dtype want) {
    if (have == want) return {};
    return fail(ErrorKind::kInvalidArgument, "a node of type {} should be {}", name_of(have),
                name_of(want));
  }
};

Status check_tensor(const Tensor& tensor) {
  if (!is_name(tensor.name))
    return fail(ErrorKind::kInvalidArgument, "'{}' is no name for a tensor", tensor.name);
  LATHE_TRY_STATUS(check_shape(tensor.name, tensor.shape));
  LATHE_TRY_STATUS(check_border_shape(tensor));
  const bool inside =
      tensor.role == TensorRole::kIntermediate || tensor.role == TensorRole::kLiteral;
  if (inside && !tensor.border_shape.empty())
    return fail(ErrorKind::kInvalidArgument,
                "{} is neither input nor output, so no caller sees it as [{}]; leave that out",
                tensor.name, fmt::join(tensor.border_shape, ","));
  if (tensor.constant && tensor.role != TensorRole::kInput)
    return fail(ErrorKind::kInvalidArgument, "{} is declared const, but only inputs can be",
                tensor.name);
  LATHE_TRY_STATUS(check_range(tensor));
  if (tensor.role != TensorRole::kLiteral) {
    if (tensor.literal.empty()) return {};
    return fail(ErrorKind::kInvalidArgument,
                "{} has literal elements and is written or given as well", tensor.name);
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  if (std::cmp_not_equal(tensor.literal.size(), elements))
    return fail(ErrorKind::kInvalidArgument, "{}[{}] needs {} elements, {} are given", tensor.name,
                fmt::join(tensor.shape, ","), elements, tensor.literal.size());
  for (const double value : tensor.literal)
    if (LATHE_TRY(number_as(value, tensor.dtype)) != value)
      return fail(ErrorKind::kInvalidArgument, "{}'s element {} is not rounded to {}", tensor.name,
                  value, name_of(tensor.dtype));
  return {};
}

// Checks that spatial iterators are the tensor's dimensions in order, that reduction iterators
// follow, and that names differ.
Status check_iters(const Stage& stage, const Tensor& tensor) {
  std::set<std::string> names;
  std::size_t spatial = 0;
  double iterations = 1;
  for (std::size_t i = 0; i < stage.iters.size(); ++i) {
    const Iterator& iter = stage.iters[i];
    if (!is_name(iter.name) || !names.insert(iter.name).second)
      return fail(ErrorKind::kInvalidArgument, "'{}' is no name for an iterator, or used twice",
                  iter.name);
    if (iter.extent < 1)
      return fail(ErrorKind::kInvalidArgument,
                  "the iterator {} has the size {}; at least 1 is needed", iter.name, iter.extent);
    iterations *= static_cast<double>(iter.extent);
    if (iter.kind != IterKind::kSpatial) continue;
    if (spatial != i)
      return fail(ErrorKind::kInvalidArgument, "spatial iterators come before reduction iterators");
    ++spatial;
  }
  if (stage.iters.size() > kMaxIterators)
    return fail(ErrorKind::kInvalidArgument, "a stage has at most {} iterators", kMaxIterators);
  if (iterations > static_cast<double>(kMaxIterations))
    return fail(ErrorKind::kInvalidArgument, "more than 2^60 iterations");
  bool fits = spatial == tensor.shape.size();
  for (std::size_t d = 0; fits && d < spatial; ++d) fits = stage.iters[d].extent == tensor.shape[d];
  if (!fits)
    return fail(ErrorKind::kInvalidArgument, "the iterators do not run over the shape [{}]",
                fmt::join(tensor.shape, ","));
  if ((stage.reduce == ir::ReduceOp::kNone) != (spatial == stage.iters.size()))
    return fail(ErrorKind::kInvalidArgument, "reduction iterators and a reduction need each other");
  return {};
}

Status check_stage(const Workload& workload, const Stage& stage) {
  const Tensor& tensor = workload.tensors[static_cast<std::size_t>(stage.tensor)];
  LATHE_TRY_STATUS(check_iters(stage, tensor));
  LATHE_TRY_STATUS((BodyCheck{workload, stage}.check(stage.body)));
  if (stage.body->dtype != tensor.dtype || stage.accumulator != tensor.dtype)
    return fail(ErrorKind::kInvalidArgument,
                "the expression is {}, its accumulator {} and the tensor {}; they must be one "
                "type: cast the result in "
                "a stage of its own",
                name_of(stage.body->dtype), name_of(stage.accumulator), name_of(tensor.dtype));
  LATHE_TRY_STATUS(check_scan(workload, stage));
  if (stage.reduce == ir::ReduceOp::kNone) return {};
  return check_reduction(stage.reduce, stage.body->dtype);
}

}  // namespace

Status check_count(std::size_t stages, std::size_t tensors) {
  const bool many_stages = stages > kMaxStages;
  if (!many_stages && tensors <= kMaxTensors) return {};
  return fail(ErrorKind::kInvalidArgument,
              "the expression has {} {}, {} are possible; split it into several workloads",
              many_stages ? stages : tensors, many_stages ? "stages" : "tensors",
              many_stages ? kMaxStages : kMaxTensors);
}

Status check_shape(const std::string& name, const std::vector<std::int64_t>& shape) {
  if (shape.empty() || shape.size() > kMaxRank)
    return fail(ErrorKind::kInvalidArgument, "{} has {} dimensions; from 1 to {} are possible",
                name, shape.size(), kMaxRank);
  Wide elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 1)
      return fail(ErrorKind::kInvalidArgument, "{}[{}] has a dimension of {}; at least 1 is needed",
                  name, fmt::join(shape, ","), size);
    elements *= size;
    if (elements > kMaxElements)
      return fail(ErrorKind::kInvalidArgument, "{}[{}] has more than 2^40 elements", name,
                  fmt::join(shape, ","));
  }
  return {};
}

Status check_border_shape(const Tensor& tensor) {
  if (tensor.border_shape.empty() || merged_dims(tensor.shape, tensor.border_shape)) return {};
  return fail(ErrorKind::kInvalidArgument,
              "{}[{}] cannot be seen as [{}]: only neighbouring dimensions may be merged, their "
              "sizes multiplied",
              tensor.name, fmt::join(tensor.shape, ","), fmt::join(tensor.border_shape, ","));
}

Status check_depth(const ir::Expr& e) {
  if (fits(e, kMaxDepth)) return {};
  return too_deep();
}

std::string index_text(const ir::Affine& index, const std::vector<Iterator>& iters) {
  std::string out;
  const auto add = [&](std::int64_t factor, const std::string& name) {
    const bool negative = factor < 0;
    const std::int64_t size = negative ? -factor : factor;
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (name.empty()) out += std::to_string(size);
    else out += (size == 1 ? "" : std::to_string(size) + "*") + name;
  };
  for (const ir::AffineTerm& term : index.terms)
    add(term.coef, iters[static_cast<std::size_t>(term.iter)].name);
  if (index.offset != 0 || index.terms.empty()) add(index.offset, "");
  return out;
}

namespace {

// The least and the largest value of the index.
std::pair<Wide, Wide> reach_of(const ir::Affine& index, const std::vector<Iterator>& iters) {
  Wide low = index.offset, high = index.offset;
  for (const ir::AffineTerm& term : index.terms)
    (term.coef > 0 ? high : low) +=
        Wide{term.coef} * (iters[static_cast<std::size_t>(term.iter)].extent - 1);
  return {low, high};
}

// A padded read may leave its tensor, but not so far that addresses do not fit an i64.
Status check_reach(const Tensor& tensor, const ir::Read& read, const std::vector<Iterator>& iters) {
  Wide elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  const Wide most = (Wide{1} << 60) / elements;
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    const auto [low, high] = reach_of(read.index[d], iters);
    if (low >= -most && high <= most) continue;
    return fail(ErrorKind::kInvalidArgument,
                "index {} of {}[{}], {}, reaches {}, further outside than can be reckoned with; "
                "shorten an iterator",
                d, tensor.name, fmt::join(tensor.shape, ","), index_text(read.index[d], iters),
                clamped(low < -most ? low : high));
  }
  return {};
}

}  // namespace

Status check_read(const Tensor& tensor, const ir::Read& read, const std::vector<Iterator>& iters) {
  if (read.index.size() != tensor.shape.size())
    return fail(ErrorKind::kInvalidArgument, "{}[{}] is read with {} {}", tensor.name,
                fmt::join(tensor.shape, ","), read.index.size(),
                read.index.size() == 1 ? "index" : "indices");
  if (read.pad) {
    if (LATHE_TRY(number_as(*read.pad, tensor.dtype)) == *read.pad)
      return check_reach(tensor, read, iters);
    return fail(ErrorKind::kInvalidArgument, "the padding value {} is not rounded to {}", *read.pad,
                name_of(tensor.dtype));
  }
  for (std::size_t d = 0; d < read.index.size(); ++d) {
    const ir::Affine& index = read.index[d];
    const auto [low, high] = reach_of(index, iters);
    const std::int64_t size = tensor.shape[d];
    if (low >= 0 && high < size) continue;
    const bool before = low < 0;
    return fail(ErrorKind::kInvalidArgument,
                "index {} of {}[{}], {}, reaches {}, {} {}; shorten an iterator, or add `else 0` "
                "to read 0 there",
                d, tensor.name, fmt::join(tensor.shape, ","), index_text(index, iters),
                clamped(before ? low : high), clamped(before ? -low : high - size + 1),
                before ? "before its start" : "past its end");
  }
  return {};
}

namespace {

// Checks that tensors are written before they are read, in their recurrence before they are read at
// the same step, and that all are used. `ready`: by tensor, true for those that are given.
Status check_uses(const Workload& workload, std::vector<bool> ready) {
  const std::vector<Recurrence> recurrences = LATHE_TRY(find_recurrences(workload));
  std::vector<bool> used(ready.size());
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const Stage& stage = workload.stages[s];
    const auto own = static_cast<std::size_t>(stage.tensor);
    for (const Recurrence& recurrence : recurrences)
      if (recurrence.stages.front() == static_cast<int>(s))
        for (const int each : recurrence.stages)
          ready[static_cast<std::size_t>(workload.stages[static_cast<std::size_t>(each)].tensor)] =
              true;
    for (const int read : ir::tensors_of(stage.body)) {
      const auto t = static_cast<std::size_t>(read);
      if (t == own && !ir::looks_up(stage.body, read)) continue;
      if (!ready[t])
        return fail(ErrorKind::kInvalidArgument,
                    "{} is read to compute {}, but written later or never",
                    workload.tensors[t].name, workload.tensors[own].name);
      used[t] = true;
    }
    ready[own] = true;
  }
  for (std::size_t t = 0; t < ready.size(); ++t) {
    const Tensor& tensor = workload.tensors[t];
    if (!ready[t]) return fail(ErrorKind::kInvalidArgument, "{} is never written", tensor.name);
    if (!used[t] && tensor.role != TensorRole::kOutput)
      return fail(ErrorKind::kInvalidArgument, "{} is never read; leave it out", tensor.name);
  }
  return {};
}

}  // namespace

Status validate(const Workload& workload) {
  LATHE_TRY_STATUS(check_count(workload.stages.size(), workload.tensors.size()));
  std::set<std::string> names;
  for (const Tensor& tensor : workload.tensors) {
    LATHE_TRY_STATUS(check_tensor(tensor));
    if (!names.insert(tensor.name).second)
      return fail(ErrorKind::kInvalidArgument, "two tensors are called {}", tensor.name);
  }
  if (workload.stages.empty())
    return fail(ErrorKind::kInvalidArgument, "the workload computes nothing");
  if (!workload.name.empty() && !is_name(workload.name))
    return fail(ErrorKind::kInvalidArgument,
                "'{}' is no name for a workload; use letters, digits and _", workload.name);
  LATHE_TRY_STATUS(check(workload.contract));
  LATHE_TRY_STATUS(check_max_error(workload));
  std::vector<bool> ready(workload.tensors.size());
  for (std::size_t t = 0; t < ready.size(); ++t)
    ready[t] = workload.tensors[t].role == TensorRole::kInput ||
               workload.tensors[t].role == TensorRole::kLiteral;
  std::vector<bool> written(ready.size());
  for (const Stage& stage : workload.stages) {
    if (stage.tensor < 0 || static_cast<std::size_t>(stage.tensor) >= ready.size())
      return fail(ErrorKind::kInvalidArgument, "a stage writes tensor {}, which does not exist",
                  stage.tensor);
    const auto own = static_cast<std::size_t>(stage.tensor);
    const std::string& name = workload.tensors[own].name;
    if (ready[own] || written[own])
      return fail(ErrorKind::kInvalidArgument, "{} is an input or written twice", name);
    written[own] = true;
    if (Status status = check_stage(workload, stage); !status) {
      Error error = std::move(status).error();
      error.place = fmt::format("the stage that writes {}", name);
      return std::unexpected(std::move(error));
    }
  }
  return check_uses(workload, std::move(ready));
}

}  // namespace lathe::te
