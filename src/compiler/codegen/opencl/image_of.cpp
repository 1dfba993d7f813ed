#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/c_source/immediates.h"
#include "compiler/codegen/opencl/codegen.h"
#include "compiler/codegen/opencl/kernel.h"
#include "compiler/ir/flat/rewrite.h"

namespace lathe::codegen {
namespace {

using cl::OpenClKernel;

constexpr const char* kOptions = "-cl-std=CL1.2";

// Which types occur in a program, that devices may lack.
struct Types {
  bool f64 = false, f16 = false;  // f16: conversions; buffers and bits need nothing

  void see(const flat::Expr& e) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    f64 |= e->type.dtype == Dtype::kF64;
    if (const auto* cast = std::get_if<flat::Cast>(&e->value))
      f16 |= e->type.dtype == Dtype::kF16 || cast->x->type.dtype == Dtype::kF16;
    flat::each_operand(*e, [&](const flat::Expr& x) { see(x); });
  }
  void see(const flat::Stmt& s) {
    flat::each_part(
        *s, [&](const flat::Expr& e) { see(e); }, [&](const flat::Stmt& inner) { see(inner); });
  }

 private:
  std::set<const flat::Node*> seen_;
};

Types types_of(const flat::Program& program) {
  Types types;
  for (const flat::Kernel& kernel : program.kernels) types.see(kernel.body);
  return types;
}

std::string literal_text(const flat::Buffer& buffer, const std::string& name) {
  const std::string element = cl::storage_name(buffer.dtype);
  std::vector<std::string> values;
  const auto size = static_cast<std::size_t>(size_of(buffer.dtype));
  for (std::size_t at = 0; at < buffer.literal.bytes.size(); at += size) {
    const double value = load_element(buffer.dtype, buffer.literal.bytes.data() + at);
    values.push_back(is_float(buffer.dtype) ? c_source::real(value, buffer.dtype)
                                            : c_source::integer(static_cast<std::int64_t>(value),
                                                                buffer.dtype, element));
  }
  return fmt::format("__constant {} {}[{}] = {{{}}};\n", element, name, values.size(),
                     fmt::join(values, ", "));
}

std::int64_t bytes_of_border(const flat::Border& border) {
  return border.size * size_of(border.dtype);
}

// Literals have the names that every kernel's writer gives them: buffers come first.
std::string literals_text(const flat::Program& program) {
  std::string out;
  c_source::Names names;
  for (const flat::Buffer& buffer : program.buffers) {
    const std::string name = names.fresh(buffer.name);
    if (buffer.scope == flat::Scope::kLiteral) out += literal_text(buffer, name);
  }
  return out.empty() ? out : out + "\n";
}

Status check_group_memory(const flat::Program& program, const OpenClTarget& target) {
  for (const flat::Kernel& kernel : program.kernels)
    if (const std::int64_t bytes = flat::group_bytes_of(program, kernel);
        bytes > target.local_bytes)
      return fail(ErrorKind::kUnsupported,
                  "the groups of kernel {} need {} bytes of local memory, and {} has {}; keep less "
                  "of what is staged",
                  kernel.name, bytes, target.text(), target.local_bytes);
  return {};
}

void add_header(opencl::Image& image, const flat::Program& program, const cl::Helpers& helpers) {
  std::string head = "#pragma OPENCL FP_CONTRACT OFF\n";
  for (const std::string& extension : image.extensions)
    head += fmt::format("#pragma OPENCL EXTENSION {} : enable\n", extension);
  head += "\n" + literals_text(program);
  for (const auto& [name, text] : helpers) head += text;
  if (!helpers.empty()) head += "\n";
  image.source = head + image.source;
}

}  // namespace

Result<opencl::Image> opencl_image(const flat::Program& program, const OpenClTarget& target) try {
  constexpr std::int64_t kMostScratch = 1LL << 32;
  const Types types = types_of(program);
  if (types.f64 && !target.fp64)
    return fail(ErrorKind::kUnsupported, "the program computes in f64, which {} has not",
                target.text());
  LATHE_TRY_STATUS(check_group_memory(program, target));
  opencl::Image image{.source = "", .options = kOptions};
  if (types.f64) image.extensions.emplace_back("cl_khr_fp64");
  if (types.f16) image.extensions.emplace_back("cl_khr_fp16");
  for (const flat::Border& border : program.inputs) image.inputs.push_back(bytes_of_border(border));
  for (const flat::Border& border : program.outputs)
    image.outputs.push_back(bytes_of_border(border));
  image.constant_bytes = program.constant_bytes;
  image.scratch_bytes = program.global_bytes;
  cl::Helpers helpers;
  std::vector<opencl::Launch> launches;
  for (const flat::Kernel& kernel : program.kernels) {
    OpenClKernel writer(program, kernel, helpers);
    image.source += (launches.empty() ? "" : "\n") + writer.text();
    launches.push_back(writer.launch());
    image.scratch_bytes = std::max(image.scratch_bytes, thread_memory(program, kernel).end);
    image.local_bytes = std::max(image.local_bytes, flat::group_bytes_of(program, kernel));
  }
  if (image.scratch_bytes > kMostScratch)
    return fail(ErrorKind::kUnsupported,
                "the work items need {} bytes of memory of their own; bind fewer loops, or hold "
                "less in each",
                image.scratch_bytes);
  for (const int k : program.prepare)
    image.prepare.push_back(launches[static_cast<std::size_t>(k)]);
  for (const int k : program.run) image.run.push_back(launches[static_cast<std::size_t>(k)]);
  add_header(image, program, helpers);
  return image;
} catch (const c_source::Refused& refused) {
  return fail(ErrorKind::kUnsupported, "{}", refused.message);
}

}  // namespace lathe::codegen
