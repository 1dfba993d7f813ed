// Flat programs as text that looks like C. A larger expression that a statement uses more than once
// is printed once, as `tN`.
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/flat/flat.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::flat {
namespace {

constexpr int kNameable = 10;  // nodes that make an expression worth a name of its own

std::string text_of(Type type) {
  return type.lanes == 1 ? std::string(name_of(type.dtype))
                         : fmt::format("{}x{}", name_of(type.dtype), type.lanes);
}

// Makes hints unique: ids that share a hint get their number appended.
std::vector<std::string> unique_names(std::vector<std::string> hints, const char* fallback) {
  std::unordered_map<std::string, int> uses;
  for (const std::string& hint : hints) ++uses[hint];
  for (std::size_t i = 0; i < hints.size(); ++i)
    if (hints[i].empty() || uses[hints[i]] > 1)
      hints[i] = fmt::format("{}_{}", hints[i].empty() ? fallback : hints[i], i);
  return hints;
}

int precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod: return 10;
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return 9;
    case BinaryOp::kShl:
    case BinaryOp::kShr: return 8;
    case BinaryOp::kLt:
    case BinaryOp::kLe: return 7;
    case BinaryOp::kEq:
    case BinaryOp::kNe: return 6;
    case BinaryOp::kBitAnd: return 5;
    case BinaryOp::kBitXor: return 4;
    case BinaryOp::kBitOr: return 3;
    case BinaryOp::kAnd: return 2;
    case BinaryOp::kOr: return 1;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kPow:
    case BinaryOp::kSar:
    case BinaryOp::kScale: return 0;  // these are printed as calls
  }
  return 0;
}

// Counts how often each structurally different expression is used, and its size as a tree (capped).
struct Census {
  std::unordered_map<std::uint64_t, int> uses, size;

  int visit(const Expr& e) {
    if (++uses[e->hash] > 1) return size[e->hash];
    int total = 1;
    each_operand(*e, [&](const Expr& x) { total = std::min(total + visit(x), 1000); });
    return size[e->hash] = total;
  }
};

class Printer {
 public:
  explicit Printer(const Program& program)
      : program_(program), vars_(unique_names(program.vars, "v")) {
    std::vector<std::string> hints;
    for (const Buffer& buffer : program.buffers) hints.push_back(buffer.name);
    buffers_ = unique_names(std::move(hints), "b");
  }

  std::string header();
  std::string grid(const Grid& grid) const;
  std::string statement(const Stmt& s, int depth);
  std::string whole_expression(const Expr& e) {
    std::string lines;
    const std::string text = named(e, 0, lines);
    return lines + text;
  }

 private:
  // The text of e. Definitions of what it uses more than once go to `lines`.
  std::string named(const Expr& e, int depth, std::string& lines) {
    Census census;
    census.visit(e);
    census_ = &census;
    names_.clear();
    define(e, depth, lines, true);
    std::string text = expression(e, 0);
    census_ = nullptr;
    return text;
  }
  void define(const Expr& e, int depth, std::string& lines, bool top) {
    if (!seen_.insert(e->hash).second && !top) return;
    each_operand(*e, [&](const Expr& x) { define(x, depth, lines, false); });
    if (top) {
      seen_.clear();
      return;
    }
    if (census_->uses[e->hash] < 2 || census_->size[e->hash] < kNameable) return;
    std::string text = expression(e, 0);
    const std::string name = fmt::format("t{}", names_.size());
    lines += fmt::format("{}{} = {}\n", indent(depth), name, text);
    names_.emplace(e->hash, name);
  }

