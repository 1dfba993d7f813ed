// Nests as text:
//   C: output f32[4, 8]
//   for parallel io < 2, tail mask:
//     for ii < 2:
//       C: C[i, j] sum= A[i, k] * B[k, j]  where i = io*2 + ii < 4; ...
#include <functional>

#include "compiler/ir/expr/print.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::ir {
namespace {

class NestPrinter {
 public:
  NestPrinter(const Nest& nest, std::function<std::string(SizeId)> size)
      : nest_(nest), size_(std::move(size)) {
    for (const Buffer& buffer : nest.buffers) buffer_names_.push_back(buffer.name);
  }

  std::string run() {
    for (std::size_t b = 0; b < nest_.buffers.size(); ++b)
      if (is_used(static_cast<BufferId>(b))) buffer(nest_.buffers[b]);
    items(nest_.root, 0);
    return std::move(out_);
  }

 private:
  bool is_used(BufferId id) const {
    const Scope scope = nest_.buffers[static_cast<std::size_t>(id)].scope;
    if (scope == Scope::kInput || scope == Scope::kOutput) return true;
    for (const BlockId b : nest_.blocks_in_order()) {
      const Block& block = nest_.blocks[static_cast<std::size_t>(b)];
      if (block.writes == id) return true;
      for (const int read : tensors_of(block.body))
        if (read == id) return true;
    }
    return false;
  }

  void buffer(const Buffer& b) {
    out_ += fmt::format("{}: {}{} {}[", b.name, b.constant ? "const " : "", name_of(b.scope),
                        name_of(b.dtype));
    for (std::size_t d = 0; d < b.shape.size(); ++d) out_ += (d ? ", " : "") + size_(b.shape[d]);
    out_ += "]";
    if (b.cache_of >= 0) out_ += " of " + nest_.buffers[b.cache_of].name;
    if (b.at != kRoot) out_ += " at " + nest_.loops[b.at].name;
    if (!b.layout.empty()) out_ += " layout " + layout(b.layout);
    if (b.pad_stride != 0) out_ += fmt::format(" pad_stride {}", b.pad_stride);
    if (b.stages > 1) out_ += fmt::format(", stages {}", b.stages);
    if (b.streaming) out_ += ", streaming";
    if (!b.literal.empty()) out_ += fmt::format(" = {{{}}}", fmt::join(b.literal, ", "));
    out_ += "\n";
  }

  std::string layout(const std::vector<LayoutDigit>& digits) const {
    std::string out = "(";
    for (std::size_t i = 0; i < digits.size(); ++i)
      out += fmt::format("{}{}/{}", i ? ", " : "", digits[i].dim, size_(digits[i].weight));
    return out + ")";
  }

  void items(const std::vector<Item>& list, int depth) {
    for (const Item& item : list) {
      out_.append(static_cast<std::size_t>(depth) * 2, ' ');
      if (item.kind == Item::Kind::kBlock) {
        block(nest_.blocks[static_cast<std::size_t>(item.id)]);
        continue;
      }
      const Loop& loop = nest_.loops[static_cast<std::size_t>(item.id)];
      loop_line(loop);
      items(loop.body, depth + 1);
    }
  }

  void loop_line(const Loop& loop) {
    out_ += "for ";
    if (loop.kind != LoopKind::kSerial) out_ += std::string(name_of(loop.kind)) + " ";
    out_ += loop.name + " < " + size_(loop.extent);
    if (loop.tail != Tail::kPeel) out_ += std::string(", tail ") + name_of(loop.tail);
    for (const Prefetch& p : loop.prefetch)
      out_ += fmt::format(", prefetch {} {}", nest_.buffers[p.buffer].name, size_(p.bytes));
    if (loop.intrinsic != IntrinsicId::kNone)
      out_ += fmt::format(", by {}", name_of(loop.intrinsic));
    out_ += ":\n";
  }

  void block(const Block& b) {
    std::vector<std::string> iters;
    for (const BlockIter& iter : b.iters) iters.push_back(iter.name);
    out_ += b.name + ": " + nest_.buffers[b.writes].name + "[";
    for (std::size_t d = 0; d < b.index.size(); ++d)
      out_ += (d ? ", " : "") + print(b.index[d], iters);
    out_ += b.reduce == ReduceOp::kNone ? "] = " : fmt::format("] {}= ", name_of(b.reduce));
    out_ += print(b.body, ExprNames{buffer_names_, iters});
    for (std::size_t i = 0; i < b.iters.size(); ++i)
      out_ += (i ? "; " : "  where ") + iterator(b.iters[i]);
    out_ += "\n";
  }

  std::string iterator(const BlockIter& iter) const {
    std::string sum;
    for (const LoopDigit& digit : iter.digits)
      sum += (sum.empty() ? "" : " + ") + this->digit(digit);
    if (iter.offset != SizeId::kNone) sum += (sum.empty() ? "" : " + ") + size_(iter.offset);
    if (sum.empty()) sum = "0";
    if (iter.guard) return fmt::format("{} < {}", sum, size_(iter.extent));
    return fmt::format("{} = {} < {}", iter.name, sum, size_(iter.extent));
  }

  std::string digit(const LoopDigit& d) const {
    std::string out = nest_.loops[d.loop].name;
    if (d.div != SizeId::kNone) out += "/" + size_(d.div);
    if (d.mod != SizeId::kNone) out += "%" + size_(d.mod);
    if (const std::string weight = size_(d.weight); weight != "1")
      out = (out.find_first_of("/%") == std::string::npos ? out : "(" + out + ")") + "*" + weight;
    return out;
  }

  const Nest& nest_;
  std::function<std::string(SizeId)> size_;
  std::vector<std::string> buffer_names_;
  std::string out_;
};

}  // namespace

std::string print(const Nest& nest) {
  return NestPrinter(nest, [&](SizeId id) { return nest.sizes.text(id); }).run();
}

std::string print(const SizedNest& nest) {
  return NestPrinter(
             *nest.nest,
             [&](SizeId id) { return id == SizeId::kNone ? "none" : std::to_string(nest[id]); })
      .run();
}

}  // namespace lathe::ir
