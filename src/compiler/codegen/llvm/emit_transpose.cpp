// Stores of a register tile whose vectors run across the rows of the tensor in memory.
//
// A tile of p pixels by v vectors of channels, stored to a tensor with pixels innermost, is a
// sequence of stores
//   Y[ramp(x + 0, s, 16)] = r0;  Y[ramp(x + 1, s, 16)] = r1;  ...
// each of which would be 16 stores of one element. Transposed in registers, four of them are 16
// stores of four elements for eight shuffles, sixteen are 16 stores of sixteen for 64.
#include <array>
#include <cstdlib>
#include <span>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr int kElementBytes = 4;
constexpr int kQuad = 4;  // elements in 128 bits, in which vector units shuffle

// Whether e reads nothing that a store to `target` could change.
bool reads_only_constants(const Program& program, const Expr& e, const Buffer& target) {
  if (const auto* n = std::get_if<Load>(&e->value)) {
    const Scope scope = program.buffers[static_cast<std::size_t>(n->buffer)].scope;
    const bool fixed = scope == Scope::kInput || scope == Scope::kLiteral ||
                       (scope == Scope::kConstant && target.scope != Scope::kConstant);
    if (!fixed) return false;
  }
  bool all = true;
  each_operand(*e, [&](const Expr& x) { all = all && reads_only_constants(program, x, target); });
  return all;
}

const Ramp* strided_store(const Program& program, const Stmt& s) {
  const auto* n = std::get_if<Store>(&s->value);
  if (!n || n->mask || size_of(n->value->type.dtype) != kElementBytes) return nullptr;
  const auto* ramp = std::get_if<Ramp>(&n->index->value);
  const int lanes = n->value->type.lanes;
  if (!ramp || ramp->stride == 1 || lanes % kQuad != 0) return nullptr;
  return reads_only_constants(program, n->value,
                              program.buffers[static_cast<std::size_t>(n->buffer)])
             ? ramp
             : nullptr;
}

}  // namespace

// How many statements from the first on store neighbouring columns.
std::size_t FunctionEmitter::columns_from(std::span<const Stmt> stmts) const {
  const Ramp* first = strided_store(m_.program, stmts[0]);
  if (!first) return 0;
  const auto& start = std::get<Store>(stmts[0]->value);
  std::size_t count = 1;
  const auto limit =
      static_cast<std::size_t>(std::abs(first->stride));  // then columns would meet other rows
  for (; count < stmts.size() && count < limit; ++count) {
    const Ramp* ramp = strided_store(m_.program, stmts[count]);
    if (!ramp || ramp->stride != first->stride) break;
    const auto& n = std::get<Store>(stmts[count]->value);
    if (n.buffer != start.buffer || n.value->type != start.value->type) break;
    if (as_int(binary(BinaryOp::kSub, ramp->base, first->base)) != static_cast<std::int64_t>(count))
      break;
  }
  return count;
}

void FunctionEmitter::store_columns(std::span<const Stmt> stmts) {
  memo_.clear();
  const auto& first = std::get<Store>(stmts[0]->value);
  const Ramp& line = std::get<Ramp>(first.index->value);
  std::vector<Value*> columns;
  for (const Stmt& s : stmts) columns.push_back(value(std::get<Store>(s->value).value));
  const auto store = [&](int row, int column, Value* piece) {
    const Expr at = binary(BinaryOp::kAdd, line.base, int_imm(line.stride * row + column));
    tag(b_.CreateAlignedStore(piece, pointer(first.buffer, at), llvm::Align(kElementBytes)),
        first.buffer);
  };
  const int lanes = first.value->type.lanes, count = static_cast<int>(columns.size());
  int done = 0;
  for (; lanes == 16 && count - done >= 16; done += 16)
    store_sixteen(columns.data() + done, done, store);
  // A rest that is no multiple of four is stored with some columns before it again.
  while (done < count) {
    if (count < 2) {
      for (int row = 0; row < lanes; ++row)
        store(row, 0, b_.CreateExtractElement(columns[0], static_cast<std::uint64_t>(row)));
      break;
    }
    const int width = count >= kQuad ? kQuad : 2;
    const int column = std::min(done, count - width);
    store_group(columns.data() + column, width, lanes, column, store);
    done = column + width;
  }
  touch({first.buffer});
}

