// Loads of vectors whose elements lie near each other, in an order that the code knows: those of an
// image that is made twice as large, of every second one, of neighbours that are clamped to edges.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

using Offsets = std::vector<std::int64_t>;

// Where lanes lie: base + offsets[lane], if the conditions hold.
struct Near {
  Expr base;
  Offsets offsets;
  std::vector<Expr> conditions;

  std::int64_t least() const { return *std::ranges::min_element(offsets); }
  std::int64_t most() const { return *std::ranges::max_element(offsets); }
  // Moves what is constant in the base into the offsets.
  void settle() {
    if (const auto number = as_int(base)) {
      shift(*number);
      base = int_imm(0);
    } else if (const auto* sum = std::get_if<Binary>(&base->value);
               sum && sum->op == BinaryOp::kAdd) {
      if (const auto last = as_int(sum->b)) {
        shift(*last);
        base = sum->a;
      }
    }
  }
  Expr least_place() const { return binary(BinaryOp::kAdd, base, int_imm(least())); }
  Expr most_place() const { return binary(BinaryOp::kAdd, base, int_imm(most())); }

 private:
  void shift(std::int64_t by) {
    for (std::int64_t& offset : offsets) offset += by;
  }
};

// Offsets that are far from 0 are of no use, and their products would leave the range.
constexpr std::int64_t kFarOffset = std::int64_t{1} << 40;

bool is_far(const Near& near) { return near.least() < -kFarOffset || near.most() > kFarOffset; }

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The scalar divided by a number of which it is a multiple.
std::optional<Expr> divided(const Expr& e, std::int64_t by) {
  if (const auto number = as_int(e)) {
    if (*number % by != 0) return std::nullopt;
    return int_imm(*number / by);
  }
  const auto* n = std::get_if<Binary>(&e->value);
  if (n == nullptr) return std::nullopt;
  if (n->op == BinaryOp::kMul) {
    const auto factor = as_int(n->b);
    if (!factor) return std::nullopt;
    if (*factor % by == 0) return binary(BinaryOp::kMul, n->a, int_imm(*factor / by));
    const auto rest = divided(n->a, by);
    if (!rest) return std::nullopt;
    return binary(BinaryOp::kMul, *rest, n->b);
  }
  if (n->op != BinaryOp::kAdd && n->op != BinaryOp::kSub) return std::nullopt;
  const auto a = divided(n->a, by), b = divided(n->b, by);
  if (!a || !b) return std::nullopt;
  return binary(n->op, *a, *b);
}

std::optional<Near> near_of(const Expr& e);

std::optional<Near> sum_of(BinaryOp op, const Near& a, const Near& b) {
  Near out{binary(op, a.base, b.base), a.offsets, a.conditions};
  for (std::size_t lane = 0; lane < out.offsets.size(); ++lane)
    out.offsets[lane] += op == BinaryOp::kAdd ? b.offsets[lane] : -b.offsets[lane];
  out.conditions.insert(out.conditions.end(), b.conditions.begin(), b.conditions.end());
  return out;
}

// Rounding is downwards where nothing is negative.
std::optional<Near> quotient_of(BinaryOp op, Near near, std::int64_t by) {
  const auto base = divided(near.base, by);
  if (by <= 0 || !base) return std::nullopt;
  near.conditions.push_back(binary(BinaryOp::kLe, int_imm(0), near.least_place()));
  for (std::int64_t& offset : near.offsets) {
    const std::int64_t down = floor_of(offset, by);
    offset = op == BinaryOp::kDiv ? down : offset - down * by;
  }
  near.base = op == BinaryOp::kDiv ? *base : int_imm(0);
  return near;
}

std::optional<Near> near_of(const Binary& n) {
  auto a = near_of(n.a);
  if (!a) return std::nullopt;
  a->settle();
  if (n.op == BinaryOp::kAdd || n.op == BinaryOp::kSub) {
    const auto b = near_of(n.b);
    return b ? sum_of(n.op, *a, *b) : std::nullopt;
  }
  if (n.op == BinaryOp::kMin || n.op == BinaryOp::kMax) {
    const auto* bound = std::get_if<Broadcast>(&n.b->value);
    if (bound == nullptr) return std::nullopt;
    a->conditions.push_back(n.op == BinaryOp::kMax
                                ? binary(BinaryOp::kLe, bound->x, a->least_place())
                                : binary(BinaryOp::kLe, a->most_place(), bound->x));
    return a;
  }
  const auto number = splat_int(n.b);
  if (!number || std::abs(*number) > kFarOffset) return std::nullopt;
  if (n.op == BinaryOp::kDiv || n.op == BinaryOp::kMod)
    return quotient_of(n.op, std::move(*a), *number);
  if (n.op != BinaryOp::kMul ||
      std::max(std::abs(a->least()), std::abs(a->most())) > kFarOffset >> 20 ||
      std::abs(*number) > 1 << 20)
    return std::nullopt;
  a->base = binary(BinaryOp::kMul, a->base, int_imm(*number));
  for (std::int64_t& offset : a->offsets) offset *= *number;
  return a;
}

