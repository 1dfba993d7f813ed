// Stores and loads of a register tile whose vectors run across the rows of the tensor in memory.
//
// A tile of p pixels by v vectors of channels, stored to a tensor with pixels innermost, is a
// sequence of stores
//   Y[ramp(x + 0, s, 16)] = r0;  Y[ramp(x + 1, s, 16)] = r1;  ...
// each of which would be 16 stores of one element. Transposed in registers, four of them are 16
// stores of four elements for eight shuffles, sixteen are 16 stores of sixteen for 64. Partial
// results come back the same way.
//
// That is much code for what runs once a tile, and a program has several copies of a tile: so the
// columns pass through memory, and one function for each shape moves them to rows or back.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <span>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {

using namespace flat;

namespace {

constexpr int kElementBytes = 4;
constexpr int kSixteen = 16;
constexpr int kQuad = 4;                   // elements in 128 bits, in which vector units shuffle
constexpr std::int64_t kMostBytes = 2048;  // on their way at once: 32 registers of 512 bits

llvm::Align column_align() { return llvm::Align(16); }  // the stack's own

// Whether e reads nothing that a store to `target` could change.
bool reads_nothing_of(const Program& program, const Expr& e, const Buffer& target) {
  const auto* n = std::get_if<Load>(&e->value);
  if (n != nullptr && may_alias(program.buffers[static_cast<std::size_t>(n->buffer)], target))
    return false;
  bool all = true;
  each_operand(*e, [&](const Expr& x) { all = all && reads_nothing_of(program, x, target); });
  return all;
}

// A statement that moves one column: a vector of a tile, each lane in a row of its own.
struct Column {
  const Store* store = nullptr;    // or:
  const RegWrite* load = nullptr;  // or:
  const Store* copy = nullptr;     // of a column to where its lanes are side by side
  const Ramp* place;
  int buffer;
  Type type;
  std::int64_t offset = 0;  // elements after the first of its run
  std::int64_t to = 0;      // of a copy: where it goes, after where the first goes
};

bool may_be_column(const Expr& index, const Expr& mask, Type type) {
  const auto* ramp = std::get_if<Ramp>(&index->value);
  return !mask && ramp && ramp->stride != 1 && ramp->stride != 0 && type.lanes % kQuad == 0 &&
         size_of(type.dtype) == kElementBytes;
}

std::optional<Column> column_of(const Program& program, const Stmt& s) {
  if (const auto* n = std::get_if<Store>(&s->value)) {
    const Type type = n->value->type;
    const auto* from = std::get_if<Load>(&n->value->value);
    if (from && n->index->type.lanes == 1 && !n->mask &&
        !may_alias(program.buffers[static_cast<std::size_t>(from->buffer)],
                   program.buffers[static_cast<std::size_t>(n->buffer)]) &&
        may_be_column(from->index, from->mask, type))
      return Column{nullptr, nullptr, n, &std::get<Ramp>(from->index->value), from->buffer, type};
    const auto& buffer = program.buffers[static_cast<std::size_t>(n->buffer)];
    if (!may_be_column(n->index, n->mask, type) || !reads_nothing_of(program, n->value, buffer))
      return {};
    return Column{n, nullptr, nullptr, &std::get<Ramp>(n->index->value), n->buffer, type};
  }
  const auto* n = std::get_if<RegWrite>(&s->value);
  const auto* load = n ? std::get_if<Load>(&n->value->value) : nullptr;
  if (!load || !may_be_column(load->index, load->mask, n->value->type)) return {};
  return Column{nullptr,       n, nullptr, &std::get<Ramp>(load->index->value), load->buffer,
                n->value->type};
}

// Whether the column can be moved in any order with those before it; remembers what it touches.
bool is_apart(const Column& column, std::set<std::int64_t>& touched) {
  if (column.load) return touched.insert(column.load->reg).second;
  if (column.copy) {
    for (int lane = 0; lane < column.type.lanes; ++lane)
      if (!touched.insert(column.to + lane).second) return false;
    return true;
  }
  for (int row = 0; row < column.type.lanes; ++row)
    if (!touched.insert(column.offset + column.place->stride * row).second) return false;
  return true;
}

// The columns that the first statements move, in order.
std::vector<Column> run_of(const Program& program, std::span<const Stmt> stmts) {
  std::vector<Column> run;
  std::set<std::int64_t> touched;
  for (const Stmt& s : stmts) {
    auto column = column_of(program, s);
    if (!column ||
        static_cast<std::int64_t>(run.size() + 1) * column->type.lanes * kElementBytes > kMostBytes)
      break;
    if (!run.empty()) {
      const Column& first = run.front();
      const auto offset = as_int(binary(BinaryOp::kSub, column->place->base, first.place->base));
      if (!offset || (column->store != nullptr) != (first.store != nullptr) ||
          (column->copy != nullptr) != (first.copy != nullptr) || column->buffer != first.buffer ||
          column->type != first.type || column->place->stride != first.place->stride)
        break;
      column->offset = *offset;
      if (column->copy) {
        const auto to = as_int(binary(BinaryOp::kSub, column->copy->index, first.copy->index));
        if (!to || column->copy->buffer != first.copy->buffer) break;
        column->to = *to;
      }
    }
    if (!is_apart(*column, touched)) break;
    run.push_back(*column);
  }
  return run;
}

}  // namespace

