#include "unit/interp/random_flat.h"

#include <algorithm>

namespace lathe::testing {
namespace {

using namespace flat;
using enum flat::BinaryOp;

// iterations of the outer loop; each owns a slice of every buffer it writes
constexpr int kOuter = 5;

class Generator {
 public:
  Generator(Rng& rng, const RandomFlatOptions& options) : rng_(rng), options_(options) {}

  Program run() {
    lanes_ = static_cast<int>(pick<std::int64_t>({1, 3, 4, 8}));
    slice_ = 2 * lanes_ + 1;
    declare();
    if (constant_) set_prepare(p_, fill_constant());
    scope_.clear();
    fill_outputs();
    return std::move(p_);
  }

 private:
  struct Range {
    int var;
    std::int64_t low, high;  // both inside
  };

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + rng_.below(choices.size()));
  }
  // Of an early generator only the first ones.
  template <class T>
  T pick_early(std::size_t first, std::initializer_list<T> choices) {
    return *(choices.begin() + rng_.below(options_.early ? first : choices.size()));
  }
  Dtype dtype() {
    if (options_.halves && rng_.chance(0.5)) return pick({Dtype::kF16, Dtype::kBF16});
    return pick_early(7, {Dtype::kF32, Dtype::kF32, Dtype::kF64, Dtype::kI32, Dtype::kI8,
                          Dtype::kU8, Dtype::kI64, Dtype::kI16, Dtype::kU16, Dtype::kU32});
  }

  void border(Scope scope, const char* name, bool constant) {
    auto& borders = scope == Scope::kInput ? p_.inputs : p_.outputs;
    const Dtype d = dtype();
    const std::int64_t n = kOuter * slice_;
    p_.buffers.push_back({.name = name,
                          .dtype = d,
                          .size = n,
                          .scope = scope,
                          .slot = static_cast<std::int64_t>(borders.size())});
    borders.push_back({.name = name,
                       .dtype = d,
                       .shape = {n},
                       .layout = {{0, 1, n, 1}},
                       .size = n,
                       .constant = constant});
  }
  int scratch(Scope scope, const char* name, std::int64_t& bytes) {
    const Dtype d = dtype();
    const std::int64_t n = scope == Scope::kThread ? slice_ : kOuter * slice_;
    bytes = (bytes + 63) / 64 * 64;
    p_.buffers.push_back({.name = name, .dtype = d, .size = n, .scope = scope, .slot = bytes});
    bytes += n * size_of(d);
    return static_cast<int>(p_.buffers.size()) - 1;
  }
  void declare() {
    border(Scope::kInput, "A", true);
    border(Scope::kInput, "B", false);
    border(Scope::kOutput, "C", false);
    border(Scope::kOutput, "D", false);
    readable_ = {0, 1};
    literal_ = static_cast<int>(p_.buffers.size());
    p_.buffers.push_back(
        {.name = "T", .dtype = Dtype::kF32, .size = kOuter * slice_, .scope = Scope::kLiteral});
    std::vector<double> elements;
    for (std::int64_t i = 0; i < kOuter * slice_; ++i)
      elements.push_back(static_cast<double>(rng_.between(-8, 8)) / 4);
    p_.buffers.back().literal = tensor::Data::of(Dtype::kF32, elements);
    readable_.push_back(literal_);
    workspace_ = scratch(Scope::kGlobal, "W", p_.global_bytes);
    worker_ = scratch(Scope::kThread, "S", p_.thread_bytes);
    constant_ = rng_.chance(0.5);
    if (constant_) constants_ = scratch(Scope::kConstant, "K", p_.constant_bytes);
    for (int i = 0; i < 4; ++i) p_.regs.push_back({dtype(), rng_.chance(0.7) ? lanes_ : 1});
  }

  int new_var(const char* hint) {
    p_.vars.push_back(hint);
    return static_cast<int>(p_.vars.size()) - 1;
  }
  Type type_of(int buffer, int lanes) const {
    return {p_.buffers[static_cast<std::size_t>(buffer)].dtype, lanes};
  }

