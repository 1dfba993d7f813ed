// Loads, stores and the addresses they use.
#include <algorithm>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

// One lane of an index as a scalar expression; null where only the computed vector knows.
Expr lane_of(const Expr& e, int lane) {
  if (e->type.lanes == 1) return e;
  if (const auto* ramp = std::get_if<Ramp>(&e->value))
    return binary(BinaryOp::kAdd, ramp->base, int_imm(ramp->stride * lane, e->type.dtype));
  if (const auto* broadcast = std::get_if<Broadcast>(&e->value)) return broadcast->x;
  const auto* n = std::get_if<Binary>(&e->value);
  if (!n || e->type.dtype == Dtype::kBool) return nullptr;
  Expr a = lane_of(n->a, lane), b = a ? lane_of(n->b, lane) : nullptr;
  return b ? binary(n->op, a, b) : nullptr;
}

}  // namespace

llvm::Value* FunctionEmitter::base(int buffer) {
  llvm::Value*& known = bases_[static_cast<std::size_t>(buffer)];
  if (known) return known;
  if (frame_.place) {
    known = frame_.place(entry_, buffer);
    scopes_.define(known, 0);
    return known;
  }
  const Buffer& b = m_.program.buffers[static_cast<std::size_t>(buffer)];
  const auto at = [&](llvm::Value* area, std::int64_t offset = 0) {
    return entry_.CreateGEP(entry_.getInt8Ty(), area,
                            entry_.getInt64(static_cast<std::uint64_t>(offset + b.slot)));
  };
  const auto tensor = [&](std::int64_t slot) {
    llvm::Value* place = entry_.CreateGEP(entry_.getPtrTy(), frame_.tensors,
                                          entry_.getInt64(static_cast<std::uint64_t>(slot)));
    return entry_.CreateLoad(entry_.getPtrTy(), place, b.name);
  };
  switch (b.scope) {
    case Scope::kInput: known = tensor(b.slot); break;
    case Scope::kOutput:
      known = tensor(static_cast<std::int64_t>(m_.program.inputs.size()) + b.slot);
      break;
    case Scope::kLiteral: known = m_.literals[static_cast<std::size_t>(buffer)]; break;
    case Scope::kConstant: known = at(frame_.constants); break;
    case Scope::kGlobal: known = at(frame_.workspace); break;
    case Scope::kShared: known = at(frame_.workspace, shared_offset(m_.program)); break;
    case Scope::kThread: known = at(frame_.worker_area); break;
    case Scope::kGroup:
      m_.refuse("memory of a group");
      known = llvm::PoisonValue::get(entry_.getPtrTy());
      break;
  }
  scopes_.define(known, 0);
  return known;
}

void FunctionEmitter::collect(const Expr& index, std::int64_t scale, Address& out) {
  if (const auto immediate = as_int(index)) {
    out.displacement += *immediate * scale;
    return;
  }
  if (const auto* n = std::get_if<Binary>(&index->value); n && index->type.dtype == Dtype::kI64) {
    if (n->op == BinaryOp::kAdd || n->op == BinaryOp::kSub) {
      collect(n->a, scale, out);
      return collect(n->b, n->op == BinaryOp::kAdd ? scale : -scale, out);
    }
    if (n->op == BinaryOp::kMul)
      if (const auto factor = as_int(n->b)) return collect(n->a, scale * *factor, out);
  }
  llvm::Value* term = value(index);
  if (!m_.machine.on_grid) term = whole(term, Dtype::kI64);
  const auto known = std::ranges::find(out.terms, term, &Term::value);
  if (known != out.terms.end()) known->bytes += scale;
  else out.terms.push_back({term, scale, multiple_of(index), reach(index)});
}

llvm::Value* FunctionEmitter::scaled(llvm::Value* term, std::int64_t scale) {
  if (scale == 1) return term;
  llvm::Value* factor =
      llvm::ConstantInt::get(term->getType(), static_cast<std::uint64_t>(scale), true);
  return pure(kScaleOperation, nullptr, {term, factor}, true,
              [&] { return b_.CreateMul(term, factor, "", false, true); });
}

