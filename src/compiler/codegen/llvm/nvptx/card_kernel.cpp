// A kernel on a grid as a function of NVPTX: its parameters, its indices, where its buffers are.
#include <set>

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include "compiler/codegen/grid/thread_memory.h"
#include "compiler/codegen/llvm/nvptx/card_module.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;
using device::Area;
using device::Argument;

namespace {

constexpr std::uint64_t kAlign = 16;  // of tensors and areas
// Of a launch: blocks along y and z, and threads of a block along z; there are more along x.
constexpr std::int64_t kMostBlocksBeside = 65535, kMostThreadsBehind = 64;

// Buffers that a kernel touches, by number.
struct Touched {
  std::vector<char> read, written;

  explicit Touched(const Program& program)
      : read(program.buffers.size()), written(program.buffers.size()) {}
  void see(const Expr& e) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    if (const auto* load = std::get_if<Load>(&e->value))
      read[static_cast<std::size_t>(load->buffer)] = 1;
    each_operand(*e, [&](const Expr& x) { see(x); });
  }
  void see(const Stmt& s) {
    if (const auto* store = std::get_if<Store>(&s->value))
      written[static_cast<std::size_t>(store->buffer)] = 1;
    if (const auto* copy = std::get_if<AsyncCopy>(&s->value)) {
      read[static_cast<std::size_t>(copy->from)] = 1;
      written[static_cast<std::size_t>(copy->to)] = 1;
    }
    each_part(*s, [&](const Expr& e) { see(e); }, [&](const Stmt& inner) { see(inner); });
  }
  bool touches(std::size_t b) const { return read[b] != 0 || written[b] != 0; }

 private:
  std::set<const Node*> seen_;
};

// Those in memory of the card that nothing of their place is written to.
std::vector<char> unchanged(const Program& program, const Touched& touched) {
  std::vector<char> out(program.buffers.size());
  for (std::size_t b = 0; b < out.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.scope == Scope::kThread || buffer.scope == Scope::kGroup) continue;
    bool changed = false;
    for (std::size_t w = 0; w < out.size(); ++w)
      changed =
          changed || (touched.written[w] != 0 && (w == b || may_alias(buffer, program.buffers[w])));
    out[b] = changed ? 0 : 1;
  }
  return out;
}

class CardKernel {
 public:
  CardKernel(ModuleContext& m, const Kernel& kernel)
      : m_(m), kernel_(kernel), touched_(m.program), memory_(thread_memory(m.program, kernel)) {
    touched_.see(kernel.body);
    launch_.kernel = "lathe_" + kernel.name;
    for (std::size_t d = 0; d < 3; ++d) {
      launch_.groups.at(d) = kernel.grid.groups.at(d).count;
      launch_.items.at(d) = kernel.grid.items.at(d).count;
    }
    launch_.group_bytes = group_bytes_of(m.program, kernel);
  }

  device::Launch emit() {
    list_arguments();
    declare();
    FunctionEmitter emitter(m_, function_);
    Frame frame{};
    frame.place = [this](llvm::IRBuilder<>& entry, int buffer) { return place(entry, buffer); };
    emitter.set_frame(frame);
    emitter.set_unchanged(unchanged(m_.program, touched_));
    define_indices(emitter, kernel_.grid.groups, launch_.groups, true);
    define_indices(emitter, kernel_.grid.items, launch_.items, false);
    emitter.emit(kernel_.body);
    emitter.finish();
    annotate();
    return launch_;
  }

