// Statements: control flow, and the registers as SSA values through it.
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/written.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;
using llvm::BasicBlock;

void FunctionEmitter::emit(const Stmt& stmt) {
  if (!stmt || m_.error) return;
  if (streams_from({&stmt, 1}) > 0) return stream({&stmt, 1});
  memo_.clear();
  std::visit([&](const auto& n) { statement(n); }, stmt->value);
}

namespace {

// Whether it has the same value wherever its variables have: it reads no memory and no registers.
bool depends_on_vars_only(const Expr& e) {
  if (std::holds_alternative<Load>(e->value) || std::holds_alternative<RegRead>(e->value))
    return false;
  bool all = true;
  each_operand(*e, [&](const Expr& x) { all = all && depends_on_vars_only(x); });
  return all;
}

}  // namespace

// Branches that follow each other on one condition, as the accumulators of a tile begin, become
// one.
void FunctionEmitter::statement(const Seq& n) {
  for (std::size_t i = 0; i < n.stmts.size(); ++i) {
    if (const std::size_t columns = columns_from(std::span(n.stmts).subspan(i)); columns > 1) {
      move_columns(std::span(n.stmts).subspan(i, columns));
      i += columns - 1;
      continue;
    }
    if (const std::size_t streams = streams_from(std::span(n.stmts).subspan(i)); streams > 1) {
      stream(std::span(n.stmts).subspan(i, streams));
      i += streams - 1;
      continue;
    }
    if (const std::size_t alike = together_from(std::span(n.stmts).subspan(i)); alike > 1) {
      emit_together(std::span(n.stmts).subspan(i, alike));
      i += alike - 1;
      continue;
    }
    const auto* first = std::get_if<If>(&n.stmts[i]->value);
    std::size_t end = i + 1;
    const auto alike = [&](const Stmt& s) {
      const auto* other = std::get_if<If>(&s->value);
      return other && equal(other->condition, first->condition);
    };
    if (first && depends_on_vars_only(first->condition))
      while (end < n.stmts.size() && alike(n.stmts[end])) ++end;
    if (end == i + 1) {
      emit(n.stmts[i]);
      continue;
    }
    std::vector<Stmt> then, otherwise;
    for (; i < end; ++i) {
      const If& branch = std::get<If>(n.stmts[i]->value);
      then.push_back(branch.then);
      if (branch.otherwise) otherwise.push_back(branch.otherwise);
    }
    --i;
    emit(if_then(first->condition, seq(std::move(then)),
                 otherwise.empty() ? nullptr : seq(std::move(otherwise))));
  }
}

void FunctionEmitter::statement(const Let& n) {
  vars_[n.var] = value(n.value);
  lets_[n.var] = most_of(n.value);
  reaches_[n.var] = reach(n.value);
  multiples_[n.var] = multiple_of(n.value);
  if (is_natural(n.value)) naturals_.insert(n.var);
  if (n.value->type.lanes > 1) vectors_[n.var] = n.value;
}

void FunctionEmitter::statement(const RegWrite& n) {
  regs_[static_cast<std::size_t>(n.reg)] = whole(value(n.value), n.value->type.dtype);
}

void FunctionEmitter::statement(const PrefetchAt& n) {
  if (m_.machine.on_grid) return;  // other warps work meanwhile
  llvm::Value* address = pointer(n.buffer, n.index);
  constexpr int kRead = 0, kAllLevels = 3, kData = 1;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                     {address, b_.getInt32(kRead), b_.getInt32(kAllLevels), b_.getInt32(kData)});
}

llvm::Value* FunctionEmitter::reg_or_poison(int reg) const {
  const auto at = static_cast<std::size_t>(reg);
  return regs_[at] ? regs_[at] : llvm::PoisonValue::get(m_.type(m_.program.regs[at]));
}

void FunctionEmitter::open(ScopeKind kind, llvm::Instruction* entry,
                           std::optional<std::vector<int>> writes) {
  scopes_.open(kind, entry);
  writes_.push_back(std::move(writes));
  memo_.clear();
}

void FunctionEmitter::close() {
  scopes_.close();
  writes_.pop_back();
  memo_.clear();
}

void FunctionEmitter::touch(const std::vector<int>& buffers) {
  for (const int buffer : buffers) versions_[static_cast<std::size_t>(buffer)] = ++version_;
}

bool FunctionEmitter::provably_below(const Expr& begin, const Expr& end) const {
  return as_int(binary(BinaryOp::kSub, end, begin)).value_or(0) > 0;
}

void FunctionEmitter::statement(const For& n) {
  llvm::Value *begin = value(n.begin), *end = value(n.end);
  match(Dtype::kI64, begin, end, true);
  reaches_[n.var] = std::max(reach(n.begin), reach(n.end));
  if (is_natural(n.begin)) naturals_.insert(n.var);
  loop(n.var, begin, end, provably_below(n.begin, n.end), n.body);
}