// Terms are added from the outermost loop inwards, each sum in the loop of its innermost term; the
// immediate part comes last, where it becomes part of the instruction.
llvm::Value* FunctionEmitter::pointer(int buffer, const Expr& index) {
  Address address;
  collect(index, size_of(m_.program.buffers[static_cast<std::size_t>(buffer)].dtype), address);
  std::erase_if(address.terms, [](const Term& term) { return term.bytes == 0; });
  const auto depth = [&](const Term& term) { return scopes_.depth_of(term.value); };
  std::ranges::stable_sort(address.terms, {}, depth);
  llvm::Value* at = base(buffer);
  const auto all = std::span(std::as_const(address.terms));
  for (std::size_t begin = 0, end = 1; begin < all.size(); begin = end++) {
    // Those of one loop are added first where that is shorter.
    while (m_.machine.on_grid && end < all.size() && depth(all[end]) == depth(all[begin])) ++end;
    llvm::Value* offset = offset_of(all.subspan(begin, end - begin));
    at = pure(kPointerOperation, nullptr, {at, offset}, true,
              [&] { return b_.CreateGEP(b_.getInt8Ty(), at, offset); });
  }
  if (address.displacement != 0) {
    llvm::Value* last = b_.getInt64(static_cast<std::uint64_t>(address.displacement));
    at = pure(kPointerOperation, nullptr, {at, last}, false,
              [&] { return b_.CreateGEP(b_.getInt8Ty(), at, last); });
  }
  remember_alignment(buffer, address, at);
  return at;
}

llvm::Value* FunctionEmitter::lane_pointer(int buffer, const Expr& index, int lane) {
  if (const Expr scalar = lane_of(index, lane)) return pointer(buffer, scalar);
  llvm::Value* all = value(index);
  llvm::Value* element = b_.CreateExtractElement(all, static_cast<std::uint64_t>(lane));
  element = whole(element, Dtype::kI64);
  llvm::Value* offset =
      scaled(element, size_of(m_.program.buffers[static_cast<std::size_t>(buffer)].dtype));
  return b_.CreateGEP(b_.getInt8Ty(), base(buffer), offset);
}

llvm::Value* FunctionEmitter::from_memory(llvm::Value* x, Type type) {
  if (type.dtype != Dtype::kBool) return x;
  return b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
}

llvm::Value* FunctionEmitter::to_memory(llvm::Value* x, Type type) {
  return type.dtype == Dtype::kBool ? b_.CreateZExt(x, m_.memory_type(type)) : x;
}

void FunctionEmitter::tag(llvm::Instruction* access, int buffer) {
  const auto at = static_cast<std::size_t>(buffer);
  if (llvm::isa<llvm::LoadInst>(access) && at < unchanged_.size() && unchanged_[at] != 0)
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(m_.context, {}));
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, m_.alias_scope[at]);
  if (m_.noalias[at]) access->setMetadata(llvm::LLVMContext::MD_noalias, m_.noalias[at]);
}

llvm::Value* FunctionEmitter::scratch() {
  if (!scratch_) {
    scratch_ = entry_.CreateAlloca(entry_.getInt64Ty());
    scopes_.define(scratch_, 0);
  }
  return scratch_;
}

// LLVM 19's NVPTX dies of some conversions of what was loaded by more bytes than an instruction
// takes, so these are loads of 16 bytes at most.
llvm::Value* FunctionEmitter::load_of_card(int buffer, llvm::Value* address, llvm::Type* memory,
                                           llvm::Align align) {
  constexpr std::uint64_t kMostBytes = 16;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(memory);
  const std::uint64_t bytes = memory->getScalarSizeInBits() / 8;
  if (vector == nullptr || vector->getNumElements() * bytes <= kMostBytes) {
    llvm::Instruction* access = b_.CreateAlignedLoad(memory, address, align);
    tag(access, buffer);
    return access;
  }
  const std::uint64_t lanes = vector->getNumElements(), most = kMostBytes / bytes;
  llvm::Value* out = llvm::PoisonValue::get(memory);
  for (std::uint64_t begin = 0; begin < lanes; begin += most) {
    const std::uint64_t count = std::min(most, lanes - begin);
    auto* piece =
        llvm::FixedVectorType::get(vector->getElementType(), static_cast<unsigned>(count));
    llvm::Value* place = b_.CreateConstGEP1_64(b_.getInt8Ty(), address, begin * bytes);
    llvm::Instruction* access =
        b_.CreateAlignedLoad(piece, place, llvm::commonAlignment(align, begin * bytes));
    tag(access, buffer);
    for (std::uint64_t lane = 0; lane < count; ++lane)
      out = b_.CreateInsertElement(out, b_.CreateExtractElement(access, lane), begin + lane);
  }
  return out;
}

