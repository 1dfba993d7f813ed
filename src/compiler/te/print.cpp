#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/ir/expr/print.h"
#include "compiler/te/parse.h"
#include "compiler/te/types.h"
#include "compiler/te/validate.h"

namespace lathe::te {
namespace {

using ir::Expr;

// The shortest decimal number that reads back as this value of the type.
std::string number_text(double value, Dtype dtype) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const bool single = is_float(dtype) && dtype != Dtype::kF64;
  const auto end = single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                          : std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

// What the parser takes for numbers alone, which get the type of what they meet.
bool is_flexible(const Expr& e) {
  struct Visitor {
    Dtype dtype;
    bool operator()(const ir::Const&) const { return dtype != Dtype::kBool; }
    bool operator()(const ir::IterValue&) const { return false; }
    bool operator()(const ir::Read&) const { return false; }
    bool operator()(const ir::Lookup&) const { return false; }
    bool operator()(const ir::InRange&) const { return false; }
    bool operator()(const ir::Cast&) const { return false; }
    bool operator()(const ir::Unary& n) const { return !ir::yields_bool(n.op) && is_flexible(n.x); }
    bool operator()(const ir::Binary& n) const {
      return n.op < ir::BinaryOp::kLt && is_flexible(n.a) && is_flexible(n.b);
    }
    bool operator()(const ir::Select& n) const {
      return is_flexible(n.then) && is_flexible(n.otherwise);
    }
  };
  return std::visit(Visitor{e->dtype}, e->value);
}

enum Level { kOr, kAnd, kCompare, kBitOr, kBitXor, kBitAnd, kShift, kAdd, kMul, kUnary, kPrimary };

Level level_of(ir::BinaryOp op) {
  using enum ir::BinaryOp;
  switch (op) {
    case ir::BinaryOp::kOr: return Level::kOr;
    case ir::BinaryOp::kAnd: return Level::kAnd;
    case kLt:
    case kLe:
    case kEq:
    case kNe: return kCompare;
    case ir::BinaryOp::kBitOr: return Level::kBitOr;
    case ir::BinaryOp::kBitXor: return Level::kBitXor;
    case ir::BinaryOp::kBitAnd: return Level::kBitAnd;
    case kShl:
    case kShr: return kShift;
    case ir::BinaryOp::kAdd:
    case kSub: return Level::kAdd;
    case ir::BinaryOp::kMul:
    case kDiv:
    case kMod: return Level::kMul;
    case kMin:
    case kMax:
    case kPow: return kPrimary;
  }
  return kPrimary;
}

struct Text {
  std::string text;
  Level level;
};

class ExprPrinter {
 public:
  ExprPrinter(const Workload& workload, const Stage& stage, bool in_index = false)
      : workload_(workload), stage_(stage), in_index_(in_index) {}

  // `expected` is the type that the parser will give to numbers here.
  std::string at_least(Level level, const Expr& e, std::optional<Dtype> expected) const {
    Text out = print(e, expected);
    return out.level < level ? "(" + out.text + ")" : std::move(out.text);
  }

 private:
  Text print(const Expr& e, std::optional<Dtype> expected) const {
    if (in_index_ && ir::is_implied_in_index(e)) return print(std::get<ir::Cast>(e->value).x, {});
    return std::visit([&](const auto& node) { return visit(node, e->dtype, expected); }, e->value);
  }