void FunctionEmitter::loop(int var, llvm::Value* begin, llvm::Value* end, bool never_empty,
                           const Stmt& body) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first && last && first->getSExtValue() >= last->getSExtValue()) return;
  if (first && last && first->getSExtValue() + 1 == last->getSExtValue()) {
    vars_[var] = begin;
    return emit(body);
  }
  iterate(var, begin, end, never_empty || (first && last), body);
}

void FunctionEmitter::iterate(int var, llvm::Value* begin, llvm::Value* end, bool never_empty,
                              const Stmt& body) {
  const Written written = written_by(body);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* inside = BasicBlock::Create(m_.context, "loop", function_);
  BasicBlock* after = BasicBlock::Create(m_.context, "done");
  llvm::Instruction* entry = never_empty
                                 ? b_.CreateBr(inside)
                                 : b_.CreateCondBr(b_.CreateICmpSLT(begin, end), inside, after);
  // Behind a barrier in it a load finds what others stored before the loop.
  const bool meets = (body->contents & contents::kTogether) != 0;
  open(ScopeKind::kLoop, entry,
       never_empty && !meets ? std::optional(written.buffers) : std::nullopt);
  b_.SetInsertPoint(inside);

  const auto phi = [&](llvm::Type* type, llvm::Value* initial) {
    llvm::PHINode* node = b_.CreatePHI(type, 2);
    node->addIncoming(initial, before);
    scopes_.define(node, scopes_.current());
    return node;
  };
  llvm::PHINode* index = phi(begin->getType(), begin);
  std::vector<llvm::PHINode*> carried;
  std::vector<llvm::Value*> initial;
  for (const int reg : written.regs) {
    initial.push_back(reg_or_poison(reg));
    carried.push_back(phi(initial.back()->getType(), initial.back()));
    regs_[static_cast<std::size_t>(reg)] = carried.back();
  }
  vars_[var] = index;
  emit(body);

  llvm::Value* one = llvm::ConstantInt::get(index->getType(), 1);
  llvm::Value* next = b_.CreateAdd(index, one, "", false, true);
  BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
  index->addIncoming(next, latch);
  for (std::size_t i = 0; i < carried.size(); ++i)
    carried[i]->addIncoming(reg_or_poison(written.regs[i]), latch);
  close();

  function_->insert(function_->end(), after);
  b_.SetInsertPoint(after);
  for (std::size_t i = 0; !never_empty && i < carried.size(); ++i) {
    llvm::Value*& reg = regs_[static_cast<std::size_t>(written.regs[i])];
    llvm::Value* final = reg;
    llvm::PHINode* merged = phi(final->getType(), initial[i]);
    merged->addIncoming(final, latch);
    reg = merged;
  }
  // Values of the loop that live on in registers now belong to this scope.
  for (const int reg : written.regs) {
    const llvm::Value* v = regs_[static_cast<std::size_t>(reg)];
    scopes_.define(v, scopes_.depth_of(v));
  }
  touch(written.buffers);
}

void FunctionEmitter::statement(const If& n) {
  llvm::Value* condition = value(n.condition);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return emit(known->isZero() ? n.otherwise : n.then);
  Written written = written_by(n.then);
  const Written other = written_by(n.otherwise);
  written.regs.insert(written.regs.end(), other.regs.begin(), other.regs.end());
  std::ranges::sort(written.regs);
  written.regs.erase(std::unique(written.regs.begin(), written.regs.end()), written.regs.end());

  BasicBlock* after = BasicBlock::Create(m_.context, "endif");
  BasicBlock* blocks[2] = {BasicBlock::Create(m_.context, "then", function_),
                           n.otherwise ? BasicBlock::Create(m_.context, "else") : after};
  BasicBlock* from[2] = {nullptr, b_.GetInsertBlock()};
  const std::vector<llvm::Value*> old = regs_;
  std::vector<llvm::Value*> out[2] = {{}, old};
  llvm::Instruction* entry = b_.CreateCondBr(condition, blocks[0], blocks[1]);
  for (int branch = 0; branch < (n.otherwise ? 2 : 1); ++branch) {
    open(ScopeKind::kBranch, entry, std::nullopt);
    if (!blocks[branch]->getParent()) function_->insert(function_->end(), blocks[branch]);
    b_.SetInsertPoint(blocks[branch]);
    regs_ = old;
    emit(branch == 0 ? n.then : n.otherwise);
    out[branch] = regs_;
    from[branch] = b_.GetInsertBlock();
    b_.CreateBr(after);
    close();
  }
  function_->insert(function_->end(), after);
  b_.SetInsertPoint(after);
  regs_ = old;
  for (const int reg : written.regs) {
    const auto at = static_cast<std::size_t>(reg);
    llvm::PHINode* merged = b_.CreatePHI(m_.type(m_.program.regs[at]), 2);
    for (int branch = 0; branch < 2; ++branch) {
      llvm::Value* v = out[branch][at];
      merged->addIncoming(v ? v : llvm::PoisonValue::get(merged->getType()), from[branch]);
    }
    scopes_.define(merged, scopes_.current());
    regs_[at] = merged;
  }
  touch(written.buffers);
  touch(other.buffers);
}

}  // namespace lathe::codegen