llvm::Value* FunctionEmitter::load_at(int buffer, llvm::Value* address, Type type,
                                      llvm::Value* mask) {
  if (mask && m_.machine.on_grid)
    return behind(mask, [&] { return load_at(buffer, address, type, nullptr); });
  llvm::Type* memory = m_.memory_type(type);
  const llvm::Align align = align_at(address, type);
  if (m_.machine.on_grid) return from_memory(load_of_card(buffer, address, memory, align), type);
  llvm::Instruction* access = nullptr;
  if (mask && type.lanes > 1) {
    access = masked_load(memory, address, align, mask);
  } else {
    if (mask) address = b_.CreateSelect(mask, address, m_.zeros());
    access = b_.CreateAlignedLoad(memory, address, align);
  }
  tag(access, buffer);
  return from_memory(access, type);
}

// `x` as memory has it.
void FunctionEmitter::store_at(int buffer, llvm::Value* address, llvm::Value* x, Type type,
                               llvm::Value* mask) {
  if (mask && m_.machine.on_grid) {
    behind(mask, [&]() -> Value* {
      store_at(buffer, address, x, type, nullptr);
      return nullptr;
    });
    return;
  }
  const llvm::Align align = align_at(address, type);
  llvm::Instruction* access = nullptr;
  const int first = mask && !m_.machine.has_masks ? first_lanes(mask) : 0;
  if (first > 0) return store_first(buffer, address, x, align, first);
  if (mask && type.lanes > 1) {
    access = masked_store(x, address, align, mask);
  } else {
    if (mask) address = b_.CreateSelect(mask, address, scratch());
    access = b_.CreateAlignedStore(x, address, align);
  }
  tag(access, buffer);
}

llvm::Value* FunctionEmitter::expression(const Node& e, const Load& n) {
  if (moving_ && !n.mask && e.type.lanes == 1) return load_before_loops(e, n);
  const auto* alike = n.mask ? std::get_if<Broadcast>(&n.mask->value) : nullptr;
  const bool at_once = alike != nullptr && m_.machine.on_grid && n.index->type.lanes == 1;
  const bool in_parts =
      n.mask && n.index->type.lanes == 1 && e.type.lanes > most_masked(e.type.dtype);
  if (in_parts && !at_once) return load_in_parts(e, n);
  llvm::Value* mask = n.mask ? value(at_once ? alike->x : n.mask) : nullptr;
  if (is_all(mask, false)) return llvm::Constant::getNullValue(m_.type(e.type));
  if (is_all(mask, true)) mask = nullptr;
  if (n.index->type.lanes > 1) return gather(e, n, mask);
  llvm::Value* address = pointer(n.buffer, n.index);
  if (mask && !at_once && alike != nullptr && e.type.lanes > 1 &&
      e.type.lanes * size_of(e.type.dtype) <= kZeroBytes) {
    llvm::Value* condition = value(alike->x);
    address = pure(kChoiceOperation, nullptr, {condition, address}, false,
                   [&] { return b_.CreateSelect(condition, address, m_.zeros()); });
    mask = nullptr;
  }
  const auto make = [&] { return load_at(n.buffer, address, e.type, mask); };
  const std::uint64_t version = versions_[static_cast<std::size_t>(n.buffer)];
  llvm::Type* type = m_.type(e.type);
  return mask ? pure(kLoadOperation, type, {address, mask}, false, make, version)
              : pure(kLoadOperation, type, {address}, false, make, version);
}

