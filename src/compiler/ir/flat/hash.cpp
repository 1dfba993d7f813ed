#include <algorithm>
#include <bit>

#include "base/hash.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/ir/flat/make.h"

namespace lathe::flat {
namespace {

// Every node that is made gets hashed, so this is cheap: a multiply and a shift for each word,
// mixed well at the end.
class Mix {
 public:
  explicit Mix(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U) {}
  Mix& add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0xbf58476d1ce4e5b9U;
    state_ ^= state_ >> 29;
    return *this;
  }
  template <class Pointer>
  Mix& child(const Pointer& p) {
    if (!p) return add(0x5bd1e995U);
    contents_ |= p->contents;
    return add(p->hash);
  }
  Contents contents() const { return contents_; }  // of all operands
  std::uint64_t value() const {
    const std::uint64_t z = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
  Contents contents_ = 0;
};

struct ExprHash {
  Mix& mix;
  void operator()(const IntImm& n) const { mix.add(static_cast<std::uint64_t>(n.value)); }
  void operator()(const FloatImm& n) const { mix.add(std::bit_cast<std::uint64_t>(n.value)); }
  void operator()(const Var& n) const { mix.add(static_cast<std::uint64_t>(n.id)); }
  void operator()(const Unary& n) const { mix.add(static_cast<std::uint64_t>(n.op)).child(n.x); }
  void operator()(const Binary& n) const {
    mix.add(static_cast<std::uint64_t>(n.op)).child(n.a).child(n.b);
  }
  void operator()(const Fma& n) const { mix.child(n.a).child(n.b).child(n.c); }
  void operator()(const Select& n) const {
    mix.child(n.condition).child(n.then).child(n.otherwise);
  }
  void operator()(const Cast& n) const { mix.child(n.x); }
  void operator()(const Bitcast& n) const { mix.child(n.x); }
  void operator()(const Ramp& n) const {
    mix.add(static_cast<std::uint64_t>(n.stride)).child(n.base);
  }
  void operator()(const Broadcast& n) const { mix.child(n.x); }
  void operator()(const Reduce& n) const { mix.add(static_cast<std::uint64_t>(n.op)).child(n.x); }
  void operator()(const Slide& n) const {
    mix.add(static_cast<std::uint64_t>(n.from)).child(n.x).child(n.fill);
  }
  void operator()(const Load& n) const {
    mix.add(static_cast<std::uint64_t>(n.buffer)).child(n.index).child(n.mask);
  }
  void operator()(const RegRead& n) const { mix.add(static_cast<std::uint64_t>(n.reg)); }
};

struct StmtHash {
  Mix& mix;
  void operator()(const Seq& n) const {
    mix.add(n.stmts.size());
    for (const Stmt& s : n.stmts) mix.child(s);
  }
  void operator()(const For& n) const {
    mix.add(static_cast<std::uint64_t>(n.var)).child(n.begin).child(n.end).child(n.body);
  }
  void operator()(const Region& n) const {
    mix.add(n.phases.size());
    for (const For& phase : n.phases) (*this)(phase);
  }
  void operator()(const If& n) const { mix.child(n.condition).child(n.then).child(n.otherwise); }
  void operator()(const Let& n) const { mix.add(static_cast<std::uint64_t>(n.var)).child(n.value); }
  void operator()(const Store& n) const {
    mix.add(static_cast<std::uint64_t>(n.buffer)).child(n.index).child(n.value).child(n.mask);
    if (n.streaming) mix.add(1);
  }
  void operator()(const RegWrite& n) const {
    mix.add(static_cast<std::uint64_t>(n.reg)).child(n.value);
  }
  void operator()(const PrefetchAt& n) const {
    mix.add(static_cast<std::uint64_t>(n.buffer)).child(n.index);
  }
  void operator()(const Barrier&) const {}
  void operator()(const AsyncCopy& n) const {
    mix.add(static_cast<std::uint64_t>(n.to)).child(n.to_index);
    mix.add(static_cast<std::uint64_t>(n.from)).child(n.from_index);
    mix.add(static_cast<std::uint64_t>(n.lanes)).child(n.condition);
  }
  void operator()(const CommitCopies&) const {}
  void operator()(const AwaitCopies& n) const { mix.add(static_cast<std::uint64_t>(n.pending)); }
  void operator()(const Exchange& n) const {
    mix.add(static_cast<std::uint64_t>(n.reg)).child(n.value);
    mix.add(static_cast<std::uint64_t>(n.lane_mask));
  }
};

bool is_math(UnaryOp op) {
  switch (op) {
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kRsqrt:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSigmoid:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kRound:
    case UnaryOp::kLog1p:
    case UnaryOp::kExpm1: return true;
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSqrt:
    case UnaryOp::kNot:
    case UnaryOp::kSign:
    case UnaryOp::kBitNot:
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf: return false;
  }
  return false;
}
bool is_decision(BinaryOp op) {
  return is_comparison(op) || (op >= BinaryOp::kDiv && op <= BinaryOp::kMax);
}

bool is_data(const decltype(Node::value)& value) {
  const auto* cast = std::get_if<Cast>(&value);
  return std::holds_alternative<Load>(value) || std::holds_alternative<RegRead>(value) ||
         std::holds_alternative<Bitcast>(value) ||
         (cast != nullptr && is_float(cast->x->type.dtype));
}

// What the node itself adds to the contents of its operands.
Contents own_contents(const decltype(Node::value)& value, Type type) {
  const bool half = type.dtype == Dtype::kF16 || type.dtype == Dtype::kBF16;
  Contents own = half ? contents::kHalf : 0;
  if (std::holds_alternative<Var>(value)) own |= contents::kVar;
  if (is_data(value)) own |= contents::kData;
  if (const auto* n = std::get_if<Unary>(&value); n != nullptr && is_math(n->op))
    own |= contents::kMath;
  if (const auto* n = std::get_if<Binary>(&value)) {
    if (n->op == BinaryOp::kPow) own |= contents::kMath;
    if (n->a->type.dtype == Dtype::kI64 && is_decision(n->op)) own |= contents::kDecision;
  }
  return own;
}
bool is_together(const decltype(StmtNode::value)& value) {
  return std::holds_alternative<Barrier>(value) || std::holds_alternative<AsyncCopy>(value) ||
         std::holds_alternative<CommitCopies>(value) ||
         std::holds_alternative<AwaitCopies>(value) || std::holds_alternative<Exchange>(value);
}
Contents own_contents(const decltype(StmtNode::value)& value) {
  if (is_together(value)) return contents::kTogether;
  if (std::holds_alternative<Let>(value)) return contents::kControl | contents::kLet;
  if (std::holds_alternative<Region>(value)) return contents::kControl | contents::kRegion;
  const auto* list = std::get_if<Seq>(&value);
  const bool empty = list != nullptr && list->stmts.empty();
  const bool control =
      empty || std::holds_alternative<For>(value) || std::holds_alternative<If>(value);
  return control ? contents::kControl : 0;
}

// Children are compared by hash alone, so that comparing costs the same for a leaf and a program.
// With 64 well mixed bits, an accident among the few thousand nodes of a program is less likely
// than a broken machine.
bool same(const Expr& a, const Expr& b) { return a == b || (a && b && a->hash == b->hash); }
bool same(const Stmt& a, const Stmt& b) { return a == b || (a && b && a->hash == b->hash); }

// Compares a node with the same alternative of the other node.
struct ExprEqual {
  const Node& other;
  template <class T>
  const T& as() const {
    return std::get<T>(other.value);
  }
  bool operator()(const IntImm& n) const { return n.value == as<IntImm>().value; }
  bool operator()(const FloatImm& n) const {
    return std::bit_cast<std::uint64_t>(n.value) ==
           std::bit_cast<std::uint64_t>(as<FloatImm>().value);
  }
  bool operator()(const Var& n) const { return n.id == as<Var>().id; }
  bool operator()(const Unary& n) const {
    return n.op == as<Unary>().op && same(n.x, as<Unary>().x);
  }
  bool operator()(const Binary& n) const {
    const auto& o = as<Binary>();
    return n.op == o.op && same(n.a, o.a) && same(n.b, o.b);
  }
  bool operator()(const Fma& n) const {
    const auto& o = as<Fma>();
    return same(n.a, o.a) && same(n.b, o.b) && same(n.c, o.c);
  }
  bool operator()(const Select& n) const {
    const auto& o = as<Select>();
    return same(n.condition, o.condition) && same(n.then, o.then) && same(n.otherwise, o.otherwise);
  }
  bool operator()(const Cast& n) const { return same(n.x, as<Cast>().x); }
  bool operator()(const Bitcast& n) const { return same(n.x, as<Bitcast>().x); }
  bool operator()(const Ramp& n) const {
    return n.stride == as<Ramp>().stride && same(n.base, as<Ramp>().base);
  }
  bool operator()(const Broadcast& n) const { return same(n.x, as<Broadcast>().x); }
  bool operator()(const Reduce& n) const {
    return n.op == as<Reduce>().op && same(n.x, as<Reduce>().x);
  }
  bool operator()(const Slide& n) const {
    const auto& o = as<Slide>();
    return n.from == o.from && same(n.x, o.x) && same(n.fill, o.fill);
  }
  bool operator()(const Load& n) const {
    const auto& o = as<Load>();
    return n.buffer == o.buffer && same(n.index, o.index) && same(n.mask, o.mask);
  }
  bool operator()(const RegRead& n) const { return n.reg == as<RegRead>().reg; }
};

struct StmtEqual {
  const StmtNode& other;
  template <class T>
  const T& as() const {
    return std::get<T>(other.value);
  }
  bool operator()(const Seq& n) const {
    const auto& o = as<Seq>();
    if (n.stmts.size() != o.stmts.size()) return false;
    for (std::size_t i = 0; i < n.stmts.size(); ++i)
      if (!same(n.stmts[i], o.stmts[i])) return false;
    return true;
  }
  bool operator()(const For& n) const { return same_loop(n, as<For>()); }
  bool operator()(const Region& n) const {
    return std::ranges::equal(n.phases, as<Region>().phases, same_loop);
  }
  static bool same_loop(const For& a, const For& b) {
    return a.var == b.var && same(a.begin, b.begin) && same(a.end, b.end) && same(a.body, b.body);
  }
  bool operator()(const If& n) const {
    const auto& o = as<If>();
    return same(n.condition, o.condition) && same(n.then, o.then) && same(n.otherwise, o.otherwise);
  }
  bool operator()(const Let& n) const {
    return n.var == as<Let>().var && same(n.value, as<Let>().value);
  }
  bool operator()(const Store& n) const {
    const auto& o = as<Store>();
    return n.buffer == o.buffer && same(n.index, o.index) && same(n.value, o.value) &&
           same(n.mask, o.mask) && n.streaming == o.streaming;
  }
  bool operator()(const RegWrite& n) const {
    return n.reg == as<RegWrite>().reg && same(n.value, as<RegWrite>().value);
  }
  bool operator()(const PrefetchAt& n) const {
    return n.buffer == as<PrefetchAt>().buffer && same(n.index, as<PrefetchAt>().index);
  }
  bool operator()(const Barrier&) const { return true; }
  bool operator()(const AsyncCopy& n) const {
    const auto& o = as<AsyncCopy>();
    return n.to == o.to && same(n.to_index, o.to_index) && n.from == o.from &&
           same(n.from_index, o.from_index) && n.lanes == o.lanes && same(n.condition, o.condition);
  }
  bool operator()(const CommitCopies&) const { return true; }
  bool operator()(const AwaitCopies& n) const { return n.pending == as<AwaitCopies>().pending; }
  bool operator()(const Exchange& n) const {
    const auto& o = as<Exchange>();
    return n.reg == o.reg && same(n.value, o.value) && n.lane_mask == o.lane_mask;
  }
};

void add_border(Hasher& hasher, const Border& border) {
  hasher.add(static_cast<std::uint64_t>(border.dtype))
      .add(border.shape.size())
      .add(border.layout.size());
  for (const std::int64_t extent : border.shape) hasher.add(static_cast<std::uint64_t>(extent));
  for (const tensor::LayoutDigit& d : border.layout)
    for (const std::int64_t word : {static_cast<std::int64_t>(d.dim), d.weight, d.extent, d.stride})
      hasher.add(static_cast<std::uint64_t>(word));
  hasher.add(static_cast<std::uint64_t>(border.size)).add(border.constant);
}

// A kernel that runs once adds nothing.
void add_grid(Hasher& hasher, const Grid& grid) {
  if (grid.is_single() && grid.axes().empty()) return;
  for (const auto* directions : {&grid.groups, &grid.items})
    for (const Axis& axis : *directions)
      hasher.add(static_cast<std::uint64_t>(axis.count)).add(static_cast<std::uint64_t>(axis.var));
}

void add_buffer(Hasher& hasher, const Buffer& buffer) {
  const auto size = static_cast<std::size_t>(size_of(buffer.dtype));
  hasher.add(static_cast<std::uint64_t>(buffer.dtype)).add(static_cast<std::uint64_t>(buffer.size));
  hasher.add(static_cast<std::uint64_t>(buffer.scope)).add(static_cast<std::uint64_t>(buffer.slot));
  for (std::size_t at = 0; at < buffer.literal.bytes.size(); at += size)
    hasher.add(
        std::bit_cast<std::uint64_t>(load_element(buffer.dtype, buffer.literal.bytes.data() + at)));
}

}  // namespace

Expr make(decltype(Node::value) value, Type type) {
  Mix mix(value.index() + 1);
  mix.add(static_cast<std::uint64_t>(type.dtype) << 32 | static_cast<std::uint32_t>(type.lanes));
  std::visit(ExprHash{mix}, value);
  const Contents contents = mix.contents() | own_contents(value, type);
  return std::make_shared<const Node>(std::move(value), type, mix.value(), contents);
}

Stmt make_stmt(decltype(StmtNode::value) value) {
  Mix mix(value.index() + 101);
  std::visit(StmtHash{mix}, value);
  const Contents contents = mix.contents() | own_contents(value);
  return std::make_shared<const StmtNode>(std::move(value), mix.value(), contents);
}

bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (a->hash != b->hash || a->type != b->type || a->value.index() != b->value.index())
    return false;
  return std::visit(ExprEqual{*b}, a->value);
}

