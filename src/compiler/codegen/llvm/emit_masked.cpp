// Masked loads and stores, of a register at most.
//
// LLVM 19 and older take a wider one apart. Where they find out only then that no lane of a later
// part is wanted, they read it without a mask, or die. The same happens to a mask that is cut out
// of a wider one. So an access is taken apart here, and the mask of each part is computed for it.
#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

Expr moved(const Expr& index, int by) {
  return binary(BinaryOp::kAdd, index, int_imm(by, index->type.dtype));
}

}  // namespace

bool is_all(const llvm::Value* mask, bool value) {
  const auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  return constant && (value ? constant->isAllOnesValue() : constant->isNullValue());
}

int first_lanes(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  const auto* type =
      constant ? llvm::dyn_cast<llvm::FixedVectorType>(constant->getType()) : nullptr;
  if (type == nullptr) return 0;
  int first = 0;
  bool more = true;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const auto* bit =
        llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(lane));
    if (bit == nullptr || (bit->isOne() && !more)) return 0;
    more = more && bit->isOne();
    if (more) ++first;
  }
  return first;
}

// Some lanes of a vector as an expression; null where only the computed vector knows.
Expr FunctionEmitter::lanes_of(const Expr& e, int first, int count) const {
  if (const auto* n = std::get_if<Ramp>(&e->value))
    return ramp(binary(BinaryOp::kAdd, n->base, int_imm(n->stride * first, n->base->type.dtype)),
                n->stride, count);
  if (const auto* n = std::get_if<Broadcast>(&e->value)) return broadcast(n->x, count);
  if (const auto* n = std::get_if<Var>(&e->value)) {
    const auto known = vectors_.find(n->id);
    return known == vectors_.end() ? nullptr : lanes_of(known->second, first, count);
  }
  if (const auto* n = std::get_if<Unary>(&e->value)) {
    Expr x = lanes_of(n->x, first, count);
    return x ? unary(n->op, x) : nullptr;
  }
  const auto* n = std::get_if<Binary>(&e->value);
  if (!n) return nullptr;
  Expr a = lanes_of(n->a, first, count), b = a ? lanes_of(n->b, first, count) : nullptr;
  return b ? binary(n->op, a, b) : nullptr;
}

// Lanes of a register.
int FunctionEmitter::most_masked(Dtype dtype) const {
  return std::max(1, m_.machine.lanes(static_cast<int>(size_of(dtype))));
}

// Every masked access of a vector is made by one of these two.
llvm::Instruction* FunctionEmitter::masked_load(llvm::Type* memory, Value* address,
                                                llvm::Align align, Value* mask) {
  check_width(memory);
  return b_.CreateMaskedLoad(memory, address, align, mask, llvm::Constant::getNullValue(memory));
}

llvm::Instruction* FunctionEmitter::masked_store(Value* x, Value* address, llvm::Align align,
                                                 Value* mask) {
  check_width(x->getType());
  return b_.CreateMaskedStore(x, address, align, mask);
}

// The first lanes of `x`, as powers of two. Without registers for masks, a masked store of AVX
// takes some ten cycles on processors of AMD: 3,000 rows of 7 elements took 10.8 us, so 3.2.
void FunctionEmitter::store_first(int buffer, Value* address, Value* x, llvm::Align align,
                                  int count) {
  const auto bytes = static_cast<int>(x->getType()->getScalarSizeInBits() / 8);
  for (int first = 0; first < count;) {
    const auto piece = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - first)));
    const auto offset = static_cast<std::uint64_t>(first * bytes);
    Value* place = first == 0 ? address : b_.CreateConstGEP1_64(b_.getInt8Ty(), address, offset);
    tag(b_.CreateAlignedStore(lanes(x, first, piece), place, llvm::commonAlignment(align, offset)),
        buffer);
    first += piece;
  }
}

void FunctionEmitter::check_width(llvm::Type* memory) const {
  const auto bits = static_cast<int>(memory->getPrimitiveSizeInBits().getFixedValue());
  LATHE_CHECK(bits <= m_.machine.vector_bits, "a masked access has {} bits, a register of {} {}",
              bits, m_.machine.name, m_.machine.vector_bits);
}

llvm::Value* FunctionEmitter::lanes(Value* x, int first, int count) {
  if (count == 1) return b_.CreateExtractElement(x, static_cast<std::uint64_t>(first));
  std::vector<int> chosen(static_cast<std::size_t>(count));
  std::iota(chosen.begin(), chosen.end(), first);
  return b_.CreateShuffleVector(x, chosen);
}

// `whole` with the lanes of `x` from `first` on. LLVM 19 dies where it is to insert vectors that
// are no register into one that is no multiple of them.
llvm::Value* FunctionEmitter::with_lanes_of(Value* whole, Value* x, int first) {
  const auto at = static_cast<std::uint64_t>(first);
  const auto* part = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!part) return b_.CreateInsertElement(whole, x, at);
  const auto count = static_cast<int>(part->getNumElements());
  const auto all =
      static_cast<int>(llvm::cast<llvm::FixedVectorType>(whole->getType())->getNumElements());
  const auto bits = static_cast<int>(part->getPrimitiveSizeInBits().getFixedValue());
  if (all % count == 0 && bits == m_.machine.vector_bits)
    return b_.CreateInsertVector(whole->getType(), whole, x, b_.getInt64(at));
  std::vector<int> widened(static_cast<std::size_t>(all), llvm::PoisonMaskElem), chosen(widened);
  std::iota(widened.begin(), widened.begin() + count, 0);
  std::iota(chosen.begin(), chosen.end(), 0);
  std::iota(chosen.begin() + first, chosen.begin() + first + count, all);
  return b_.CreateShuffleVector(whole, b_.CreateShuffleVector(x, widened), chosen);
}

llvm::Value* FunctionEmitter::load_in_parts(const Node& e, const Load& n) {
  const int all = e.type.lanes, part = most_masked(e.type.dtype);
  if (!lanes_of(n.mask, 0, part))
    return gather(e, Load{n.buffer, ramp(n.index, 1, all), n.mask}, value(n.mask));
  Value* whole = llvm::PoisonValue::get(m_.type(e.type));
  for (int first = 0; first < all; first += part) {
    const Type type{e.type.dtype, std::min(part, all - first)};
    Value* active = value(lanes_of(n.mask, first, type.lanes));
    Value* x = llvm::Constant::getNullValue(m_.type(type));
    if (!is_all(active, false))
      x = load_at(n.buffer, pointer(n.buffer, moved(n.index, first)), type,
                  is_all(active, true) ? nullptr : active);
    whole = with_lanes_of(whole, x, first);
  }
  return whole;
}

void FunctionEmitter::store_in_parts(const Store& n) {
  const int all = n.value->type.lanes, part = most_masked(n.value->type.dtype);
  Value* stored = to_memory(whole(value(n.value), n.value->type.dtype), n.value->type);
  if (!lanes_of(n.mask, 0, part))
    return scatter(Store{n.buffer, ramp(n.index, 1, all), n.value, n.mask}, stored, value(n.mask));
  for (int first = 0; first < all; first += part) {
    const Type type{n.value->type.dtype, std::min(part, all - first)};
    Value* active = value(lanes_of(n.mask, first, type.lanes));
    if (is_all(active, false)) continue;
    store_at(n.buffer, pointer(n.buffer, moved(n.index, first)), lanes(stored, first, type.lanes),
             type, is_all(active, true) ? nullptr : active);
  }
}

}  // namespace lathe::codegen
