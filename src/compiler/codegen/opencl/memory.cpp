// Loads, stores, and where buffers are.
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/opencl/kernel.h"

namespace lathe::codegen::cl {
namespace {

using c_source::bare;
using flat::Expr;
using flat::Scope;

bool is_narrow(Dtype dtype) { return size_of(dtype) < 4; }

}  // namespace

// The index of each lane's element.
std::vector<std::string> OpenClKernel::element_indices(const Expr& index, int lanes) {
  std::vector<std::string> out;
  const auto* ramp = std::get_if<flat::Ramp>(&index->value);
  if (ramp == nullptr && index->type.lanes > 1) {
    const std::string vector = named(index);
    for (int l = 0; l < lanes; ++l) out.push_back(lane(vector, index->type, l));
    return out;
  }
  const std::string base = named(ramp != nullptr ? ramp->base : index);
  const std::int64_t stride = ramp != nullptr ? ramp->stride : 1;
  for (int l = 0; l < lanes; ++l)
    out.push_back(
        l == 0 ? base
               : fmt::format("{} {} {}L", base, stride < 0 ? "-" : "+", std::abs(stride) * l));
  return out;
}

std::string OpenClKernel::load(const flat::Load& n, const Expr& e) {
  buffers_used_[static_cast<std::size_t>(n.buffer)] = 1;
  const std::string& name = buffer_name(n.buffer);
  const auto [dtype, lanes] = e->type;
  const bool is_bool = dtype == Dtype::kBool;
  const flat::Type mask_type{Dtype::kBool, lanes};
  if (lanes == 1) {
    const std::string test = is_bool ? " != 0" : "";
    std::string element = fmt::format("{}[{}]{}", name, bare(value(n.index)), test);
    if (!n.mask) return is_bool ? "(" + element + ")" : element;
    element = fmt::format("({} ? {} : 0)", value(n.mask), element);
    return is_narrow(dtype) && !is_bool ? fmt::format("(({}){})", type_name(e->type), element)
                                        : element;
  }
  if (!n.mask && n.index->type.lanes == 1) {
    const std::string whole = fmt::format("vload{}(0, {} + {})", lanes, name, value(n.index));
    return is_bool ? fmt::format("convert_int{0}({1} != (uchar{0})(0))", lanes, whole) : whole;
  }
  const std::string mask = n.mask ? named(n.mask) : "";
  std::vector<std::string> elements;
  const auto indices = element_indices(n.index, lanes);
  for (int l = 0; l < lanes; ++l) {
    std::string element = fmt::format("{}[{}]", name, indices[static_cast<std::size_t>(l)]);
    if (is_bool) element = fmt::format("-({} != 0)", element);
    if (n.mask) element = fmt::format("({} ? {} : 0)", lane(mask, mask_type, l), element);
    elements.push_back(n.mask && is_narrow(dtype) && !is_bool
                           ? fmt::format("({}){}", type_name({dtype, 1}), element)
                           : element);
  }
  return fmt::format("(({})({}))", type_name(e->type), fmt::join(elements, ", "));
}

void OpenClKernel::store(const flat::Store& n) {
  buffers_used_[static_cast<std::size_t>(n.buffer)] = 1;
  const std::string& name = buffer_name(n.buffer);
  const auto [dtype, lanes] = n.value->type;
  const bool is_bool = dtype == Dtype::kBool;
  if (lanes == 1) {
    const std::string index = value(n.index), stored = whole(n.value);
    const std::string text = fmt::format("{}[{}] = {};", name, bare(index), bare(stored));
    return line(n.mask ? fmt::format("if ({}) {}", bare(value(n.mask)), text) : text);
  }
  if (!n.mask && n.index->type.lanes == 1) {
    const std::string index = value(n.index), stored = whole(n.value);
    const std::string bytes =
        is_bool ? fmt::format("convert_uchar{}({} & 1)", lanes, stored) : stored;
    return line(fmt::format("vstore{}({}, 0, {} + {});", lanes, bare(bytes), name, index));
  }
  const std::string stored = named(n.value), mask = n.mask ? named(n.mask) : "";
  const auto indices = element_indices(n.index, lanes);
  for (int l = 0; l < lanes; ++l) {
    const std::string text = fmt::format("{}[{}] = {};", name, indices[static_cast<std::size_t>(l)],
                                         lane(stored, n.value->type, l));
    line(n.mask ? fmt::format("if {} {}", lane(mask, {Dtype::kBool, lanes}, l), text) : text);
  }
}

void OpenClKernel::barrier() { line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"); }

// The parameters, and the arguments for them.
std::string OpenClKernel::parameters() {
  std::vector<std::string> out;
  arguments_.clear();
  bool constants = false, scratch = false;
  for (std::size_t b = 0; b < buffers_used_.size(); ++b) {
    if (buffers_used_[b] == 0) continue;
    const flat::Buffer& buffer = program_.buffers[b];
    const bool input = buffer.scope == Scope::kInput;
    constants |= buffer.scope == Scope::kConstant;
    scratch |= buffer.scope == Scope::kGlobal ||
               (buffer.scope == Scope::kThread && memory_.is_private[b] == 0);
    if (!input && buffer.scope != Scope::kOutput) continue;
    out.push_back(fmt::format("__global {}{}* restrict {}", input ? "const " : "",
                              storage_name(buffer.dtype), buffer_name(static_cast<int>(b))));
    arguments_.push_back(
        {input ? opencl::Area::kInput : opencl::Area::kOutput, static_cast<int>(buffer.slot)});
  }
  const auto area = [&](bool used, const char* name, opencl::Area which) {
    if (!used) return;
    out.push_back(fmt::format("__global uchar* {}", name));
    arguments_.push_back({which, 0});
  };
  area(constants, "lathe_constants", opencl::Area::kConstant);
  area(scratch, "lathe_scratch", opencl::Area::kScratch);
  return fmt::format("{}", fmt::join(out, ", "));
}

// A line that defines the buffer's name; none where it is a parameter or in the code.
std::string OpenClKernel::pointer_of(int id) const {
  const auto b = static_cast<std::size_t>(id);
  const flat::Buffer& buffer = program_.buffers[b];
  const std::string element = storage_name(buffer.dtype);
  const std::string& name = buffer_name(id);
  const auto in_area = [&](const char* area, const std::string& offset) {
    return fmt::format("  __global {0}* {1} = (__global {0}*)({2} + {3});\n", element, name, area,
                       offset);
  };
  switch (buffer.scope) {
    case Scope::kInput:
    case Scope::kOutput:
    case Scope::kLiteral: return "";
    case Scope::kConstant: return in_area("lathe_constants", std::to_string(buffer.slot));
    case Scope::kGlobal: return in_area("lathe_scratch", std::to_string(buffer.slot));
    case Scope::kShared: throw c_source::Refused{"memory that a region shares has no form here"};
    case Scope::kGroup:
      return fmt::format("  __local {0}* {1} = (__local {0}*)(lathe_group + {2});\n", element, name,
                         buffer.slot);
    case Scope::kThread: break;
  }
  if (memory_.is_private[b] != 0) return fmt::format("  {} {}[{}];\n", element, name, buffer.size);
  const std::string point =
      "((get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + "
      "get_global_id(0))";
  return in_area("lathe_scratch",
                 fmt::format("{}L + {} * {}L", memory_.offset[b], point, thread_bytes_of(buffer)));
}

// Buffers of the group that are needed at different times may share their place: one array holds
// all of them.
std::string OpenClKernel::group_memory() const {
  const std::int64_t bytes = flat::group_bytes_of(program_, kernel_);
  if (bytes == 0) return "";
  return fmt::format("  __local uchar lathe_group[{}] __attribute__((aligned(64)));\n", bytes);
}

std::string OpenClKernel::pointers() {
  std::string out = group_memory();
  for (std::size_t b = 0; b < buffers_used_.size(); ++b)
    if (buffers_used_[b] != 0) out += pointer_of(static_cast<int>(b));
  return out;
}

}  // namespace lathe::codegen::cl