bool equal(const Stmt& a, const Stmt& b) {
  if (a == b) return true;
  if (a->hash != b->hash || a->value.index() != b->value.index()) return false;
  return std::visit(StmtEqual{*b}, a->value);
}

// Names are hints and do not count.
std::uint64_t hash(const Program& program) {
  Hasher hasher;
  for (const Buffer& buffer : program.buffers) add_buffer(hasher, buffer);
  for (const Type& type : program.regs)
    hasher.add(static_cast<std::uint64_t>(type.dtype)).add(static_cast<std::uint64_t>(type.lanes));
  for (const auto* sequence : {&program.prepare, &program.run}) {
    hasher.add(sequence->size());
    for (const int k : *sequence) {
      const Kernel& kernel = program.kernels[static_cast<std::size_t>(k)];
      hasher.add(kernel.body->hash);
      add_grid(hasher, kernel.grid);
    }
  }
  for (const auto* borders : {&program.inputs, &program.outputs}) {
    hasher.add(borders->size());
    for (const Border& border : *borders) add_border(hasher, border);
  }
  for (const std::int64_t bytes :
       {program.constant_bytes, program.global_bytes, program.shared_bytes, program.thread_bytes})
    hasher.add(static_cast<std::uint64_t>(bytes));
  if (program.group_bytes > 0) hasher.add(static_cast<std::uint64_t>(program.group_bytes));
  return hasher.value();
}

}  // namespace lathe::flat
