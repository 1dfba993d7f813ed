#include "compiler/codegen/opencl/kernel.h"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::codegen::cl {
namespace {

using c_source::bare;
using flat::Expr;

// False for addresses: no sum of indices leaves 64 bits, unless a number in it is far too large.
bool may_wrap(const Expr& e, const flat::Binary& n) {
  constexpr std::int64_t kLarge = 1LL << 32;
  const auto large = [](const Expr& x) {
    const auto value = flat::splat_int(x);
    return value && (*value > kLarge || *value < -kLarge);
  };
  return e->type.dtype != Dtype::kI64 || (e->contents & flat::contents::kData) != 0 || large(n.a) ||
         large(n.b);
}

}  // namespace

OpenClKernel::OpenClKernel(const flat::Program& program, const flat::Kernel& kernel,
                           Helpers& helpers)
    : KernelWriter(program, kernel, {}),
      helpers_(helpers),
      memory_(thread_memory(program, kernel)),
      buffers_used_(program.buffers.size()) {}

std::string OpenClKernel::unary(const flat::Unary& n, const Expr& e, const std::string& x) {
  return unary_text(n.op, e->type, x);
}

std::string OpenClKernel::binary(const flat::Binary& n, const Expr& e, const std::string& a,
                                 const std::string& b) {
  return binary_text(n.op, n.a->type, a, b, may_wrap(e, n), helpers_);
}

std::string OpenClKernel::combine(flat::BinaryOp op, flat::Type type, const std::string& a,
                                  const std::string& b) {
  return binary_text(op, type, a, b, true, helpers_);
}

std::string OpenClKernel::fma(const Expr& e, const std::string& a, const std::string& b,
                              const std::string& c) {
  if (is_float(e->type.dtype)) return fmt::format("fma({}, {}, {})", bare(a), bare(b), bare(c));
  const std::string product = combine(flat::BinaryOp::kMul, e->type, a, b);
  return combine(flat::BinaryOp::kAdd, e->type, product, c);
}

std::string OpenClKernel::select(const flat::Select& n, const Expr& e, const std::string& condition,
                                 const std::string& then, const std::string& otherwise) {
  return select_text(n.condition->type, e->type, condition, then, otherwise);
}

std::string OpenClKernel::cast(const flat::Cast& n, const Expr& e) {
  return cast_text(n.x->type, e->type, named(n.x));
}

std::string OpenClKernel::bitcast(const flat::Bitcast& n, const Expr& e, const std::string& x) {
  return bitcast_text(n.x->type, e->type, x);
}

std::string OpenClKernel::ramp(const flat::Ramp& n, const Expr& e, const std::string& base) {
  std::vector<std::string> steps;
  const flat::Type one{e->type.dtype, 1};
  for (int l = 0; l < e->type.lanes; ++l) {
    const auto step = static_cast<std::uint64_t>(n.stride) * static_cast<std::uint64_t>(l);
    steps.push_back(fmt::format("{}", flat::wrap(static_cast<std::int64_t>(step), one.dtype)));
  }
  const std::string offsets = fmt::format("(({})({}))", type_name(e->type), fmt::join(steps, ", "));
  return binary_text(flat::BinaryOp::kAdd, e->type, splat_text(e->type, base), offsets,
                     e->type.dtype != Dtype::kI64, helpers_);
}

std::string OpenClKernel::broadcast(const Expr& e, const std::string& x) {
  return splat_text(e->type, x);
}

std::string OpenClKernel::lane(const std::string& vector, flat::Type type, int number) const {
  const std::string text = fmt::format("{}.s{:x}", vector, number);
  return type.dtype == Dtype::kBool ? fmt::format("(-{})", text) : text;
}

std::string OpenClKernel::half(const std::string& vector, int which) const {
  return fmt::format("{}.{}", vector, which == 0 ? "lo" : "hi");
}

std::string OpenClKernel::registers() const {
  std::string out;
  const std::vector<char> used = regs_used();
  for (std::size_t r = 0; r < used.size(); ++r)
    if (used[r] != 0) out += fmt::format("  {} r{};\n", type_name(program_.regs[r]), r);
  return out;
}

std::string OpenClKernel::indices() const {
  std::string out;
  const auto add = [&](const char* function, const std::array<flat::Axis, 3>& axes) {
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d].var >= 0)
        out += fmt::format("  const long {} = {}({});\n", var_name(axes[d].var), function, d);
  };
  add("get_group_id", kernel_.grid.groups);
  add("get_local_id", kernel_.grid.items);
  return out;
}

std::string OpenClKernel::text() {
  const std::string body = statements();
  const auto& items = kernel_.grid.items;
  const std::string declared = pointers();
  return fmt::format(
      "__kernel __attribute__((reqd_work_group_size({}, {}, {})))\nvoid lathe_{}({}) "
      "{{\n{}{}{}{}}}\n",
      items[0].count, items[1].count, items[2].count, kernel_.name, parameters(), indices(),
      declared, registers(), body);
}

opencl::Launch OpenClKernel::launch() {
  opencl::Launch out{.kernel = "lathe_" + kernel_.name, .arguments = arguments_};
  for (std::size_t d = 0; d < 3; ++d) {
    out.groups[d] = kernel_.grid.groups[d].count;
    out.items[d] = kernel_.grid.items[d].count;
  }
  return out;
}

}  // namespace lathe::codegen::cl