  Text visit(const ir::Const& n, Dtype dtype, std::optional<Dtype> expected) const {
    if (dtype == Dtype::kBool) return {n.value != 0 ? "true" : "false", kPrimary};
    const std::string number = number_text(n.value, dtype);
    if (expected == dtype) return {number, std::signbit(n.value) ? kUnary : kPrimary};
    return {call(name_of(dtype), {number}), kPrimary};
  }
  Text visit(const ir::IterValue& n, Dtype, std::optional<Dtype>) const {
    return {stage_.iters[static_cast<std::size_t>(n.iter)].name, kPrimary};
  }
  Text visit(const ir::Read& n, Dtype dtype, std::optional<Dtype>) const {
    std::vector<std::string> index;
    for (const ir::Affine& i : n.index) index.push_back(index_text(i, stage_.iters));
    return access(n.tensor, index, n.pad, dtype);
  }
  Text visit(const ir::Lookup& n, Dtype dtype, std::optional<Dtype>) const {
    std::vector<std::string> index;
    const ExprPrinter inside(workload_, stage_, true);
    for (const Expr& i : n.index) {
      const ir::AffineAndRest parts = ir::affine_and_rest(i);
      index.push_back(parts.rest ? inside.at_least(kOr, i, Dtype::kI64)
                                 : index_text(parts.affine, stage_.iters));
    }
    return access(n.tensor, index, n.pad, dtype);
  }
  Text access(int tensor, const std::vector<std::string>& index, std::optional<double> pad,
              Dtype dtype) const {
    return {fmt::format("{}[{}{}]", workload_.tensors[static_cast<std::size_t>(tensor)].name,
                        fmt::join(index, ","), pad ? " else " + number_text(*pad, dtype) : ""),
            kPrimary};
  }
  Text visit(const ir::Unary& n, Dtype, std::optional<Dtype> expected) const {
    if (ir::yields_bool(n.op)) expected = std::nullopt;
    if (n.op == ir::UnaryOp::kBitNot) return {"~" + at_least(kUnary, n.x, expected), kUnary};
    if (n.op != ir::UnaryOp::kNeg && n.op != ir::UnaryOp::kNot)
      return {call(name_of(n.op), {at_least(kOr, n.x, expected)}), kPrimary};
    if (n.op == ir::UnaryOp::kNot) return {"!" + at_least(kUnary, n.x, {}), kUnary};
    // Brackets keep a negated number from becoming a negative one.
    if (std::holds_alternative<ir::Const>(n.x->value))
      return {"-(" + at_least(kOr, n.x, expected) + ")", kUnary};
    return {"-" + at_least(kUnary, n.x, expected), kUnary};
  }
  Text visit(const ir::Binary& n, Dtype, std::optional<Dtype> expected) const {
    const Level level = level_of(n.op);
    if (n.op >= ir::BinaryOp::kLt) expected = std::nullopt;
    const auto [first, second] = expected_of(n.a, n.b, expected);
    if (level == kPrimary)
      return {call(name_of(n.op), {at_least(kOr, n.a, first), at_least(kOr, n.b, second)}),
              kPrimary};
    const auto tighter = static_cast<Level>(level + 1);
    return {fmt::format("{} {} {}", at_least(level == kCompare ? tighter : level, n.a, first),
                        name_of(n.op), at_least(tighter, n.b, second)),
            level};
  }
  Text visit(const ir::Select& n, Dtype, std::optional<Dtype> expected) const {
    const auto [first, second] = expected_of(n.then, n.otherwise, expected);
    return {call("select", {at_least(kOr, n.condition, {}), at_least(kOr, n.then, first),
                            at_least(kOr, n.otherwise, second)}),
            kPrimary};
  }
  Text visit(const ir::Cast& n, Dtype dtype, std::optional<Dtype>) const {
    return {call(name_of(dtype), {ExprPrinter(workload_, stage_).at_least(kOr, n.x, {})}),
            kPrimary};
  }
  Text visit(const ir::InRange& n, Dtype, std::optional<Dtype>) const {
    std::vector<std::string> rows;
    for (const auto& row : n.rows)
      rows.push_back(
          fmt::format("{} <= {} < {}", row.low, index_text(row.index, stage_.iters), row.high));
    return {call("in_range", rows), kPrimary};
  }

  // Mirrors the parser: the side that is not flexible is typed first and gives its type to the
  // other.
  static std::pair<std::optional<Dtype>, std::optional<Dtype>> expected_of(
      const Expr& a, const Expr& b, std::optional<Dtype> expected) {
    if (is_flexible(a) && !is_flexible(b)) return {b->dtype, expected};
    return {expected, a->dtype};
  }

  static std::string call(std::string_view name, const std::vector<std::string>& arguments) {
    return fmt::format("{}({})", name, fmt::join(arguments, ", "));
  }

