#include "tuner/measure/cpu/stream_kernel.h"

#include <algorithm>

namespace lathe::measure::cpu {
namespace {

constexpr int kChains = 8;          // sums that reads are added to, so that none waits for another
constexpr std::int64_t kSteps = 8;  // reads or writes, whichever are fewer, in an iteration
constexpr std::int64_t kMostRatio = 4;

struct Stream {
  int lanes, thread, loop;             // variables
  std::int64_t reads = 0, writes = 0;  // vectors of a thread
  std::int64_t read = 0, written = 0;  // until here
  std::vector<flat::Stmt> stmts;

  flat::Type vector() const { return {Dtype::kF32, lanes}; }
  flat::Expr index(std::int64_t of_thread, std::int64_t done, std::int64_t step,
                   std::int64_t k) const {
    const auto scaled = [](flat::Expr e, std::int64_t by) {
      return flat::binary(flat::BinaryOp::kMul, std::move(e), flat::int_imm(by));
    };
    const auto plus = [](flat::Expr a, flat::Expr b) {
      return flat::binary(flat::BinaryOp::kAdd, std::move(a), std::move(b));
    };
    return plus(
        plus(scaled(flat::var(thread), of_thread * lanes), scaled(flat::var(loop), step * lanes)),
        flat::int_imm((done + k) * lanes));
  }
  // Adds a loop of `times` iterations, with `r` reads and `w` writes in each.
  void iterate(std::int64_t times, std::int64_t r, std::int64_t w) {
    if (times <= 0) return;
    std::vector<flat::Stmt> body;
    for (std::int64_t k = 0; k < r; ++k) {
      const int chain = static_cast<int>(k % kChains);
      body.push_back(
          flat::reg_write(chain, flat::binary(flat::BinaryOp::kAdd, flat::reg_read(chain, vector()),
                                              flat::load(0, index(reads, read, r, k), vector()))));
    }
    for (std::int64_t k = 0; k < w; ++k)
      body.push_back(flat::store(1, index(writes, written, w, k),
                                 flat::reg_read(static_cast<int>(k % kChains), vector())));
    stmts.push_back(flat::for_loop(loop, flat::int_imm(0), flat::int_imm(times), flat::seq(body)));
    read += times * r;
    written += times * w;
  }
};

}  // namespace

flat::Program stream_kernel(const CpuTarget& target, std::int64_t read_bytes,
                            std::int64_t written_bytes) {
  Stream stream{std::max(1, target.lanes(4)), 0, 1};
  const auto vectors = [&](std::int64_t bytes) {
    const std::int64_t share = std::int64_t{4} * stream.lanes * target.threads;
    return std::max<std::int64_t>(1, (bytes + share - 1) / share);
  };
  stream.reads = vectors(read_bytes);
  stream.writes = vectors(written_bytes);
  flat::Program program;
  const std::int64_t x = stream.reads * stream.lanes * target.threads,
                     y = stream.writes * stream.lanes * target.threads;
  program.inputs = {tensor::plain_border("x", Dtype::kF32, {x})};
  program.outputs = {tensor::plain_border("y", Dtype::kF32, {y})};
  program.buffers = {
      {.name = "x", .dtype = Dtype::kF32, .size = x, .scope = flat::Scope::kInput, .slot = 0},
      {.name = "y", .dtype = Dtype::kF32, .size = y, .scope = flat::Scope::kOutput, .slot = 0}};
  program.vars = {"thread", "mixed", "reads", "read", "writes", "written"};
  program.regs.assign(kChains, stream.vector());

  for (int c = 0; c < kChains; ++c)
    stream.stmts.push_back(flat::reg_write(c, flat::imm(0, stream.vector())));
  const std::int64_t fewer = std::min(stream.reads, stream.writes);
  const std::int64_t r = std::clamp<std::int64_t>(stream.reads / fewer, 1, kMostRatio);
  const std::int64_t w = std::clamp<std::int64_t>(stream.writes / fewer, 1, kMostRatio);
  // Each loop has a variable of its own; what is left of each kind comes after, in large steps and
  // then one by one.
  stream.iterate(fewer / kSteps, r * kSteps, w * kSteps);
  for (const std::int64_t step : {4 * kSteps, std::int64_t{1}}) {
    ++stream.loop;
    stream.iterate((stream.reads - stream.read) / step, step, 0);
  }
  for (const std::int64_t step : {4 * kSteps, std::int64_t{1}}) {
    ++stream.loop;
    stream.iterate((stream.writes - stream.written) / step, 0, step);
  }
  // Every sum is used, so that no read can be left out.
  flat::Expr sum = flat::reg_read(0, stream.vector());
  for (int c = 1; c < kChains; ++c)
    sum = flat::binary(flat::BinaryOp::kAdd, sum, flat::reg_read(c, stream.vector()));
  const flat::Expr base =
      flat::binary(flat::BinaryOp::kMul, flat::var(0), flat::int_imm(stream.writes * stream.lanes));
  stream.stmts.push_back(flat::store(1, base, sum));
  flat::set_run(program, flat::parallel_for(0, flat::int_imm(0), flat::int_imm(target.threads),
                                            flat::seq(stream.stmts)));
  return program;
}

}  // namespace lathe::measure::cpu
