// Stores past the caches.
//
// Such a store of x86 wants its vector aligned, or at least each 16 bytes of it: the pieces meet
// again where the processor gathers a line. What callers give may begin anywhere, and so may rows.
// So a test of the address picks the stores, one test for all neighbours that lie as the first
// does; where not even 16 bytes are aligned, they are stored as usual. AArch64 needs no test.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;
using llvm::BasicBlock;

namespace {

constexpr std::int64_t kLeastAligned = 16;  // for a piece of a vector, in bytes
constexpr std::uint32_t kLikely = 1000;     // times as often as not

bool loads_from(const Program& program, const Expr& e, const Buffer& target) {
  const auto* n = std::get_if<Load>(&e->value);
  if (n && may_alias(program.buffers[static_cast<std::size_t>(n->buffer)], target)) return true;
  bool any = false;
  each_operand(*e, [&](const Expr& x) { any = any || loads_from(program, x, target); });
  return any;
}

}  // namespace

// Bytes that one instruction stores; 0 where none stores such a vector past the caches.
std::int64_t FunctionEmitter::streamed_bytes(Type type) const {
  const std::int64_t bytes = type.lanes * size_of(type.dtype);
  if (type.lanes == 1) return 0;
  if (!m_.machine.is_x86) return bytes;
  const std::int64_t piece = std::min<std::int64_t>(bytes & -bytes, m_.machine.vector_bits / 8);
  return piece >= kLeastAligned ? piece : 0;
}

// How many statements from the first on are such stores that lie alike.
std::size_t FunctionEmitter::streams_from(std::span<const Stmt> stmts) const {
  const Store* first = nullptr;
  std::size_t count = 0;
  for (const Stmt& s : stmts) {
    const auto* n = std::get_if<Store>(&s->value);
    if (!n || !n->streaming || n->mask || n->index->type.lanes > 1) break;
    if (streamed_bytes(n->value->type) == 0) break;
    if (first &&
        (!lies_alike(*first, *n) ||
         loads_from(m_.program, n->value, m_.program.buffers[static_cast<std::size_t>(n->buffer)])))
      break;
    if (!first) first = n;
    ++count;
  }
  return count;
}

// Whether the addresses of two such stores are aligned alike, wherever the buffer begins.
bool FunctionEmitter::lies_alike(const Store& a, const Store& b) const {
  const auto offset = as_int(binary(BinaryOp::kSub, b.index, a.index));
  return a.buffer == b.buffer && a.value->type == b.value->type && offset &&
         *offset * size_of(b.value->type.dtype) % streamed_bytes(b.value->type) == 0;
}

void FunctionEmitter::stream(std::span<const Stmt> stmts) {
  memo_.clear();
  std::vector<Streamed> all;
  for (const Stmt& s : stmts) {
    const Store& n = std::get<Store>(s->value);
    all.push_back({&n, to_memory(whole(value(n.value), n.value->type.dtype), n.value->type)});
  }
  stream(all);
  touch({all[0].store->buffer});
}

// All lie as the first does.
void FunctionEmitter::stream(std::span<const Streamed> all) {
  const Store& first = *all[0].store;
  const std::int64_t piece = streamed_bytes(first.value->type),
                     element = size_of(first.value->type.dtype);
  std::vector<Value*> addresses;
  for (const Streamed& each : all) addresses.push_back(pointer(first.buffer, each.store->index));
  const auto store_all = [&](std::int64_t align, bool streaming) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      llvm::StoreInst* store = b_.CreateAlignedStore(
          all[i].value, addresses[i], llvm::Align(static_cast<std::uint64_t>(align)));
      tag(store, first.buffer);
      if (!streaming) continue;
      llvm::Metadata* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(m_.context, one));
    }
  };
  if (!m_.machine.is_x86) return store_all(element, true);
  streams_ = true;
  BasicBlock* after = BasicBlock::Create(m_.context, "stored");
  Value* low = low_bits(first, piece);
  for (std::int64_t align = piece;; align = kLeastAligned) {
    BasicBlock* aligned = BasicBlock::Create(m_.context, "stream", function_);
    BasicBlock* other = BasicBlock::Create(m_.context, "other", function_);
    Value* bits = b_.CreateAnd(low, b_.getInt64(static_cast<std::uint64_t>(align - 1)));
    b_.CreateCondBr(b_.CreateICmpEQ(bits, b_.getInt64(0)), aligned, other,
                    llvm::MDBuilder(m_.context).createBranchWeights(kLikely, 1));
    b_.SetInsertPoint(aligned);
    store_all(align, true);
    b_.CreateBr(after);
    b_.SetInsertPoint(other);
    if (align == kLeastAligned) break;
  }
  store_all(element, false);
  b_.CreateBr(after);
  function_->insert(function_->end(), after);
  b_.SetInsertPoint(after);
}

// What decides how the address is aligned. Where every loop moves it by whole pieces, that is where
// the buffer begins, known outside of all loops.
llvm::Value* FunctionEmitter::low_bits(const Store& n, std::int64_t piece) {
  Address address;
  collect(n.index, size_of(n.value->type.dtype), address);
  const bool whole =
      std::ranges::all_of(address.terms, [&](const Term& term) { return term.bytes % piece == 0; });
  if (!whole) return b_.CreatePtrToInt(pointer(n.buffer, n.index), b_.getInt64Ty());
  const auto offset = static_cast<std::uint64_t>(address.displacement & (piece - 1));
  Value* begin = base(n.buffer);
  return pure(
      kLowBitsOperation, nullptr, {begin}, true,
      [&] { return b_.CreateAdd(b_.CreatePtrToInt(begin, b_.getInt64Ty()), b_.getInt64(offset)); },
      offset);
}

// Makes what was stored past the caches visible to whoever is told next that this is done.
void FunctionEmitter::finish_streams() {
  if (streams_) b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
}

}  // namespace lathe::codegen
