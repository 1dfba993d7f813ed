#include "compiler/ir/nest/sizes.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace lathe::ir {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  LATHE_CHECK(b > 0, "ceildiv by {}", b);
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

std::int64_t apply(Sizes::Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Sizes::Op::kAdd: return a + b;
    case Sizes::Op::kMul: return a * b;
    case Sizes::Op::kCeilDiv: return ceil_div(a, b);
    case Sizes::Op::kMin: return std::min(a, b);
    case Sizes::Op::kMax: return std::max(a, b);
    case Sizes::Op::kConst:
    case Sizes::Op::kKnob: break;
  }
  return a;
}

}  // namespace

SizeId Sizes::intern(Entry entry) {
  const auto found = std::ranges::find(entries_, entry);
  if (found != entries_.end()) return static_cast<SizeId>(found - entries_.begin());
  entries_.push_back(entry);
  return static_cast<SizeId>(entries_.size() - 1);
}

SizeId Sizes::constant(std::int64_t value) {
  return intern({Op::kConst, value, SizeId::kNone, SizeId::kNone});
}

SizeId Sizes::knob(int number, const std::string& name) {
  if (std::cmp_less_equal(knob_names_.size(), number)) knob_names_.resize(static_cast<std::size_t>(number) + 1);
  knob_names_[static_cast<std::size_t>(number)] = name;
  return intern({Op::kKnob, number, SizeId::kNone, SizeId::kNone});
}

SizeId Sizes::combine(Op op, SizeId a, SizeId b) {
  if (is_constant(a) && is_constant(b))
    return constant(apply(op, constant_value(a), constant_value(b)));
  if (op != Op::kCeilDiv && static_cast<int>(a) > static_cast<int>(b)) std::swap(a, b);
  return intern({op, 0, a, b});
}

SizeId Sizes::add(SizeId a, SizeId b) {
  if (is_constant(a) && constant_value(a) == 0) return b;
  if (is_constant(b) && constant_value(b) == 0) return a;
  return combine(Op::kAdd, a, b);
}

SizeId Sizes::mul(SizeId a, SizeId b) {
  for (const auto& [x, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!is_constant(x)) continue;
    if (constant_value(x) == 1) return other;
    if (constant_value(x) == 0) return x;
  }
  return combine(Op::kMul, a, b);
}

SizeId Sizes::ceildiv(SizeId a, SizeId b) {
  if (is_constant(b) && constant_value(b) == 1) return a;
  if (a == b) return constant(1);
  if (at(a).op == Op::kMul && (at(a).a == b || at(a).b == b)) return at(a).a == b ? at(a).b : at(a).a;
  return combine(Op::kCeilDiv, a, b);
}

SizeId Sizes::min(SizeId a, SizeId b) { return a == b ? a : combine(Op::kMin, a, b); }
SizeId Sizes::max(SizeId a, SizeId b) { return a == b ? a : combine(Op::kMax, a, b); }

void Sizes::evaluate(std::span<const std::int64_t> knobs, std::vector<std::int64_t>& out) const {
  out.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    switch (e.op) {
      case Op::kConst: out[i] = e.value; break;
      case Op::kKnob: out[i] = knobs[static_cast<std::size_t>(e.value)]; break;
      default:
        out[i] = apply(e.op, out[static_cast<std::size_t>(e.a)], out[static_cast<std::size_t>(e.b)]);
    }
  }
}

std::string Sizes::text(SizeId id) const {
  if (id == SizeId::kNone) return "none";
  const Entry& e = at(id);
  switch (e.op) {
    case Op::kConst: return std::to_string(e.value);
    case Op::kKnob: return knob_name(static_cast<int>(e.value));
    case Op::kAdd: return "(" + text(e.a) + " + " + text(e.b) + ")";
    case Op::kMul: return text(e.a) + "*" + text(e.b);
    case Op::kCeilDiv: return "ceildiv(" + text(e.a) + ", " + text(e.b) + ")";
    case Op::kMin: return "min(" + text(e.a) + ", " + text(e.b) + ")";
    case Op::kMax: return "max(" + text(e.a) + ", " + text(e.b) + ")";
  }
  return "?";
}

}  // namespace lathe::ir