  std::string expression(const Expr& e, int outer) const {
    if (const auto known = names_.find(e->hash); known != names_.end()) return known->second;
    return std::visit([&](const auto& n) { return text(n, e->type, outer); }, e->value);
  }
  std::string text(const IntImm& n, Type type, int) const {
    if (type.dtype == Dtype::kBool) return n.value != 0 ? "true" : "false";
    return type.dtype == Dtype::kI64 ? fmt::format("{}", n.value)
                                     : fmt::format("{}:{}", n.value, text_of(type));
  }
  std::string text(const FloatImm& n, Type type, int) const {
    std::string digits = fmt::format("{}", n.value);
    if (digits.find_first_not_of("-0123456789") == std::string::npos) digits += ".0";
    return type.dtype == Dtype::kF32 ? digits : fmt::format("{}:{}", digits, text_of(type));
  }
  std::string text(const Var& n, Type, int) const { return var_name(n.id); }
  std::string text(const Unary& n, Type, int) const {
    if (n.op == UnaryOp::kNeg) return "-" + expression(n.x, 11);
    if (n.op == UnaryOp::kNot) return "!" + expression(n.x, 11);
    return fmt::format("{}({})", ir::name_of(n.op), expression(n.x, 0));
  }
  std::string text(const Binary& n, Type, int outer) const {
    const int own = precedence(n.op);
    if (own == 0)
      return fmt::format("{}({}, {})", name_of(n.op), expression(n.a, 0), expression(n.b, 0));
    const auto minus = [&]() -> std::optional<std::int64_t> {
      const auto value = as_int(n.b);
      return n.op == BinaryOp::kAdd && value && *value < 0 && *value != INT64_MIN ? value
                                                                                  : std::nullopt;
    }();
    std::string out = minus ? fmt::format("{} - {}", expression(n.a, own),
                                          expression(int_imm(-*minus, n.b->type.dtype), 0))
                            : fmt::format("{} {} {}", expression(n.a, own), name_of(n.op),
                                          expression(n.b, own + 1));
    return own < outer ? "(" + out + ")" : out;
  }
  std::string text(const Fma& n, Type, int) const {
    return fmt::format("fma({}, {}, {})", expression(n.a, 0), expression(n.b, 0),
                       expression(n.c, 0));
  }
  std::string text(const Select& n, Type, int) const {
    return fmt::format("select({}, {}, {})", expression(n.condition, 0), expression(n.then, 0),
                       expression(n.otherwise, 0));
  }
  std::string text(const Cast& n, Type type, int) const {
    return fmt::format("{}({})", name_of(type.dtype), expression(n.x, 0));
  }
  std::string text(const Bitcast& n, Type type, int) const {
    return fmt::format("bits<{}>({})", text_of(type), expression(n.x, 0));
  }
  std::string text(const Ramp& n, Type type, int) const {
    return fmt::format("ramp({}, {}, {})", expression(n.base, 0), n.stride, type.lanes);
  }
  std::string text(const Broadcast& n, Type type, int) const {
    return fmt::format("x{}({})", type.lanes, expression(n.x, 0));
  }
  std::string text(const Reduce& n, Type, int) const {
    return fmt::format("reduce<{}>({})", name_of(n.op), expression(n.x, 0));
  }
  std::string text(const Slide& n, Type type, int) const {
    return fmt::format("slide({}, {} : {}, {})", expression(n.x, 0), n.from, type.lanes,
                       expression(n.fill, 0));
  }
  std::string text(const Load& n, Type type, int) const {
    return access(n.buffer, n.index, type.lanes, n.mask);
  }
  std::string text(const RegRead& n, Type, int) const { return fmt::format("r{}", n.reg); }

  std::string access(int buffer, const Expr& index, int lanes, const Expr& mask) const {
    std::string out = fmt::format("{}[{}", buffer_name(buffer), expression(index, 0));
    if (lanes > 1 && index->type.lanes == 1) out += fmt::format(" : {}", lanes);
    if (mask) out += fmt::format(" | {}", expression(mask, 0));
    return out + "]";
  }

  static std::string indent(int depth) {
    return std::string(static_cast<std::size_t>(depth) * 2, ' ');
  }
  std::string var_name(int id) const {
    return id >= 0 && id < static_cast<int>(vars_.size()) ? vars_[static_cast<std::size_t>(id)]
                                                          : fmt::format("v_{}", id);
  }
  std::string buffer_name(int id) const {
    return id >= 0 && id < static_cast<int>(buffers_.size())
               ? buffers_[static_cast<std::size_t>(id)]
               : fmt::format("b_{}", id);
  }

  std::string text(const Seq& n, int depth) {
    std::string out;
    for (const Stmt& s : n.stmts) out += statement(s, depth);
    return out;
  }
  std::string text(const For& n, int depth, const char* kind = "") {
    std::string lines;
    const std::string begin = named(n.begin, depth, lines), end = named(n.end, depth, lines);
    return fmt::format("{}{}for {} in {}..{}{} {{\n{}{}}}\n", lines, indent(depth), var_name(n.var),
                       begin, end, kind, statement(n.body, depth + 1), indent(depth));
  }
  std::string text(const Region& n, int depth) {
    if (n.phases.size() == 1) return text(n.phases[0], depth, " parallel");
    std::string out = fmt::format("{}region {{\n", indent(depth));
    for (const For& phase : n.phases) {
      if (&phase != &n.phases[0]) out += fmt::format("{}barrier\n", indent(depth + 1));
      out += text(phase, depth + 1, " parallel");
    }
    return out + fmt::format("{}}}\n", indent(depth));
  }
  std::string text(const If& n, int depth) {
    std::string lines;
    const std::string condition = named(n.condition, depth, lines);
    std::string out = fmt::format("{}{}if {} {{\n{}{}}}", lines, indent(depth), condition,
                                  statement(n.then, depth + 1), indent(depth));
    if (n.otherwise)
      out += fmt::format(" else {{\n{}{}}}", statement(n.otherwise, depth + 1), indent(depth));
    return out + "\n";
  }
  std::string text(const Let& n, int depth) {
    std::string lines;
    const std::string value = named(n.value, depth, lines);
    return fmt::format("{}{}let {} = {}\n", lines, indent(depth), var_name(n.var), value);
  }
  std::string text(const Store& n, int depth) {
    std::string lines;
    const std::string value = named(n.value, depth, lines);
    return fmt::format("{}{}{}{} = {}\n", lines, indent(depth), n.streaming ? "stream " : "",
                       access(n.buffer, n.index, n.value->type.lanes, n.mask), value);
  }
  std::string text(const RegWrite& n, int depth) {
    std::string lines;
    const std::string value = named(n.value, depth, lines);
    return fmt::format("{}{}r{} = {}\n", lines, indent(depth), n.reg, value);
  }
  std::string text(const PrefetchAt& n, int depth) {
    return fmt::format("{}prefetch {}\n", indent(depth), access(n.buffer, n.index, 1, nullptr));
  }
  std::string text(const Barrier&, int depth) { return fmt::format("{}barrier\n", indent(depth)); }
  std::string text(const AsyncCopy& n, int depth) {
    std::string lines;
    const std::string condition =
        n.condition ? fmt::format(" if {}", named(n.condition, depth, lines)) : "";
    return fmt::format("{}{}copy {} = {}{}\n", lines, indent(depth),
                       access(n.to, n.to_index, n.lanes, nullptr),
                       access(n.from, n.from_index, n.lanes, nullptr), condition);
  }
  std::string text(const CommitCopies&, int depth) {
    return fmt::format("{}commit copies\n", indent(depth));
  }
  std::string text(const AwaitCopies& n, int depth) {
    const std::string but = n.pending == 0 ? "" : fmt::format(" but the last {}", n.pending);
    return fmt::format("{}await copies{}\n", indent(depth), but);
  }
  std::string text(const Exchange& n, int depth) {
    std::string lines;
    const std::string value = named(n.value, depth, lines);
    return fmt::format("{}{}r{} = exchange({}, {})\n", lines, indent(depth), n.reg, value,
                       n.lane_mask);
  }

