#include "compiler/codegen/llvm/scopes.h"

#include "base/result.h"

namespace lathe::codegen {

std::size_t ValueKeyHash::operator()(const ValueKey& key) const {
  std::uint64_t hash = static_cast<std::uint64_t>(key.operation) + 0x9e3779b97f4a7c15U;
  for (const std::uint64_t part : key.parts) {
    hash ^= part + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
    hash *= 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 29;
  }
  return hash;
}

void Scopes::open(ScopeKind kind, llvm::Instruction* entry) {
  scopes_.back().leave = entry;
  scopes_.emplace_back();
  scopes_.back().kind = kind;
}

void Scopes::close() {
  LATHE_CHECK(scopes_.size() > 1);
  scopes_.pop_back();
  scopes_.back().leave = nullptr;
}

int Scopes::depth_of(const llvm::Value* value) const {
  if (!llvm::isa<llvm::Instruction>(value)) return 0;
  const auto found = depths_.find(value);
  return found == depths_.end() ? current() : std::min(found->second, current());
}

int Scopes::home(int operand_depth) const {
  // From the operands inwards, past branches up to the first loop: code before that loop is outside
  // of it, and no branch is left.
  int depth = operand_depth;
  while (depth < current() &&
         scopes_[static_cast<std::size_t>(depth) + 1].kind == ScopeKind::kBranch)
    ++depth;
  return depth;
}

llvm::Value* Scopes::find(const ValueKey& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->values.find(key); found != scope->values.end())
      return found->second;
  return nullptr;
}

llvm::Value* Scopes::find_innermost(const ValueKey& key) const { return find_in(current(), key); }

llvm::Value* Scopes::find_in(int depth, const ValueKey& key) const {
  const auto& values = scopes_[static_cast<std::size_t>(depth)].values;
  const auto found = values.find(key);
  return found == values.end() ? nullptr : found->second;
}

}  // namespace lathe::codegen
