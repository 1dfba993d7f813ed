// Parallel regions: a function for the slices of each phase, and a call of the runtime with their
// list.
#include <set>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/written.h"

namespace lathe::codegen {

using namespace flat;

namespace {

// The context of a region, which all its phases get: runtime, tensors, constants, workspace,
// workers, where each phase begins, then the variables that the phases use.
constexpr unsigned kContextPointers = 5;

struct Context {
  llvm::StructType* type;
  std::size_t phases;
  std::vector<int> vars;
  unsigned begin_of(std::size_t phase) const {
    return kContextPointers + static_cast<unsigned>(phase);
  }
  unsigned place_of(std::size_t var) const { return begin_of(phases + var); }
};

Context context_of(llvm::IRBuilder<>& b, const Region& region) {
  std::set<int> vars;
  for (const For& phase : region.phases)
    for (const int var : free_vars(phase.body))
      if (var != phase.var) vars.insert(var);
  std::vector<llvm::Type*> members(kContextPointers, b.getPtrTy());
  members.insert(members.end(), region.phases.size() + vars.size(), b.getInt64Ty());
  return {llvm::StructType::get(b.getContext(), members),
          region.phases.size(),
          {vars.begin(), vars.end()}};
}

// One slice of the iterations of a phase.
void emit_phase(ModuleContext& m, llvm::Function* function, const For& phase, std::size_t number,
                const Context& context) {
  FunctionEmitter emitter(m, function);
  llvm::IRBuilder<>& b = emitter.entry();
  const auto member = [&](unsigned i) {
    return b.CreateLoad(context.type->getElementType(i),
                        b.CreateStructGEP(context.type, function->getArg(0), i));
  };
  Frame frame{member(0), member(1), member(2), member(3), member(4), nullptr, {}};
  llvm::Value* offset = b.CreateMul(function->getArg(3),
                                    b.getInt64(static_cast<std::uint64_t>(m.program.thread_bytes)));
  frame.worker_area = b.CreateGEP(b.getInt8Ty(), frame.workers, offset);
  emitter.set_frame(frame);
  llvm::Value* first = member(context.begin_of(number));
  for (std::size_t i = 0; i < context.vars.size(); ++i)
    emitter.set_var(context.vars[i], member(context.place_of(i)));
  emitter.loop(phase.var, b.CreateAdd(first, function->getArg(1)),
               b.CreateAdd(first, function->getArg(2)), false, phase.body);
  emitter.finish();
}

}  // namespace

void FunctionEmitter::statement(const Region& n) {
  std::vector<llvm::Value*> begins, ends;
  for (const For& phase : n.phases) {
    begins.push_back(value(phase.begin));
    ends.push_back(value(phase.end));
  }
  if (m_.machine.threads == 1) {
    for (std::size_t i = 0; i < n.phases.size(); ++i)
      loop(n.phases[i].var, begins[i], ends[i], provably_below(n.phases[i].begin, n.phases[i].end),
           n.phases[i].body);
    return;
  }
  const Context context = context_of(b_, n);
  llvm::Value* filled = entry_.CreateAlloca(context.type);
  std::vector<llvm::Value*> members = {frame_.runtime, frame_.tensors, frame_.constants,
                                       frame_.workspace, frame_.workers};
  members.insert(members.end(), begins.begin(), begins.end());
  for (const int var : context.vars) members.push_back(vars_.at(var));
  for (unsigned i = 0; i < members.size(); ++i)
    b_.CreateStore(members[i], b_.CreateStructGEP(context.type, filled, i));

  llvm::Type* i64 = b_.getInt64Ty();
  auto* slice_type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64, i64}, false);
  auto* phase_type = llvm::StructType::get(b_.getPtrTy(), i64);
  auto* phases_type = llvm::ArrayType::get(phase_type, n.phases.size());
  llvm::Value* phases = entry_.CreateAlloca(phases_type);
  for (std::size_t i = 0; i < n.phases.size(); ++i) {
    llvm::Function* slice = m_.function(slice_type, fmt::format("lathe_phase_{}", m_.phases++));
    emit_phase(m_, slice, n.phases[i], i, context);
    llvm::Value* count = b_.CreateSub(ends[i], begins[i], "", false, true);
    if (!llvm::isa<llvm::Constant>(count))
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
    llvm::Value* place = b_.CreateConstGEP2_64(phases_type, phases, 0, i);
    b_.CreateStore(slice, b_.CreateStructGEP(phase_type, place, 0));
    b_.CreateStore(count, b_.CreateStructGEP(phase_type, place, 1));
  }
  call_runtime(phases, n.phases.size(), filled);
  for (const For& phase : n.phases) touch(written_by(phase.body).buffers);
}

void FunctionEmitter::call_runtime(Value* phases, std::size_t count, Value* context) {
  llvm::Type* pointer = b_.getPtrTy();
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, b_.getInt64Ty(), pointer}, false);
  auto* runtime_type = llvm::StructType::get(pointer, pointer);
  llvm::Value* run = b_.CreateLoad(pointer, b_.CreateStructGEP(runtime_type, frame_.runtime, 0));
  llvm::Value* self = b_.CreateLoad(pointer, b_.CreateStructGEP(runtime_type, frame_.runtime, 1));
  b_.CreateCall(type, run, {self, phases, b_.getInt64(count), context});
}

}  // namespace lathe::codegen
