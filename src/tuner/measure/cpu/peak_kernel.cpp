#include "tuner/measure/cpu/peak_kernel.h"

#include <algorithm>

namespace lathe::measure::cpu {
namespace {

constexpr std::int64_t kIterations = 20'000;  // some 100 microseconds

}  // namespace

PeakKernel peak_kernel(const CpuTarget& target) {
  const int lanes = std::max(1, target.lanes(4));
  // latency x units of today's cores: 8 to 10
  const int chains = target.vector_registers >= 32 ? 24 : 12;
  const flat::Type vector{Dtype::kF32, lanes}, scalar{Dtype::kF32, 1};
  PeakKernel kernel;
  flat::Program& program = kernel.program;
  const std::int64_t outputs = std::int64_t{target.threads} * lanes;
  program.inputs = {tensor::plain_border("x", Dtype::kF32, {16})};
  program.outputs = {tensor::plain_border("y", Dtype::kF32, {outputs})};
  program.buffers = {
      {.name = "x", .dtype = Dtype::kF32, .size = 16, .scope = flat::Scope::kInput, .slot = 0},
      {.name = "y",
       .dtype = Dtype::kF32,
       .size = outputs,
       .scope = flat::Scope::kOutput,
       .slot = 0}};
  program.vars = {"thread", "i"};
  program.regs.assign(static_cast<std::size_t>(chains) + 1, vector);
  const int factor = chains;  // the register after the accumulators

  std::vector<flat::Stmt> body, start;
  for (int c = 0; c < chains; ++c) {
    start.push_back(flat::reg_write(c, flat::imm(c + 1, vector)));
    body.push_back(
        flat::reg_write(c, flat::fma(flat::reg_read(c, vector), flat::reg_read(factor, vector),
                                     flat::reg_read(factor, vector))));
  }
  const flat::Expr x = flat::load(0, flat::int_imm(0), scalar);
  start.push_back(flat::reg_write(factor, flat::broadcast(x, lanes)));
  start.push_back(flat::for_loop(1, flat::int_imm(0), flat::int_imm(kIterations), flat::seq(body)));
  flat::Expr sum = flat::reg_read(0, vector);
  for (int c = 1; c < chains; ++c)
    sum = flat::binary(flat::BinaryOp::kAdd, sum, flat::reg_read(c, vector));
  const flat::Expr base = flat::binary(flat::BinaryOp::kMul, flat::var(0), flat::int_imm(lanes));
  start.push_back(flat::store(1, base, sum));
  flat::set_run(program, flat::parallel_for(0, flat::int_imm(0), flat::int_imm(target.threads),
                                            flat::seq(start)));
  kernel.flops = 2.0 * lanes * chains * static_cast<double>(kIterations) * target.threads;
  return kernel;
}

}  // namespace lathe::measure::cpu
