// Value numbering over nested scopes (loop bodies, branches), and where a pure integer computation
// is placed: in the outermost loop in which all its operands exist. Loop-invariant code motion by
// construction, since no pass does it later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

namespace lathe::codegen {

// An operation and its operands (values, immediates, types), for the caller to encode.
struct ValueKey {
  int operation = 0;
  std::array<std::uint64_t, 5> parts{};
  friend bool operator==(const ValueKey&, const ValueKey&) = default;
};
struct ValueKeyHash {
  std::size_t operator()(const ValueKey& key) const;
};

enum class ScopeKind { kLoop, kBranch };

class Scopes {
 public:
  explicit Scopes(llvm::IRBuilder<>& builder) : builder_(builder) { scopes_.emplace_back(); }

  // Enters a scope through the branch `entry`, the last instruction of the enclosing scope so far.
  void open(ScopeKind kind, llvm::Instruction* entry);
  void close();

  int current() const { return static_cast<int>(scopes_.size()) - 1; }
  int depth_of(const llvm::Value* value)
      const;  // of the scope it was made in; 0 for constants and arguments
  void define(const llvm::Value* value, int depth) { depths_[value] = depth; }

  // Where to compute something pure out of operands of at most this depth: not outside a branch
  // unless the branch is inside a loop that can be left too.
  int home(int operand_depth) const;

  llvm::Value* find(const ValueKey& key) const;            // in any open scope
  llvm::Value* find_innermost(const ValueKey& key) const;  // in the innermost one
  llvm::Value* find_in(int depth, const ValueKey& key) const;
  // Makes a value in the scope `depth` and remembers it there.
  template <class Make>
  llvm::Value* add(const ValueKey& key, int depth, Make&& make);

 private:
  struct Scope {
    ScopeKind kind = ScopeKind::kLoop;
    llvm::Instruction* leave = nullptr;  // while an inner scope is open: the branch into it
    std::unordered_map<ValueKey, llvm::Value*, ValueKeyHash> values;
  };

  llvm::IRBuilder<>& builder_;
  std::vector<Scope> scopes_;
  llvm::DenseMap<const llvm::Value*, int> depths_;
};

// Implementation.
template <class Make>
llvm::Value* Scopes::add(const ValueKey& key, int depth, Make&& make) {
  Scope& scope = scopes_[static_cast<std::size_t>(depth)];
  std::optional<llvm::IRBuilderBase::InsertPointGuard> guard;
  if (depth != current()) {
    guard.emplace(builder_);
    builder_.SetInsertPoint(scope.leave);
  }
  llvm::Value* value = make();
  if (llvm::isa<llvm::Instruction>(value) && !depths_.contains(value)) depths_[value] = depth;
  return scope.values[key] = value;
}

}  // namespace lathe::codegen