namespace {

// Of the 128-bit quads of a and b in turn: the elements that pick[] names, 0-3 of a and 4-7 of b.
llvm::Value* by_quads(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, int lanes,
                      const int (&pick)[kQuad]) {
  std::vector<int> mask;
  for (int quad = 0; quad < lanes; quad += kQuad)
    for (const int p : pick) mask.push_back(p < kQuad ? quad + p : lanes + quad + p - kQuad);
  return b.CreateShuffleVector(x, y, mask);
}

// Four columns; in the result, quad q of element j is row 4q + j.
std::array<llvm::Value*, kQuad> transpose_quads(llvm::IRBuilder<>& b, llvm::Value* const* columns,
                                                int lanes) {
  constexpr int kLow[] = {0, 4, 1, 5}, kHigh[] = {2, 6, 3, 7}, kLowPair[] = {0, 1, 4, 5},
                kHighPair[] = {2, 3, 6, 7};
  llvm::Value* ab_low = by_quads(b, columns[0], columns[1], lanes, kLow);
  llvm::Value* ab_high = by_quads(b, columns[0], columns[1], lanes, kHigh);
  llvm::Value* cd_low = by_quads(b, columns[2], columns[3], lanes, kLow);
  llvm::Value* cd_high = by_quads(b, columns[2], columns[3], lanes, kHigh);
  return {by_quads(b, ab_low, cd_low, lanes, kLowPair),
          by_quads(b, ab_low, cd_low, lanes, kHighPair),
          by_quads(b, ab_high, cd_high, lanes, kLowPair),
          by_quads(b, ab_high, cd_high, lanes, kHighPair)};
}

}  // namespace

void FunctionEmitter::store_group(Value* const* columns, int width, int lanes, int column,
                                  const StorePiece& store) {
  if (width == kQuad) {
    const auto rows = transpose_quads(b_, columns, lanes);
    for (int row = 0; row < lanes; ++row) {
      const int quad = row / kQuad * kQuad;
      store(row, column,
            b_.CreateShuffleVector(rows[static_cast<std::size_t>(row % kQuad)],
                                   {quad, quad + 1, quad + 2, quad + 3}));
    }
    return;
  }
  for (int row = 0; row < lanes; ++row)
    store(row, column, b_.CreateShuffleVector(columns[0], columns[1], {row, lanes + row}));
}

// Sixteen columns of sixteen: after the quads, two exchanges of whole quads.
void FunctionEmitter::store_sixteen(Value* const* columns, int column, const StorePiece& store) {
  constexpr int kLanes = 16;
  const auto quads = [&](Value* x, Value* y,
                         bool odd) {  // the even or odd quads of x, then those of y
    std::vector<int> mask;
    for (int quad = odd; quad < 2 * kQuad; quad += 2)
      for (int i = 0; i < kQuad; ++i) mask.push_back(quad * kQuad + i);
    return b_.CreateShuffleVector(x, y, mask);
  };
  std::array<std::array<Value*, kQuad>, kQuad> groups;
  for (std::size_t g = 0; g < kQuad; ++g)
    groups[g] = transpose_quads(b_, columns + g * kQuad, kLanes);
  for (std::size_t j = 0; j < kQuad; ++j)
    for (const bool odd : {false, true}) {
      Value* left = quads(groups[0][j], groups[1][j], odd);  // quads odd, odd + 2 of groups 0 and 1
      Value* right = quads(groups[2][j], groups[3][j], odd);
      for (const bool second : {false, true}) {
        const int quad = odd + 2 * second;
        store(quad * kQuad + static_cast<int>(j), column, quads(left, right, second));
      }
    }
}

}  // namespace lathe::codegen
