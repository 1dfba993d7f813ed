// What the items of a group do together: barriers, asynchronous copies, exchanges.
//
// LLVM 19 dies on its intrinsic for a copy where pointers to group memory have 32 bits, so these
// are inline assembly; they clobber memory, as barriers do.
#include <numeric>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/llvm/emit.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr std::uint32_t kAllItems = 0xffffffff;  // of a warp take part
constexpr std::uint32_t kWholeWarp = 31;         // an exchange stays inside of

void assemble(llvm::IRBuilder<>& b, const std::string& text, const std::string& constraints,
              llvm::ArrayRef<llvm::Value*> operands) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), operands);
}

}  // namespace

bool FunctionEmitter::refused_off_grid(const char* what) {
  if (!m_.machine.on_grid) m_.refuse(what);
  return !m_.machine.on_grid;
}

// What other items have written is read anew.
void FunctionEmitter::touch_all() {
  std::vector<int> all(m_.program.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  touch(all);
}

void FunctionEmitter::statement(const Barrier&) {
  if (refused_off_grid("a barrier of a group")) return;
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  touch_all();
}

// Where the condition is false no byte is read, and the hardware fills with zeros.
void FunctionEmitter::statement(const AsyncCopy& n) {
  if (!m_.machine.has_copies) return m_.refuse("an asynchronous copy; cards have it from sm_80 on");
  constexpr std::int64_t kPastFirstCache = 16;  // bytes that .cg takes, and no others
  const Dtype dtype = m_.program.buffers[static_cast<std::size_t>(n.to)].dtype;
  const std::int64_t bytes = n.lanes * size_of(dtype);
  std::vector<llvm::Value*> operands = {pointer(n.to, n.to_index), pointer(n.from, n.from_index)};
  const std::string head = fmt::format("cp.async.{}.shared.global [$0], [$1], {}",
                                       bytes == kPastFirstCache ? "cg" : "ca", bytes);
  if (n.condition) {
    operands.push_back(b_.CreateSelect(
        value(n.condition), b_.getInt32(static_cast<std::uint32_t>(bytes)), b_.getInt32(0)));
    assemble(b_, head + ", $2;", "r,l,r,~{memory}", operands);
  } else {
    assemble(b_, head + ";", "r,l,~{memory}", operands);
  }
  touch({n.to});
}

void FunctionEmitter::statement(const CommitCopies&) {
  if (refused_off_grid("a batch of copies")) return;
  assemble(b_, "cp.async.commit_group;", "~{memory}", {});
}

void FunctionEmitter::statement(const AwaitCopies& n) {
  if (refused_off_grid("a wait for copies")) return;
  assemble(b_, fmt::format("cp.async.wait_group {};", n.pending), "~{memory}", {});
  touch_all();
}

// Through 32 bits at a time.
llvm::Value* FunctionEmitter::exchanged(Value* x, int lane_mask) {
  llvm::Type *type = x->getType(), *word = b_.getInt32Ty();
  const auto bits = static_cast<unsigned>(type->getScalarSizeInBits());
  const auto one = [&](Value* part) {
    return b_.CreateIntrinsic(
        word, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
        {b_.getInt32(kAllItems), part, b_.getInt32(static_cast<std::uint32_t>(lane_mask)),
         b_.getInt32(kWholeWarp)});
  };
  Value* number = b_.CreateBitCast(x, b_.getIntNTy(bits));
  if (bits <= 32)
    return b_.CreateBitCast(b_.CreateTrunc(one(b_.CreateZExt(number, word)), b_.getIntNTy(bits)),
                            type);
  Value* low = one(b_.CreateTrunc(number, word));
  Value* high = one(b_.CreateTrunc(b_.CreateLShr(number, 32), word));
  Value* both = b_.CreateOr(b_.CreateZExt(low, number->getType()),
                            b_.CreateShl(b_.CreateZExt(high, number->getType()), 32));
  return b_.CreateBitCast(both, type);
}

void FunctionEmitter::statement(const Exchange& n) {
  if (refused_off_grid("an exchange among items")) return;
  regs_[static_cast<std::size_t>(n.reg)] =
      exchanged(whole(value(n.value), n.value->type.dtype), n.lane_mask);
}

}  // namespace lathe::codegen
