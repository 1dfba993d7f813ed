#include "tuner/measure/grid_kernels.h"

#include <algorithm>

namespace lathe::measure {
namespace {

constexpr std::int64_t kItems = 64;           // of a group
constexpr std::int64_t kGroupsOfUnit = 16;    // that a compute unit gets, so that all are busy
constexpr std::int64_t kIterations = 20'000;  // a few milliseconds
constexpr int kSums = 8;                      // under way in an item
constexpr int kVectors = 8;                   // that an item moves at a time

// A program of one kernel from "x" to "y" on a grid of so many groups; variable 0 is the group, 1
// the item.
flat::Program on_grid(std::int64_t groups, std::int64_t x, std::int64_t y) {
  flat::Program program;
  program.inputs = {tensor::plain_border("x", Dtype::kF32, {x})};
  program.outputs = {tensor::plain_border("y", Dtype::kF32, {y})};
  program.buffers = {
      {.name = "x", .dtype = Dtype::kF32, .size = x, .scope = flat::Scope::kInput, .slot = 0},
      {.name = "y", .dtype = Dtype::kF32, .size = y, .scope = flat::Scope::kOutput, .slot = 0}};
  program.vars = {"group", "item", "i"};
  program.kernels.resize(1);
  program.kernels[0].name = "run";
  program.kernels[0].grid.groups[0] = {groups, 0};
  program.kernels[0].grid.items[0] = {kItems, 1};
  program.run = {0};
  return program;
}

flat::Expr scaled(flat::Expr e, std::int64_t by) {
  return flat::binary(flat::BinaryOp::kMul, std::move(e), flat::int_imm(by));
}
flat::Expr sum_of(flat::Expr a, flat::Expr b) {
  return flat::binary(flat::BinaryOp::kAdd, std::move(a), std::move(b));
}
flat::Expr item_number() { return sum_of(scaled(flat::var(0), kItems), flat::var(1)); }

std::int64_t groups_of(const Target& target) { return kGroupsOfUnit * target.grids()->units; }

}  // namespace

PeakKernel grid_peak_kernel(const Target& target) {
  const int width = target.grids()->lanes;
  const flat::Type vector{Dtype::kF32, width}, scalar{Dtype::kF32, 1};
  const std::int64_t groups = groups_of(target), items = groups * kItems;
  PeakKernel kernel{on_grid(groups, 16, items * width), 0};
  flat::Program& program = kernel.program;
  program.regs.assign(kSums + 1, vector);
  std::vector<flat::Stmt> stmts, body;
  for (int c = 0; c < kSums; ++c) {
    stmts.push_back(flat::reg_write(c, flat::imm(c + 1, vector)));
    body.push_back(
        flat::reg_write(c, flat::fma(flat::reg_read(c, vector), flat::reg_read(kSums, vector),
                                     flat::reg_read(kSums, vector))));
  }
  stmts.push_back(
      flat::reg_write(kSums, flat::broadcast(flat::load(0, flat::int_imm(0), scalar), width)));
  stmts.push_back(flat::for_loop(2, flat::int_imm(0), flat::int_imm(kIterations), flat::seq(body)));
  flat::Expr sum = flat::reg_read(0, vector);
  for (int c = 1; c < kSums; ++c) sum = sum_of(sum, flat::reg_read(c, vector));
  stmts.push_back(flat::store(1, scaled(item_number(), width), sum));
  program.kernels[0].body = flat::seq(stmts);
  kernel.flops = 2.0 * width * kSums * static_cast<double>(kIterations * items);
  return kernel;
}

flat::Program grid_stream_kernel(const Target& target, std::int64_t read_bytes,
                                 std::int64_t written_bytes) {
  const int width = target.grids()->lanes;
  const flat::Type vector{Dtype::kF32, width};
  const std::int64_t together = kItems * width;  // elements that a group's items move at once
  const auto steps_of = [&](std::int64_t bytes) {
    const std::int64_t step = std::int64_t{size_of(Dtype::kF32)} * together * kVectors;
    return std::max<std::int64_t>(1, (bytes + step - 1) / step);
  };
  // A group reads and writes its share, neighbours by neighbouring items.
  const std::int64_t reads = steps_of(read_bytes), writes = steps_of(written_bytes);
  const std::int64_t groups = std::max(reads, writes);
  flat::Program program =
      on_grid(groups, reads * kVectors * together, writes * kVectors * together);
  program.regs.assign(1, vector);
  const auto index = [&](std::int64_t k) {
    return sum_of(scaled(flat::var(0), kVectors * together),
                  sum_of(scaled(flat::var(1), width), flat::int_imm(k * together)));
  };
  const auto only = [&](std::int64_t count, std::vector<flat::Stmt> stmts) {
    flat::Stmt all = flat::seq(std::move(stmts));
    if (count == groups) return all;
    return flat::if_then(flat::binary(flat::BinaryOp::kLt, flat::var(0), flat::int_imm(count)),
                         std::move(all));
  };
  std::vector<flat::Stmt> read, write;
  for (int k = 0; k < kVectors; ++k) {
    read.push_back(
        flat::reg_write(0, sum_of(flat::reg_read(0, vector), flat::load(0, index(k), vector))));
    write.push_back(flat::store(1, index(k), flat::reg_read(0, vector)));
  }
  std::vector<flat::Stmt> body = {flat::reg_write(0, flat::imm(0, vector)),
                                  only(reads, std::move(read))};
  // Sums of groups that write nothing decide something, so that no read can be left out.
  if (writes < groups) {
    const flat::Expr first = flat::reduce(flat::BinaryOp::kAdd, flat::reg_read(0, vector));
    body.push_back(
        flat::if_then(flat::binary(flat::BinaryOp::kLt, first, flat::float_imm(-1e30, Dtype::kF32)),
                      flat::store(1, flat::int_imm(0), flat::reg_read(0, vector))));
  }
  body.push_back(only(writes, std::move(write)));
  program.kernels[0].body = flat::seq(std::move(body));
  return program;
}

}  // namespace lathe::measure