std::optional<Near> near_of(const Expr& e) {
  if (e->type.dtype != Dtype::kI64 || (e->contents & contents::kData) != 0) return std::nullopt;
  const auto lanes = static_cast<std::size_t>(e->type.lanes);
  std::optional<Near> out;
  if (const auto* ramp = std::get_if<Ramp>(&e->value)) {
    if (std::abs(ramp->stride) > 1 << 20) return std::nullopt;
    out = Near{ramp->base, Offsets(lanes), {}};
    for (std::size_t lane = 0; lane < lanes; ++lane)
      out->offsets[lane] = ramp->stride * static_cast<std::int64_t>(lane);
  } else if (const auto* same = std::get_if<Broadcast>(&e->value)) {
    out = Near{same->x, Offsets(lanes, 0), {}};
  } else if (const auto* n = std::get_if<Binary>(&e->value)) {
    out = near_of(*n);
  }
  if (out) out->settle();
  return out && !is_far(*out) ? out : std::nullopt;
}

}  // namespace

// The elements between the first and the last one, by one load or two, put in order.
llvm::Value* FunctionEmitter::load_between(const Node& e, const Load& n, const Expr& base,
                                           const Offsets& offsets) {
  const auto [least, most] = std::ranges::minmax(offsets);
  const auto count = static_cast<std::uint64_t>(most - least + 1);
  const int size =
      static_cast<int>(std::min(std::bit_floor(count), static_cast<std::uint64_t>(e.type.lanes)));
  const auto piece = [&](std::int64_t begin) {
    return value(flat::load(n.buffer, binary(BinaryOp::kAdd, base, int_imm(begin)),
                            Type{e.type.dtype, size}));
  };
  llvm::Value* first = piece(least);
  if (count == 1) return splat(first, e.type.lanes);
  const std::int64_t last = most - size + 1;
  llvm::Value* second = last == least ? first : piece(last);
  if (size == 1) {  // two elements
    first = splat(first, 2);
    second = splat(second, 2);
  }
  const int width = std::max(size, 2);
  std::vector<int> chosen;
  for (const std::int64_t offset : offsets)
    chosen.push_back(
        static_cast<int>(offset < least + size ? offset - least : width + offset - last));
  return b_.CreateShuffleVector(first, second, chosen);
}

// Null where they do not lie near each other, or nobody knows. Where the conditions do not hold, as
// at edges, elements are loaded one by one.
llvm::Value* FunctionEmitter::load_near(const Node& e, const Load& n) {
  if (m_.machine.on_grid || moving_ || !std::has_single_bit(static_cast<unsigned>(e.type.lanes)))
    return nullptr;
  const auto near = near_of(n.index);
  if (!near || near->most() - near->least() >= 2 * e.type.lanes) return nullptr;
  llvm::Value* condition = nullptr;
  for (const Expr& each : near->conditions) {
    llvm::Value* holds = value(each);
    if (is_all(holds, true) || holds == condition) continue;
    if (is_all(holds, false)) return nullptr;
    condition = condition == nullptr ? holds : b_.CreateAnd(condition, holds);
  }
  const auto at_once = [&] { return load_between(e, n, near->base, near->offsets); };
  if (condition == nullptr) return at_once();
  llvm::BasicBlock* blocks[2] = {llvm::BasicBlock::Create(m_.context, "near", function_),
                                 llvm::BasicBlock::Create(m_.context, "edge")};
  auto* after = llvm::BasicBlock::Create(m_.context, "loaded");
  llvm::Instruction* entry = b_.CreateCondBr(condition, blocks[0], blocks[1]);
  llvm::Value* loaded[2];
  for (int branch = 0; branch < 2; ++branch) {
    open(ScopeKind::kBranch, entry, std::nullopt);
    if (branch == 1) function_->insert(function_->end(), blocks[1]);
    b_.SetInsertPoint(blocks[branch]);
    loaded[branch] = branch == 0 ? at_once() : load_one_by_one(e, n, nullptr);
    blocks[branch] = b_.GetInsertBlock();
    b_.CreateBr(after);
    close();
  }
  function_->insert(function_->end(), after);
  b_.SetInsertPoint(after);
  llvm::PHINode* out = b_.CreatePHI(loaded[0]->getType(), 2);
  for (int branch = 0; branch < 2; ++branch) out->addIncoming(loaded[branch], blocks[branch]);
  scopes_.define(out, scopes_.current());
  return out;
}

}  // namespace lathe::codegen