  const Workload& workload_;
  const Stage& stage_;
  bool in_index_;  // of a Lookup, whose integers of every type are i64
};

std::string iters_text(const Stage& stage, IterKind kind) {
  std::vector<std::string> out;
  for (const Iterator& iter : stage.iters)
    if (iter.kind == kind) out.push_back(fmt::format("{}:{}", iter.name, iter.extent));
  return fmt::format("{}", fmt::join(out, ","));
}

// True if the parser would widen something in this body of a reduction.
bool would_widen(const Workload& workload, const Expr& e) {
  struct Visitor {
    const Workload& p;
    bool operator()(const ir::Const&) const { return false; }
    bool operator()(const ir::IterValue&) const { return false; }
    bool operator()(const ir::InRange&) const { return false; }
    bool operator()(const ir::Cast&) const { return false; }
    bool operator()(const ir::Read& n) const {
      return is_narrow(p.tensors[static_cast<std::size_t>(n.tensor)].dtype);
    }
    bool operator()(const ir::Lookup& n) const {
      return is_narrow(p.tensors[static_cast<std::size_t>(n.tensor)].dtype);
    }
    bool operator()(const ir::Unary& n) const { return would_widen(p, n.x); }
    bool operator()(const ir::Binary& n) const {
      return would_widen(p, n.a) || would_widen(p, n.b);
    }
    bool operator()(const ir::Select& n) const {
      return would_widen(p, n.condition) || would_widen(p, n.then) || would_widen(p, n.otherwise);
    }
  };
  return std::visit(Visitor{workload}, e->value);
}

std::string stage_text(const Workload& workload, const Stage& stage) {
  const ExprPrinter printer(workload, stage);
  const std::string& name = workload.tensors[static_cast<std::size_t>(stage.tensor)].name;
  const std::string left = fmt::format("{}[{}] = ", name, iters_text(stage, IterKind::kSpatial));
  const Dtype dtype = stage.body->dtype;
  if (stage.reduce == ir::ReduceOp::kNone) return left + printer.at_least(kOr, stage.body, dtype);
  const std::string reduce =
      fmt::format("{}{}({}) ", left, name_of(stage.reduce), iters_text(stage, IterKind::kReduce));
  if (!is_narrow(dtype) && !would_widen(workload, stage.body))
    return reduce + printer.at_least(kMul, stage.body, dtype);
  // A cast as the whole body chooses this accumulator, and nothing is widened.
  std::optional<Dtype> expected;
  if (is_flexible(stage.body)) expected = dtype;
  return fmt::format("{}{}({})", reduce, name_of(dtype),
                     printer.at_least(kOr, stage.body, expected));
}

std::string declaration_text(const Tensor& tensor) {
  const bool output = tensor.role == TensorRole::kOutput;
  std::string out =
      fmt::format("{}{}{}: {}[{}]", tensor.constant ? "const " : "", output ? "output " : "",
                  tensor.name, name_of(tensor.dtype), fmt::join(tensor.shape, ","));
  if (!tensor.border_shape.empty())
    out += fmt::format(" as [{}]", fmt::join(tensor.border_shape, ","));
  if (tensor.range)
    out += fmt::format(" in {}..{}", number_text(tensor.range->low, tensor.dtype),
                       number_text(tensor.range->high, tensor.dtype));
  if (tensor.role != TensorRole::kLiteral) return out;
  std::vector<std::string> values;
  for (const double value : tensor.literal) values.push_back(number_text(value, tensor.dtype));
  return fmt::format("{} = {{{}}}", out, fmt::join(values, ","));
}

std::vector<std::string> items_of(const Workload& workload) {
  std::vector<std::string> items;
  for (const Tensor& tensor : workload.tensors) items.push_back(declaration_text(tensor));
  for (const Stage& stage : workload.stages) items.push_back(stage_text(workload, stage));
  return items;
}

std::string layout_text(const Contract& contract) {
  return contract.free_layout ? "layout free" : "layout plain";
}
std::string error_text(const Contract& contract) {
  return "max_error " + number_text(contract.max_error, Dtype::kF64);
}
// An algorithm has its own level, and the usual one goes without saying.
void add_algorithm(const Contract& contract, std::vector<std::string>& items) {
  if (!contract.algorithm.empty()) items.push_back("algorithm " + contract.algorithm);
  else if (contract.level() != Contract{}.level())
    items.push_back(fmt::format("numerics {}", name_of(contract.level())));
}
std::string default_name(const Workload& workload) {
  const auto outputs = workload.outputs();
  return outputs.empty() ? "" : workload.tensors[static_cast<std::size_t>(outputs.front())].name;
}

}  // namespace

std::string print_workload(const Workload& workload) {
  std::vector<std::string> items = items_of(workload);
  if (!workload.name.empty() && workload.name != default_name(workload))
    items.insert(items.begin(), "name " + workload.name);
  if (workload.contract.free_layout) items.push_back(layout_text(workload.contract));
  if (workload.contract.max_error != Contract{}.max_error)
    items.push_back(error_text(workload.contract));
  add_algorithm(workload.contract, items);
  return fmt::format("{}\n", fmt::join(items, "\n"));
}

namespace {

// Where a dimension has one element, and so has the stage's own at its place, the index is the
// stage's iterator rather than 0: then what follows element by element is seen to do so.
void follow_ones(const Workload& workload, Stage& stage) {
  const std::size_t rank = workload.tensors[static_cast<std::size_t>(stage.tensor)].shape.size();
  stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
    const auto* read = std::get_if<ir::Read>(&leaf->value);
    if (read == nullptr || read->index.size() != rank || read->tensor == stage.tensor) return leaf;
    const Tensor& from = workload.tensors[static_cast<std::size_t>(read->tensor)];
    if (from.constant || from.role == TensorRole::kLiteral) return leaf;
    std::vector<ir::Affine> index = read->index;
    for (std::size_t d = 0; d < rank; ++d)
      if (index[d] == ir::Affine::constant(0) && stage.iters[d].extent == 1 && from.shape[d] == 1)
        index[d] = ir::Affine::iter(static_cast<int>(d));
    return index == read->index ? leaf
                                : ir::read(read->tensor, std::move(index), leaf->dtype, read->pad);
  });
}

}  // namespace