  const Program& program_;
  std::vector<std::string> vars_, buffers_;
  Census* census_ = nullptr;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_map<std::uint64_t, std::string> names_;
};

std::string Printer::header() {
  std::string out;
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& b = program_.buffers[i];
    const bool placed = b.scope != Scope::kLiteral;
    out += fmt::format("{}: {}[{}] {}{}\n", buffers_[i], lathe::name_of(b.dtype), b.size,
                       name_of(b.scope), placed ? fmt::format(" {}", b.slot) : "");
  }
  if (!program_.regs.empty()) {
    out += "regs:";
    for (std::size_t i = 0; i < program_.regs.size(); ++i)
      out += fmt::format(" r{} {}", i, text_of(program_.regs[i]));
    out += "\n";
  }
  return out;
}

// As "groups x: io < 3, items x: t < 8 "; nothing for a kernel that runs once.
std::string Printer::grid(const Grid& grid) const {
  constexpr const char* kDirections[] = {"x", "y", "z"};
  std::vector<std::string> axes;
  const auto add = [&](const char* what, const std::array<Axis, 3>& directions) {
    for (std::size_t d = 0; d < directions.size(); ++d)
      if (const auto& [count, var] = directions[d]; var >= 0)
        axes.push_back(fmt::format("{} {}: {} < {}", what, kDirections[d], var_name(var), count));
  };
  add("groups", grid.groups);
  add("items", grid.items);
  return axes.empty() ? "" : fmt::format("on {} ", fmt::join(axes, ", "));
}

std::string Printer::statement(const Stmt& s, int depth) {
  names_.clear();
  return std::visit([&](const auto& n) { return text(n, depth); }, s->value);
}

// A line for a sequence, unless it is the one kernel of the same name.
std::string sequence_text(const Program& program, const char* name,
                          const std::vector<int>& kernels) {
  std::vector<std::string> names;
  for (const int k : kernels) names.push_back(program.kernels[static_cast<std::size_t>(k)].name);
  if (names.empty() || names == std::vector<std::string>{name}) return "";
  return fmt::format("{}: {}\n", name, fmt::join(names, ", "));
}

}  // namespace

const char* name_of(Scope scope) {
  switch (scope) {
    case Scope::kInput: return "input";
    case Scope::kOutput: return "output";
    case Scope::kLiteral: return "literal";
    case Scope::kConstant: return "constant";
    case Scope::kGlobal: return "global";
    case Scope::kShared: return "shared";
    case Scope::kThread: return "thread";
    case Scope::kGroup: return "group";
  }
  return "?";
}

std::string print(const Program& program) {
  Printer printer(program);
  std::string out = printer.header();
  for (const Kernel& kernel : program.kernels)
    out += fmt::format("{} {}{{\n{}}}\n", kernel.name, printer.grid(kernel.grid),
                       printer.statement(kernel.body, 1));
  return out + sequence_text(program, "prepare", program.prepare) +
         sequence_text(program, "run", program.run);
}
std::string print(const Program& program, const Stmt& stmt) {
  return Printer(program).statement(stmt, 0);
}
std::string print(const Program& program, const Expr& e) {
  return Printer(program).whole_expression(e);
}

}  // namespace lathe::flat
