#include "compiler/codegen/llvm/nvptx/card_module.h"

#include <algorithm>

#include "compiler/codegen/grid/thread_memory.h"

namespace lathe::codegen {
namespace {

using namespace flat;

constexpr std::int64_t kMostScratch = 1LL << 32;

Machine machine_of(const CudaTarget& card) {
  return {.name = card.text(),
          .has_fma = true,
          .has_f16 = true,
          .has_round = true,
          .on_grid = true,
          .has_copies = card.grids()->copies};
}

Status check_fits(const Program& program, const CudaTarget& card, std::int64_t thread_bytes) {
  for (const Kernel& kernel : program.kernels) {
    if (const std::int64_t bytes = group_bytes_of(program, kernel); bytes > card.block_bytes)
      return fail(ErrorKind::kUnsupported,
                  "the blocks of kernel {} need {} bytes of shared memory, and {} has {}; keep "
                  "less of what is staged",
                  kernel.name, bytes, card.text(), card.block_bytes);
    if (const std::int64_t items = kernel.grid.group_items(); items > card.block_threads)
      return fail(ErrorKind::kUnsupported,
                  "the blocks of kernel {} have {} threads, and {} has {} at most; bind shorter "
                  "loops to threads",
                  kernel.name, items, card.text(), card.block_threads);
  }
  if (thread_bytes > kMostScratch)
    return fail(ErrorKind::kUnsupported,
                "the threads need {} bytes of memory of their own; bind fewer loops, or hold less "
                "in each",
                thread_bytes);
  return {};
}

std::int64_t scratch_bytes_of(const Program& program) {
  std::int64_t bytes = program.global_bytes;
  for (const Kernel& kernel : program.kernels)
    bytes = std::max(bytes, thread_memory(program, kernel).end);
  return bytes;
}

}  // namespace

Result<CardModule> emit_card_module(llvm::LLVMContext& context, const Program& program,
                                    const CudaTarget& card, llvm::TargetMachine& machine) {
  CardModule out;
  out.image.architecture = card.architecture;
  out.image.constant_bytes = program.constant_bytes;
  out.image.scratch_bytes = scratch_bytes_of(program);
  LATHE_TRY_STATUS(check_fits(program, card, out.image.scratch_bytes - program.global_bytes));
  for (const Border& border : program.inputs)
    out.image.inputs.push_back(border.size * size_of(border.dtype));
  for (const Border& border : program.outputs)
    out.image.outputs.push_back(border.size * size_of(border.dtype));
  ModuleContext m(context, program, machine_of(card));
  m.module->setTargetTriple(machine.getTargetTriple().str());
  m.module->setDataLayout(machine.createDataLayout());
  std::vector<device::Launch> launches;
  for (const Kernel& kernel : program.kernels) launches.push_back(emit_card_kernel(m, kernel));
  if (m.error) return std::unexpected(*m.error);
  for (const int k : program.prepare)
    out.image.prepare.push_back(launches[static_cast<std::size_t>(k)]);
  for (const int k : program.run) out.image.run.push_back(launches[static_cast<std::size_t>(k)]);
  out.module = std::move(m.module);
  return out;
}

}  // namespace lathe::codegen