// How many statements from the first on move columns of one tile.
std::size_t FunctionEmitter::columns_from(std::span<const Stmt> stmts) const {
  return m_.machine.on_grid ? 0 : run_of(m_.program, stmts).size();
}

llvm::Value* FunctionEmitter::column_place(Value* columns, const ColumnBlock& block, int column) {
  return b_.CreateConstGEP1_64(
      b_.getInt8Ty(), columns,
      static_cast<std::uint64_t>(column) * kElementBytes * static_cast<std::uint64_t>(block.lanes));
}

// All columns are written to memory before the first block is moved, or all blocks moved before
// the first column is read: no register holds anything during the calls.
void FunctionEmitter::move_columns(std::span<const Stmt> stmts) {
  memo_.clear();
  std::vector<Column> run = run_of(m_.program, stmts);
  std::ranges::stable_sort(run, {}, &Column::offset);
  const Column& first = run.front();
  const bool stores = first.store != nullptr;
  llvm::Type* vector = m_.type(first.type);
  if (!columns_) {
    columns_ = entry_.CreateAlloca(llvm::ArrayType::get(entry_.getInt8Ty(), kMostBytes));
    llvm::cast<llvm::AllocaInst>(columns_)->setAlignment(llvm::Align(64));  // a line
    scopes_.define(columns_, 0);
  }
  ColumnBlock block{stores, 0, first.type.lanes, first.place->stride, vector->getScalarType()};
  const auto place = [&](std::size_t i) {
    return column_place(columns_, block, static_cast<int>(i));
  };
  for (std::size_t i = 0; stores && i < run.size(); ++i)
    b_.CreateAlignedStore(value(run[i].store->value), place(i), column_align());
  for (std::size_t begin = 0, end = 0; begin < run.size(); begin = end) {
    // further columns would meet other rows
    const auto limit = static_cast<std::size_t>(std::abs(block.stride));
    for (end = begin + 1; end < run.size() && end - begin < limit; ++end)
      if (run[end].offset != run[end - 1].offset + 1) break;
    block.count = static_cast<int>(end - begin);
    llvm::CallInst* call = b_.CreateCall(
        block_function(block), {place(begin), pointer(first.buffer, run[begin].place->base)});
    call->setCallingConv(llvm::CallingConv::PreserveMost);
  }
  std::vector<Streamed> streamed;
  for (std::size_t i = 0; !stores && i < run.size(); ++i) {
    Value* column = b_.CreateAlignedLoad(vector, place(i), column_align());
    scopes_.define(column, scopes_.current());
    if (run[i].load) {
      regs_[static_cast<std::size_t>(run[i].load->reg)] = column;
      continue;
    }
    const Store& copy = *run[i].copy;
    if (copy.streaming && streamed_bytes(copy.value->type) > 0) {
      if (!streamed.empty() && !lies_alike(*streamed[0].store, copy)) {
        stream(streamed);
        streamed.clear();
      }
      streamed.push_back({&copy, column});
      continue;
    }
    tag(b_.CreateAlignedStore(column, pointer(copy.buffer, copy.index), llvm::Align(kElementBytes)),
        copy.buffer);
  }
  if (!streamed.empty()) stream(streamed);
  if (stores) touch({first.buffer});
  if (first.copy) touch({first.copy->buffer});
}

// void (columns, first element of the first row)
llvm::Function* FunctionEmitter::block_function(const ColumnBlock& block) {
  const std::string name =
      fmt::format("lathe_{}_{}x{}_{}{}", block.stores ? "store" : "load", block.count, block.lanes,
                  block.element->isFloatTy() ? "f" : "i", block.stride);
  if (llvm::Function* known = m_.module->getFunction(name)) return known;
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  llvm::Function* function = m_.function(type, name);
  function->setCallingConv(llvm::CallingConv::PreserveMost);
  FunctionEmitter inner(m_, function);
  if (block.stores) inner.store_block(block, function->getArg(0), function->getArg(1));
  else inner.load_block(block, function->getArg(0), function->getArg(1));
  inner.finish();
  return function;
}

namespace {

std::int64_t byte_offset(std::int64_t stride, int row, int column) {
  return (stride * row + column) * kElementBytes;
}

}  // namespace

