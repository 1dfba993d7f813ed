#include "compiler/codegen/c_source/kernel_writer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/c_source/immediates.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen::c_source {
namespace {

using flat::Expr;

constexpr std::size_t kLong = 100;  // characters that make an expression worth a name

bool is_leaf(const Expr& e) {
  return std::holds_alternative<flat::IntImm>(e->value) ||
         std::holds_alternative<flat::FloatImm>(e->value) ||
         std::holds_alternative<flat::Var>(e->value) ||
         std::holds_alternative<flat::RegRead>(e->value);
}

bool is_identifier(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

}  // namespace

std::string bare(const std::string& text) {
  if (text.empty() || text[0] != '(') return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

KernelWriter::KernelWriter(const flat::Program& program, const flat::Kernel& kernel, Names names)
    : program_(program), kernel_(kernel), regs_used_(program.regs.size()) {
  for (const flat::Buffer& buffer : program.buffers) buffers_.push_back(names.fresh(buffer.name));
  for (const std::string& var : program.vars) vars_.push_back(names.fresh(var));
}

void KernelWriter::line(const std::string& text) {
  out_ += std::string(static_cast<std::size_t>(depth_) * 2, ' ') + text + "\n";
}

std::string KernelWriter::statements() {
  statement(kernel_.body);
  return std::exchange(out_, "");
}

// Expressions.

void KernelWriter::count(const Expr& e) {
  if (++uses_[e->hash] > 1) return;
  flat::each_operand(*e, [&](const Expr& x) { count(x); });
}

void KernelWriter::begin_statement(const std::vector<Expr>& expressions) {
  uses_.clear();
  known_.clear();
  for (const Expr& e : expressions)
    if (e) count(e);
}

std::string KernelWriter::name_it(flat::Type of, const std::string& text) {
  std::string name = fmt::format("t{}", temporaries_++);
  line(fmt::format("const {} {} = {};", type(of), name, bare(text)));
  return name;
}

std::string KernelWriter::value(const Expr& e) {
  if (is_leaf(e)) return text_of(e);
  if (const auto known = known_.find(e->hash); known != known_.end()) return known->second;
  std::string text = text_of(e);
  if (!is_identifier(text) && (uses_[e->hash] > 1 || text.size() > kLong))
    text = name_it(e->type, text);
  return known_[e->hash] = text;
}

std::string KernelWriter::whole(const Expr& e) {
  return is_leaf(e) || uses_[e->hash] > 1 ? value(e) : text_of(e);
}

std::string KernelWriter::named(const Expr& e) {
  std::string text = value(e);
  if (is_leaf(e) || is_identifier(text)) return text;
  return known_[e->hash] = name_it(e->type, text);
}

std::string KernelWriter::text_of(const Expr& e) {
  struct Visitor {
    KernelWriter& w;
    const Expr& e;
    std::string operator()(const flat::IntImm& n) const {
      return integer(n.value, e->type.dtype, w.type(e->type));
    }
    std::string operator()(const flat::FloatImm& n) const { return real(n.value, e->type.dtype); }
    std::string operator()(const flat::Var& n) const { return w.var_name(n.id); }
    std::string operator()(const flat::RegRead& n) const { return fmt::format("r{}", n.reg); }
    std::string operator()(const flat::Unary& n) const { return w.unary(n, e, w.value(n.x)); }
    std::string operator()(const flat::Binary& n) const {
      const std::string a = w.value(n.a), b = w.value(n.b);
      return w.binary(n, e, a, b);
    }
    std::string operator()(const flat::Fma& n) const {
      const std::string a = w.value(n.a), b = w.value(n.b), c = w.value(n.c);
      return w.fma(e, a, b, c);
    }
    std::string operator()(const flat::Select& n) const {
      const std::string c = w.value(n.condition), t = w.value(n.then), o = w.value(n.otherwise);
      return w.select(n, e, c, t, o);
    }
    std::string operator()(const flat::Cast& n) const { return w.cast(n, e); }
    std::string operator()(const flat::Bitcast& n) const { return w.bitcast(n, e, w.value(n.x)); }
    std::string operator()(const flat::Ramp& n) const { return w.ramp(n, e, w.value(n.base)); }
    std::string operator()(const flat::Broadcast& n) const { return w.broadcast(e, w.value(n.x)); }
    std::string operator()(const flat::Reduce& n) const { return w.reduce(n); }
    std::string operator()(const flat::Slide& n) const { return w.slide(n, e->type); }
    std::string operator()(const flat::Load& n) const { return w.load(n, e); }
  };
  return std::visit(Visitor{*this, e}, e->value);
}

std::string KernelWriter::reduce(const flat::Reduce& n) {
  flat::Type of = n.x->type;
  std::string all = named(n.x);
  while (of.lanes > 2) {
    of.lanes /= 2;
    all = name_it(of, combine(n.op, of, half(all, 0), half(all, 1)));
  }
  const flat::Type one{of.dtype, 1};
  return combine(n.op, one, lane(all, of, 0), lane(all, of, 1));
}

std::string KernelWriter::slide(const flat::Slide& n, flat::Type own) {
  const std::string x = named(n.x), fill = named(n.fill);
  std::vector<std::string> lanes;
  for (int l = n.from; l < n.from + own.lanes; ++l)
    lanes.push_back(l >= 0 && l < n.x->type.lanes ? lane(x, n.x->type, l) : fill);
  if (own.lanes == 1) return lanes[0];
  return fmt::format("(({})({}))", type(own), fmt::join(lanes, ", "));
}

// Statements.

void KernelWriter::statement(const flat::Stmt& s) {
  std::visit([&](const auto& n) { write(n); }, s->value);
}

void KernelWriter::block(const flat::Stmt& s) {
  ++depth_;
  statement(s);
  --depth_;
}

void KernelWriter::write(const flat::Seq& n) {
  for (const flat::Stmt& s : n.stmts) statement(s);
}

void KernelWriter::write(const flat::For& n) {
  begin_statement({n.begin, n.end});
  const std::string begin = value(n.begin), end = named(n.end);
  const std::string& var = var_name(n.var);
  const std::string index = type({Dtype::kI64, 1});
  line(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", index, var, bare(begin), end));
  block(n.body);
  line("}");
}

void KernelWriter::write(const flat::Region&) {
  throw Refused{"a device has no threads that share the iterations of a parallel loop"};
}

void KernelWriter::write(const flat::If& n) {
  begin_statement({n.condition});
  line(fmt::format("if ({}) {{", bare(value(n.condition))));
  block(n.then);
  if (n.otherwise) {
    line("} else {");
    block(n.otherwise);
  }
  line("}");
}

void KernelWriter::write(const flat::Let& n) {
  begin_statement({n.value});
  const std::string text = whole(n.value);
  line(fmt::format("const {} {} = {};", type({Dtype::kI64, 1}), var_name(n.var), bare(text)));
}

void KernelWriter::write(const flat::Store& n) {
  begin_statement({n.index, n.value, n.mask});
  store(n);
}

// No dialect has them yet.
void KernelWriter::write(const flat::AsyncCopy&) {
  throw Refused{"the device copies nothing while it computes"};
}
void KernelWriter::write(const flat::CommitCopies&) {
  throw Refused{"the device copies nothing while it computes"};
}
void KernelWriter::write(const flat::AwaitCopies&) {
  throw Refused{"the device copies nothing while it computes"};
}
void KernelWriter::write(const flat::Exchange&) {
  throw Refused{"the device's work items exchange no registers"};
}

void KernelWriter::write(const flat::RegWrite& n) {
  begin_statement({n.value});
  regs_used_[static_cast<std::size_t>(n.reg)] = 1;
  const std::string text = whole(n.value);
  line(fmt::format("r{} = {};", n.reg, bare(text)));
}

}  // namespace lathe::codegen::c_source