Workload canonical(const Workload& workload) {
  Workload out = workload;
  for (Stage& stage : out.stages) follow_ones(out, stage);
  for (std::size_t t = 0; t < out.tensors.size(); ++t)
    out.tensors[t].name =
        t < 26 ? std::string(1, static_cast<char>('A' + t)) : fmt::format("T{}", t);
  for (Stage& stage : out.stages)
    for (std::size_t i = 0; i < stage.iters.size(); ++i)
      stage.iters[i].name =
          i < 18 ? std::string(1, static_cast<char>('i' + i)) : fmt::format("i{}", i);
  out.name = default_name(out);
  return out;
}

std::string workload_key(const Workload& workload) {
  std::vector<std::string> items = items_of(canonical(workload));
  items.push_back(layout_text(workload.contract));
  items.push_back(error_text(workload.contract));
  add_algorithm(workload.contract, items);
  return fmt::format("{}", fmt::join(items, "; "));
}

bool equal(const Workload& a, const Workload& b) {
  const auto same_tensor = [](const Tensor& x, const Tensor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.role == y.role &&
           x.constant == y.constant && x.literal == y.literal && x.border_shape == y.border_shape &&
           x.range == y.range;
  };
  const auto same_iter = [](const Iterator& x, const Iterator& y) {
    return x.name == y.name && x.extent == y.extent && x.kind == y.kind;
  };
  const auto same_stage = [&](const Stage& x, const Stage& y) {
    return x.tensor == y.tensor && x.reduce == y.reduce && x.accumulator == y.accumulator &&
           std::ranges::equal(x.iters, y.iters, same_iter) && ir::equal(x.body, y.body);
  };
  return a.name == b.name && a.contract.max_error == b.contract.max_error &&
         a.contract.free_layout == b.contract.free_layout &&
         a.contract.algorithm == b.contract.algorithm && a.contract.level() == b.contract.level() &&
         std::ranges::equal(a.tensors, b.tensors, same_tensor) &&
         std::ranges::equal(a.stages, b.stages, same_stage);
}

}  // namespace lathe::te