void FunctionEmitter::store_block(const ColumnBlock& block, Value* memory, Value* first) {
  auto* vector = llvm::FixedVectorType::get(block.element, static_cast<unsigned>(block.lanes));
  std::vector<Value*> columns;
  for (int i = 0; i < block.count; ++i)
    columns.push_back(b_.CreateAlignedLoad(vector, column_place(memory, block, i), column_align()));
  const auto store = [&](int row, int column, Value* piece) {
    Value* at = b_.CreateGEP(
        b_.getInt8Ty(), first,
        b_.getInt64(static_cast<std::uint64_t>(byte_offset(block.stride, row, column))));
    b_.CreateAlignedStore(piece, at, llvm::Align(kElementBytes));
  };
  int done = 0;
  for (; block.lanes == kSixteen && block.count - done >= kSixteen; done += kSixteen)
    transpose_sixteen(columns.data() + done, done, store);
  // A rest that is no multiple of four is stored with some columns before it again.
  while (done < block.count) {
    if (block.count < 2) {
      for (int row = 0; row < block.lanes; ++row)
        store(row, 0, b_.CreateExtractElement(columns[0], static_cast<std::uint64_t>(row)));
      break;
    }
    const int width = block.count >= kQuad ? kQuad : 2;
    const int column = std::min(done, block.count - width);
    store_group(columns.data() + column, width, block.lanes, column, store);
    done = column + width;
  }
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
void FunctionEmitter::transpose_sixteen(Value* const* columns, int column,
                                        const StorePiece& store) {
  const auto quads = [&](Value* x, Value* y,
                         bool odd) {  // the even or odd quads of x, then those of y
    std::vector<int> mask;
    for (int quad = odd; quad < 2 * kQuad; quad += 2)
      for (int i = 0; i < kQuad; ++i) mask.push_back(quad * kQuad + i);
    return b_.CreateShuffleVector(x, y, mask);
  };
  std::array<std::array<Value*, kQuad>, kQuad> groups;
  for (std::size_t g = 0; g < kQuad; ++g)
    groups[g] = transpose_quads(b_, columns + g * kQuad, kSixteen);
  for (std::size_t j = 0; j < kQuad; ++j)
    for (const bool odd : {false, true}) {
      // quads odd, odd + 2 of groups 0 and 1
      Value* left = quads(groups[0][j], groups[1][j], odd);
      Value* right = quads(groups[2][j], groups[3][j], odd);
      for (const bool second : {false, true}) {
        const int quad = odd + 2 * second;
        store(quad * kQuad + static_cast<int>(j), column, quads(left, right, second));
      }
    }
}

void FunctionEmitter::load_block(const ColumnBlock& block, Value* memory, Value* first) {
  const auto at = [&](int row, int column) {
    return b_.CreateGEP(
        b_.getInt8Ty(), first,
        b_.getInt64(static_cast<std::uint64_t>(byte_offset(block.stride, row, column))));
  };
  auto* vector = llvm::FixedVectorType::get(block.element, static_cast<unsigned>(block.lanes));
  auto* piece = llvm::FixedVectorType::get(block.element, kQuad);
  const auto keep = [&](int column, Value* x) {
    b_.CreateAlignedStore(x, column_place(memory, block, column), column_align());
  };
  const auto inserted = [&](Value* row, int quad, Value* x) {
    return block.lanes == kQuad
               ? x
               : b_.CreateInsertVector(vector, row, x,
                                       b_.getInt64(static_cast<std::uint64_t>(quad)));
  };
  int done = 0;
  for (; block.lanes == kSixteen && block.count - done >= kSixteen; done += kSixteen) {
    std::vector<Value*> rows;
    for (int row = 0; row < kSixteen; ++row)
      rows.push_back(b_.CreateAlignedLoad(vector, at(row, done), llvm::Align(kElementBytes)));
    transpose_sixteen(rows.data(), 0, [&](int row, int, Value* x) { keep(done + row, x); });
  }
  while (done < block.count && block.count >= kQuad) {
    const int column = std::min(done, block.count - kQuad);
    // quad q of rows[j] is row 4q + j, which transposing makes columns of
    std::array<Value*, kQuad> rows;
    for (int j = 0; j < kQuad; ++j) {
      Value* row = llvm::PoisonValue::get(vector);
      for (int quad = 0; quad < block.lanes; quad += kQuad)
        row =
            inserted(row, quad,
                     b_.CreateAlignedLoad(piece, at(quad + j, column), llvm::Align(kElementBytes)));
      rows[static_cast<std::size_t>(j)] = row;
    }
    const auto columns = transpose_quads(b_, rows.data(), block.lanes);
    for (int j = 0; j < kQuad; ++j) keep(column + j, columns[static_cast<std::size_t>(j)]);
    done = column + kQuad;
  }
  for (int column = 0; column < block.count && block.count < kQuad; ++column) {
    Value* x = llvm::PoisonValue::get(vector);
    for (int row = 0; row < block.lanes; ++row)
      x = b_.CreateInsertElement(
          x, b_.CreateAlignedLoad(block.element, at(row, column), llvm::Align(kElementBytes)),
          static_cast<std::uint64_t>(row));
    keep(column, x);
  }
}

}  // namespace lathe::codegen