 private:
  // Tensors that it touches, then the areas.
  void list_arguments() {
    bool constants = false, scratch = false;
    for (std::size_t b = 0; b < m_.program.buffers.size(); ++b) {
      if (!touched_.touches(b)) continue;
      const Buffer& buffer = m_.program.buffers[b];
      constants |= buffer.scope == Scope::kConstant;
      scratch |= buffer.scope == Scope::kGlobal ||
                 (buffer.scope == Scope::kThread && memory_.is_private[b] == 0);
      if (buffer.scope == Scope::kShared) m_.refuse("memory that a region shares");
      const bool input = buffer.scope == Scope::kInput;
      if (input || buffer.scope == Scope::kOutput)
        add_argument({input ? Area::kInput : Area::kOutput, static_cast<int>(buffer.slot)});
    }
    if (constants) add_argument({Area::kConstant, 0});
    if (scratch) add_argument({Area::kScratch, 0});
  }
  // Several buffers may be one tensor.
  void add_argument(const Argument& argument) {
    if (std::ranges::find(launch_.arguments, argument) == launch_.arguments.end())
      launch_.arguments.push_back(argument);
  }

  void declare() {
    const std::vector<llvm::Type*> pointers(launch_.arguments.size(),
                                            llvm::PointerType::get(m_.context, kGlobalSpace));
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(m_.context), pointers, false);
    function_ = m_.function(type, launch_.kernel);
    function_->setLinkage(llvm::GlobalValue::ExternalLinkage);
    for (unsigned i = 0; i < pointers.size(); ++i) {
      function_->addParamAttr(i, llvm::Attribute::NoAlias);
      function_->addParamAttr(i,
                              llvm::Attribute::getWithAlignment(m_.context, llvm::Align(kAlign)));
    }
  }

  llvm::Value* argument(const Argument& which) {
    const auto found = std::ranges::find(launch_.arguments, which);
    LATHE_CHECK(found != launch_.arguments.end(), "a kernel lacks an argument");
    return function_->getArg(static_cast<unsigned>(found - launch_.arguments.begin()));
  }

  llvm::Value* place(llvm::IRBuilder<>& b, int id) {
    const auto at = static_cast<std::size_t>(id);
    const Buffer& buffer = m_.program.buffers[at];
    const auto in = [&](llvm::Value* area, std::int64_t offset) {
      return b.CreateGEP(b.getInt8Ty(), area, b.getInt64(static_cast<std::uint64_t>(offset)));
    };
    switch (buffer.scope) {
      case Scope::kInput: return argument({Area::kInput, static_cast<int>(buffer.slot)});
      case Scope::kOutput: return argument({Area::kOutput, static_cast<int>(buffer.slot)});
      case Scope::kLiteral: return m_.literals[at];
      case Scope::kConstant: return in(argument({Area::kConstant, 0}), buffer.slot);
      case Scope::kGlobal: return in(argument({Area::kScratch, 0}), buffer.slot);
      case Scope::kGroup: return in(group_memory(), buffer.slot);
      case Scope::kShared:  // refused before
      case Scope::kThread: break;
    }
    if (memory_.is_private[at] != 0) return own_memory(b, buffer);
    llvm::Value* slice =
        b.CreateMul(point(b), b.getInt64(static_cast<std::uint64_t>(thread_bytes_of(buffer))));
    return b.CreateGEP(b.getInt8Ty(), in(argument({Area::kScratch, 0}), memory_.offset[at]), slice);
  }

  llvm::Value* own_memory(llvm::IRBuilder<>& b, const Buffer& buffer) {
    auto* type =
        llvm::ArrayType::get(b.getInt8Ty(), static_cast<std::uint64_t>(thread_bytes_of(buffer)));
    auto* out = b.CreateAlloca(type, nullptr, buffer.name);
    out->setAlignment(llvm::Align(kAlign));
    return out;
  }

  // That the launch asks for.
  llvm::Value* group_memory() {
    constexpr const char* kName = "lathe_group";
    if (llvm::GlobalVariable* known = m_.module->getNamedGlobal(kName)) return known;
    auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(m_.context), 0);
    auto* out = new llvm::GlobalVariable(*m_.module, type, false,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, kName,
                                         nullptr, llvm::GlobalValue::NotThreadLocal, kGroupSpace);
    out->setAlignment(llvm::Align(kAlign));
    return out;
  }

  // The number of this item among all of the grid.
  llvm::Value* point(llvm::IRBuilder<>& b) {
    const Grid& grid = kernel_.grid;
    llvm::Value* at = b.getInt64(0);
    for (const auto* axes : {&grid.groups, &grid.items})
      for (std::size_t d = 3; d-- > 0;) {
        const Axis& axis = axes->at(d);
        if (axis.var < 0) continue;
        at = b.CreateMul(at, b.getInt64(static_cast<std::uint64_t>(axis.count)));
        at = b.CreateAdd(at, b.CreateSExt(indices_.at(axis.var), b.getInt64Ty()));
      }
    return at;
  }

  llvm::Value* hardware_index(llvm::IRBuilder<>& b, bool of_group, std::size_t direction,
                              std::int64_t count) {
    using namespace llvm::Intrinsic;
    constexpr ID kGroups[] = {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y,
                              nvvm_read_ptx_sreg_ctaid_z};
    constexpr ID kItems[] = {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y,
                             nvvm_read_ptx_sreg_tid_z};
    llvm::CallInst* index = b.CreateIntrinsic((of_group ? kGroups : kItems)[direction], {}, {});
    const llvm::APInt least(32, 0), most(32, static_cast<std::uint64_t>(count));
    index->setMetadata(llvm::LLVMContext::MD_range,
                       llvm::MDBuilder(m_.context).createRange(least, most));
    return index;
  }

  // Where there are too many along y or z, all are launched along x, and told apart here.
  void define_indices(FunctionEmitter& emitter, const std::array<Axis, 3>& axes,
                      std::array<std::int64_t, 3>& launched, bool of_group) {
    constexpr std::int64_t kMostAlongX = 0x7fffffff;
    llvm::IRBuilder<>& b = emitter.entry();
    const bool folded = of_group
                            ? axes[1].count > kMostBlocksBeside || axes[2].count > kMostBlocksBeside
                            : axes[2].count > kMostThreadsBehind;
    if (folded) launched = {axes[0].count * axes[1].count * axes[2].count, 1, 1};
    if (launched[0] > kMostAlongX) m_.refuse("a grid of more than 2^31 - 1 groups along x");
    llvm::Value* rest = folded ? hardware_index(b, of_group, 0, launched[0]) : nullptr;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t count = axes.at(d).count;
      llvm::Value* index = nullptr;
      if (folded) {
        llvm::Value* size = b.getInt32(static_cast<std::uint32_t>(count));
        index = b.CreateURem(rest, size);
        rest = b.CreateUDiv(rest, size);
      }
      if (axes.at(d).var < 0) continue;
      if (!folded)
        index = count == 1 ? static_cast<llvm::Value*>(b.getInt32(0))
                           : hardware_index(b, of_group, d, count);
      indices_[axes.at(d).var] = index;
      emitter.set_index(axes.at(d).var, index, count);
    }
  }

  // It is a kernel, and what the compiler behind may count on: how many threads a block has.
  void annotate() {
    llvm::NamedMDNode* all = m_.module->getOrInsertNamedMetadata("nvvm.annotations");
    const auto add = [&](const char* what, std::int64_t value) {
      llvm::Metadata* number = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
          llvm::Type::getInt32Ty(m_.context), static_cast<std::uint64_t>(value)));
      all->addOperand(
          llvm::MDNode::get(m_.context, {llvm::ConstantAsMetadata::get(function_),
                                         llvm::MDString::get(m_.context, what), number}));
    };
    add("kernel", 1);
    add("maxntidx", launch_.items[0]);
    add("maxntidy", launch_.items[1]);
    add("maxntidz", launch_.items[2]);
    // One block at a time is all that is promised: else the assembler spills a few registers to
    // have room for more.
    add("minctasm", 1);
  }

  ModuleContext& m_;
  const Kernel& kernel_;
  Touched touched_;
  ThreadMemory memory_;
  device::Launch launch_;
  llvm::Function* function_ = nullptr;
  std::unordered_map<int, llvm::Value*> indices_;  // by variable
};

}  // namespace

device::Launch emit_card_kernel(ModuleContext& m, const Kernel& kernel) {
  return CardKernel(m, kernel).emit();
}

}  // namespace lathe::codegen