  // An i64 expression within [0, limit].
  Expr index(std::int64_t limit) {
    Expr sum = int_imm(0);
    std::int64_t room = limit;
    for (int tries = 0; tries < 2 && !scope_.empty(); ++tries) {
      const Range& r = scope_[rng_.below(scope_.size())];
      if (r.high <= 0 || r.low < 0) continue;
      const std::int64_t most = room / r.high;
      if (most < 1) continue;
      const std::int64_t factor = rng_.between(1, most);
      sum = binary(kAdd, sum, binary(kMul, var(r.var), int_imm(factor)));
      room -= factor * r.high;
    }
    sum = binary(kAdd, sum, int_imm(rng_.between(0, room)));
    if (rng_.chance(0.2)) sum = binary(kMin, sum, int_imm(rng_.between(0, limit)));
    if (rng_.chance(0.2))
      sum = binary(kMod, binary(kAdd, sum, int_imm(7)), int_imm(rng_.between(1, limit + 1)));
    if (rng_.chance(0.1)) sum = binary(kDiv, sum, int_imm(rng_.between(1, 3)));
    return sum;
  }
  Expr condition(int lanes) {
    const BinaryOp op = pick({kLt, kLe, kEq, kNe});
    const auto side = [&]() -> Expr {
      if (scope_.empty()) return int_imm(rng_.between(0, 3));
      const Range& r = scope_[rng_.below(scope_.size())];
      return binary(kAdd, var(r.var), int_imm(rng_.between(-2, 2)));
    };
    Expr a = lanes > 1 ? ramp(side(), rng_.between(-1, 2), lanes) : side();
    Expr b = broadcast(int_imm(rng_.between(-1, 6)), lanes);
    Expr c = binary(op, a, b);
    if (rng_.chance(0.2)) c = unary(UnaryOp::kNot, c);
    if (rng_.chance(0.3)) c = binary(pick({kAnd, kOr}), c, condition(lanes));
    return c;
  }
  Expr any_load(Type type) {
    std::vector<int> fitting;
    for (const int b : readable_)
      if (p_.buffers[static_cast<std::size_t>(b)].dtype == type.dtype) fitting.push_back(b);
    const int b = fitting.empty() || rng_.chance(0.3) ? readable_[rng_.below(readable_.size())]
                                                      : fitting[rng_.below(fitting.size())];
    const std::int64_t last = p_.buffers[static_cast<std::size_t>(b)].size - 1;
    const std::int64_t most = type.lanes == 1 ? 0 : last / (type.lanes - 1);
    const std::int64_t stride = std::min<std::int64_t>(rng_.between(0, 5), most);
    Expr at = type.lanes == 1 ? index(last)
                              : ramp(index(last - stride * (type.lanes - 1)), stride, type.lanes);
    Expr mask = rng_.chance(0.2) ? condition(type.lanes) : nullptr;
    if (mask && rng_.chance(0.5)) {  // reaches outside where the mask is false
      const Expr limit = broadcast(int_imm(last), type.lanes);
      at = binary(kAdd, at, broadcast(int_imm(rng_.between(0, 3)), type.lanes));
      mask = binary(kAnd, mask, binary(kLe, at, limit));
    }
    return cast(load(b, at, type_of(b, type.lanes), mask), type.dtype);
  }
  Expr leaf(Type type) {
    std::vector<int> regs;
    for (const int r : live_regs_)
      if (p_.regs[static_cast<std::size_t>(r)].lanes == type.lanes) regs.push_back(r);
    if (!regs.empty() && rng_.chance(0.4)) {
      const int r = regs[rng_.below(regs.size())];
      return cast(reg_read(r, p_.regs[static_cast<std::size_t>(r)]), type.dtype);
    }
    if (rng_.chance(0.3)) return imm(static_cast<double>(rng_.between(-6, 12)) / 4, type);
    if (!scope_.empty() && rng_.chance(0.2))
      return cast(broadcast(var(scope_[rng_.below(scope_.size())].var), type.lanes), type.dtype);
    return any_load(type);
  }
  Expr value(Type type, int depth) {
    if (depth == 0) return leaf(type);
    if (type.lanes == 1 && lanes_ > 1 && (lanes_ & (lanes_ - 1)) == 0 && rng_.chance(0.1))
      return reduce(pick({kAdd, kMul, kMin, kMax}), value({type.dtype, lanes_}, depth - 1));
    if (type.lanes > 1 && rng_.chance(0.1))
      return broadcast(value({type.dtype, 1}, depth - 1), type.lanes);
    if (!options_.early && type.lanes > 1 && rng_.chance(0.05)) {
      const auto from = static_cast<int>(rng_.between(-type.lanes, type.lanes));
      return slide(value(type, depth - 1), from, type.lanes, leaf({type.dtype, 1}));
    }
    if (!options_.early && type.lanes == 1 && lanes_ > 1 && rng_.chance(0.05))
      return lane(value({type.dtype, lanes_}, depth - 1),
                  static_cast<int>(rng_.below(static_cast<std::uint64_t>(lanes_))));
    switch (rng_.below(10)) {
      case 0: return leaf(type);
      case 1: return fma(value(type, depth - 1), value(type, depth - 1), value(type, depth - 1));
      case 2: return select(condition(type.lanes), value(type, depth - 1), value(type, depth - 1));
      case 3: return cast(value({dtype(), type.lanes}, depth - 1), type.dtype);
      case 4:
        return is_float(type.dtype) ? real_unary(type, depth)
                                    : unary(UnaryOp::kNeg, value(type, depth - 1));
      case 5: return is_float(type.dtype) ? value(type, depth - 1) : bits(type, depth);
      default: break;
    }
    const BinaryOp op = pick({kAdd, kSub, kMul, kMin, kMax});
    return binary(op, value(type, depth - 1), value(type, depth - 1));
  }
  Expr real_unary(Type type, int depth) {
    using enum UnaryOp;
    Expr x = value(type, depth - 1);
    if (!options_.math) return unary(pick_early(4, {kNeg, kAbs, kFloor, kCeil, kRound}), x);
    const UnaryOp op = pick_early(7, {kExp, kLog, kSqrt, kRsqrt, kTanh, kErf, kSigmoid, kSin, kCos,
                                      kTan, kLog1p, kExpm1, kRound});
    if (op == kSin || op == kCos) x = binary(kMax, binary(kMin, x, imm(8, type)), imm(-8, type));
    if (op == kTan) x = binary(kMax, binary(kMin, x, imm(1, type)), imm(-1, type));
    if (op == kLog1p) x = unary(kAbs, x);
    if (op == kExp || op == kExpm1) x = binary(kMin, x, imm(4, type));
    if (op == kLog || op == kSqrt || op == kRsqrt) x = binary(kAdd, unary(kAbs, x), imm(1, type));
    return unary(op, x);
  }
  Expr bits(Type type, int depth) {
    BinaryOp op = pick_early(5, {kBitAnd, kBitOr, kBitXor, kShl, kShr, kSar});
    if (op == kSar && is_unsigned(type.dtype)) op = kShr;
    Expr x = value(type, depth - 1);
    if (op == kShl || op == kShr || op == kSar)
      return binary(op, x, imm(static_cast<double>(rng_.below(7)), type));
    return binary(op, x, value(type, depth - 1));
  }