// Every second to fourth element, by loads that lie side by side: as many as the stride. None goes
// beyond the first and the last element, so they touch no memory that is not there.
llvm::Value* FunctionEmitter::load_strided(const Node& e, const Load& n, const Ramp& place) {
  const int lanes = e.type.lanes, stride = static_cast<int>(place.stride);
  const int last = stride * (lanes - 1) + 1 - lanes;  // where the last load begins
  const auto begin = [&](int load) { return std::min(load * lanes, last); };
  llvm::Value* out = nullptr;
  for (int load = 0; load < stride; ++load) {
    llvm::Value* x = value(
        flat::load(n.buffer, binary(BinaryOp::kAdd, place.base, int_imm(begin(load))), e.type));
    if (load == 0) {
      out = x;
      continue;
    }
    std::vector<int> chosen;
    for (int lane = 0; lane < lanes; ++lane) {
      const int element = lane * stride, from = element / lanes;
      if (from < load) chosen.push_back(load == 1 ? element : lane);
      else chosen.push_back(from == load ? lanes + element - begin(load) : llvm::PoisonMaskElem);
    }
    out = b_.CreateShuffleVector(out, x, chosen);
  }
  return out;
}

llvm::Value* FunctionEmitter::gather(const Node& e, const Load& n, llvm::Value* mask) {
  constexpr int kMostStride = 4;  // beyond, as many loads as elements would be near
  const auto* ramp = std::get_if<Ramp>(&n.index->value);
  if (!mask && ramp && ramp->stride > 1 && ramp->stride <= kMostStride)
    return load_strided(e, n, *ramp);
  if (!mask)
    if (llvm::Value* near = load_near(e, n)) return near;
  return load_one_by_one(e, n, mask);
}

llvm::Value* FunctionEmitter::load_one_by_one(const Node& e, const Load& n, llvm::Value* mask) {
  const Type element{e.type.dtype, 1};
  llvm::Value* out = llvm::PoisonValue::get(m_.type(e.type));
  for (int lane = 0; lane < e.type.lanes; ++lane) {
    const auto at = static_cast<std::uint64_t>(lane);
    llvm::Value* active = mask ? b_.CreateExtractElement(mask, at) : nullptr;
    llvm::Value* x = llvm::Constant::getNullValue(m_.type(element));
    if (!is_all(active, false)) {
      if (is_all(active, true)) active = nullptr;
      x = load_at(n.buffer, lane_pointer(n.buffer, n.index, lane), element, active);
    }
    out = b_.CreateInsertElement(out, x, at);
  }
  return out;
}

void FunctionEmitter::scatter(const Store& n, llvm::Value* stored, llvm::Value* mask) {
  const Type element{n.value->type.dtype, 1};
  for (int lane = 0; lane < n.index->type.lanes; ++lane) {
    const auto at = static_cast<std::uint64_t>(lane);
    llvm::Value* active = mask ? b_.CreateExtractElement(mask, at) : nullptr;
    if (is_all(active, false)) continue;
    if (is_all(active, true)) active = nullptr;
    llvm::Value* address = lane_pointer(n.buffer, n.index, lane);
    store_at(n.buffer, address, b_.CreateExtractElement(stored, at), element, active);
  }
}

void FunctionEmitter::statement(const Store& n) {
  const Type type = n.value->type;
  const auto* alike = n.mask ? std::get_if<Broadcast>(&n.mask->value) : nullptr;
  const bool at_once = alike != nullptr && m_.machine.on_grid && n.index->type.lanes == 1;
  if (n.mask && n.index->type.lanes == 1 && type.lanes > most_masked(type.dtype) && !at_once) {
    store_in_parts(n);
    return touch({n.buffer});
  }
  llvm::Value* mask = n.mask ? value(at_once ? alike->x : n.mask) : nullptr;
  if (is_all(mask, false)) return;
  if (is_all(mask, true)) mask = nullptr;
  llvm::Value* stored = to_memory(whole(value(n.value), type.dtype), type);
  if (n.index->type.lanes > 1) scatter(n, stored, mask);
  else store_at(n.buffer, pointer(n.buffer, n.index), stored, type, mask);
  touch({n.buffer});
}

}  // namespace lathe::codegen