  // Writes elements [slice * i, slice * (i + 1)) of a buffer, i the outer variable; all of it.
  Stmt fill(int buffer, const Expr& begin) {
    std::vector<Stmt> out;
    const auto put = [&](const Expr& at, int lanes, Expr mask) {
      Expr stored = value(type_of(buffer, lanes), 3);
      out.push_back(store(buffer, at, std::move(stored), std::move(mask), rng_.chance(0.3)));
    };
    if (lanes_ > 1 && rng_.chance(0.7)) {
      put(begin, lanes_, nullptr);
      const Expr second = ramp(binary(kAdd, begin, int_imm(lanes_)), 1, lanes_);
      if (rng_.chance(0.5)) {  // in two halves by a mask and its complement
        const Expr mask = condition(lanes_);
        put(second, lanes_, mask);
        put(second, lanes_, unary(UnaryOp::kNot, mask));
      } else {
        put(second, lanes_, nullptr);
      }
      put(binary(kAdd, begin, int_imm(2 * lanes_)), 1, nullptr);
    } else {
      const int v = new_var("j");
      scope_.push_back({v, 0, slice_ - 1});
      Stmt one = store(buffer, binary(kAdd, begin, var(v)), value(type_of(buffer, 1), 3));
      Stmt two = store(buffer, binary(kAdd, begin, var(v)), value(type_of(buffer, 1), 2));
      Stmt body = rng_.chance(0.5) ? if_then(condition(1), one, two) : one;
      scope_.pop_back();
      out.push_back(for_loop(v, int_imm(0), int_imm(slice_), body));
    }
    return seq(std::move(out));
  }
  Stmt fill_constant() {
    readable_ = {0, literal_};
    const int v = new_var("i");
    scope_.push_back({v, 0, kOuter - 1});
    Stmt body = fill(constants_, binary(kMul, var(v), int_imm(slice_)));
    scope_.pop_back();
    readable_ = {0, 1, literal_, constants_};
    return rng_.chance(0.5) ? parallel_for(v, int_imm(0), int_imm(kOuter), body)
                            : for_loop(v, int_imm(0), int_imm(kOuter), body);
  }
  // Registers set, then updated in a reduction.
  Stmt reduction() {
    std::vector<Stmt> out;
    live_regs_.clear();
    for (std::size_t r = 0; r < p_.regs.size(); ++r) {
      out.push_back(reg_write(static_cast<int>(r), value(p_.regs[r], 2)));
      live_regs_.push_back(static_cast<int>(r));
    }
    const int v = new_var("k");
    const std::int64_t begin = rng_.between(0, 2), end = begin + rng_.between(0, 4);
    scope_.push_back({v, begin, std::max(begin, end - 1)});
    std::vector<Stmt> body;
    const int doubled = new_var("d");
    body.push_back(let(doubled, binary(kMul, var(v), int_imm(2))));
    scope_.push_back({doubled, 2 * begin, 2 * std::max(begin, end - 1)});
    for (std::size_t r = 0; r < p_.regs.size(); ++r) {
      Stmt update = reg_write(static_cast<int>(r), value(p_.regs[r], 2));
      body.push_back(rng_.chance(0.3) ? if_then(condition(1), update) : update);
    }
    if (rng_.chance(0.3)) body.push_back(prefetch(1, binary(kAdd, var(v), int_imm(1000))));
    scope_.resize(scope_.size() - 2);
    out.push_back(for_loop(v, int_imm(begin), int_imm(end), seq(std::move(body))));
    return seq(std::move(out));
  }
  For outer_loop(const std::vector<int>& fills) {
    const int v = new_var("i");
    scope_.push_back({v, 0, kOuter - 1});
    std::vector<Stmt> body;
    live_regs_.clear();
    body.push_back(fill(worker_, int_imm(0)));
    readable_.push_back(worker_);
    body.push_back(reduction());
    for (const int b : fills) body.push_back(fill(b, binary(kMul, var(v), int_imm(slice_))));
    readable_.pop_back();
    live_regs_.clear();
    scope_.pop_back();
    return {v, int_imm(0), int_imm(kOuter), seq(std::move(body))};
  }
  Stmt serial_or_parallel(For loop) {
    return rng_.chance(0.5) ? parallel_for(loop.var, loop.begin, loop.end, loop.body)
                            : for_loop(loop.var, loop.begin, loop.end, loop.body);
  }
  // Two loops, of which the second reads everything that the first has written: phases of one
  // region, which then share scratch, or loops of one kernel or of two.
  void fill_outputs() {
    const bool phases = rng_.chance(0.4);
    std::vector<int> filled{workspace_};
    if (phases) filled.push_back(scratch(Scope::kShared, "H", p_.shared_bytes));
    For first = outer_loop(filled);
    readable_.insert(readable_.end(), filled.begin(), filled.end());
    For second = outer_loop({2, 3});
    if (phases) return set_run(p_, region({std::move(first), std::move(second)}));
    const Stmt one = serial_or_parallel(std::move(first)),
               two = serial_or_parallel(std::move(second));
    if (rng_.chance(0.5)) return set_run(p_, seq({one, two}));
    const int next = static_cast<int>(p_.kernels.size());
    p_.kernels.push_back({"first", one});
    p_.kernels.push_back({"second", two});
    p_.run = {next, next + 1};
  }

  Rng& rng_;
  const RandomFlatOptions& options_;
  Program p_;
  int lanes_ = 1;
  std::int64_t slice_ = 1;
  std::vector<Range> scope_;
  std::vector<int> readable_, live_regs_;
  int literal_ = -1, workspace_ = -1, worker_ = -1, constants_ = -1;
  bool constant_ = false;
};

}  // namespace

Program random_flat(Rng& rng, const RandomFlatOptions& options) {
  return Generator(rng, options).run();
}

std::vector<interp::Bytes> random_inputs(Rng& rng, const Program& program) {
  std::vector<interp::Bytes> inputs;
  for (const Border& border : program.inputs) {
    std::vector<double> values(static_cast<std::size_t>(border.size));
    for (double& v : values)
      v = is_float(border.dtype)
              ? rng.normal()
              : static_cast<double>(rng.between(is_unsigned(border.dtype) ? 0 : -20, 20));
    inputs.push_back(interp::to_storage(border, values));
  }
  return inputs;
}

}  // namespace lathe::testing
