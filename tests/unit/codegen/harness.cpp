#include "unit/codegen/harness.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fmt/ranges.h>

#include "runtime/runner/guarded.h"
#include "unit/codegen/caught.h"

namespace lathe::testing {
namespace {

constexpr int kWorkers = 3;

// Memory between pages without access.
class Area {
 public:
  Area(const std::string& name, std::size_t bytes, std::byte fill, Place place = Place::kAligned)
      : bytes_(bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t room = place == Place::kAligned ? bytes : (bytes + kPage - 1) / kPage * kPage;
    const Status made = memory_.resize(name, static_cast<std::int64_t>(room));
    if (!made) throw std::runtime_error(made.error().text());
    memory_.fill_nan();
    std::fill_n(memory_.data(), room, kAround);
    at_ = memory_.data() + (place == Place::kLast ? room - bytes : 0);
    std::fill_n(at_, bytes, fill);
  }
  std::byte* data() { return at_; }
  std::size_t size() const { return bytes_; }
  bool intact() const {
    const auto is_around = [](std::byte b) { return b == kAround; };
    std::byte *begin = memory_.data(), *end = begin + memory_.bytes();
    return !memory_.damage() && std::all_of(begin, at_, is_around) &&
           std::all_of(at_ + bytes_, end, is_around);
  }

 private:
  static constexpr std::byte kAround{0x5a};
  runner::GuardedBuffer memory_;
  std::byte* at_;
  std::size_t bytes_;
};

// Slices of uneven lengths, out of order, on changing workers.
void slices(void*, const lathe_phase* phases, std::int64_t count, void* context) {
  for (const lathe_phase& phase : std::span(phases, static_cast<std::size_t>(count))) {
    std::int64_t end = phase.count, worker = 0;
    for (std::int64_t length = 1; end > 0; ++length) {
      const std::int64_t begin = std::max<std::int64_t>(0, end - length);
      phase.body(context, begin, end, worker++ % kWorkers);
      end = begin;
    }
  }
}

}  // namespace

Target resolved(const std::string& text) {
  auto parsed = parse_target(text);
  if (!parsed) throw std::runtime_error(parsed.error().text());
  auto target = codegen::resolve_target(*parsed);
  if (!target) throw std::runtime_error(target.error().text());
  return *target;
}

std::string test_name(const Target& target) {
  const CpuTarget& cpu = target.as_cpu();
  std::string name = fmt::format("{}{}_{}", cpu.mcpu, fmt::join(cpu.features, ""), cpu.threads);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::vector<Target> runnable_targets() {
  std::vector<Target> targets = {resolved("cpu:host"), resolved("cpu:host;threads=3")};
#if defined(__x86_64__)
  targets.push_back(resolved("cpu:x86-64"));
  if (__builtin_cpu_supports("x86-64-v2")) targets.push_back(resolved("cpu:x86-64-v2"));
  if (__builtin_cpu_supports("avx")) targets.push_back(resolved("cpu:sandybridge"));
  if (__builtin_cpu_supports("x86-64-v3")) targets.push_back(resolved("cpu:x86-64-v3;threads=2"));
  if (__builtin_cpu_supports("x86-64-v4")) targets.push_back(resolved("cpu:x86-64-v4"));
#endif
  std::vector<Target> distinct;  // the host may be one of the others
  for (const Target& target : targets)
    if (std::ranges::count(distinct, target) == 0) distinct.push_back(target);
  return distinct;
}

std::string too_wide(std::string_view ir, const Target& target) {
  constexpr std::string_view kMasked = "@llvm.masked.";
  for (std::size_t at = ir.find(kMasked); at != ir.npos; at = ir.find(kMasked, at + 1)) {
    const std::string name(ir.substr(at, ir.find('(', at) - at));
    int lanes = 0, bits = 0;
    char kind = 0;
    const std::size_t vector = name.find(".v");
    // As in @llvm.masked.load.v8f32.p0
    if (vector == name.npos ||
        (std::sscanf(name.c_str() + vector, ".v%d%c%d", &lanes, &kind, &bits) != 3 &&
         std::sscanf(name.c_str() + vector, ".v%db%c%d", &lanes, &kind, &bits) != 3) ||
        lanes * bits > target.as_cpu().vector_bits)
      return name;
  }
  return "";
}

Result<std::unique_ptr<module::Module>> compile(const flat::Program& program,
                                                const Target& target) {
  const std::string ir = LATHE_TRY(codegen::llvm_ir(program, target));  // verifies
  if (const std::string wide = too_wide(ir, target); !wide.empty())
    return fail(ErrorKind::kRun, "{} is wider than a register of {}", wide, target.text());
  const codegen::Object object = LATHE_TRY(codegen::generate(program, target));
  return module::load_module(LATHE_TRY(codegen::link_shared(object, target)));
}

Result<std::vector<interp::Bytes>> run_module(const module::Module& module,
                                              const flat::Program& program,
                                              std::span<const interp::Bytes> inputs, Place place) {
  const lathe_module& table = module.table();
  std::vector<Area> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tensors.emplace_back(program.inputs[i].name, inputs[i].size(), std::byte{0}, place);
    std::memcpy(tensors.back().data(), inputs[i].data(), inputs[i].size());
  }
  for (const flat::Border& border : program.outputs)
    tensors.emplace_back(border.name, static_cast<std::size_t>(border.size * size_of(border.dtype)),
                         std::byte{0xff}, place);
  const auto area = [](const char* name, std::int64_t bytes) {
    return Area(name, static_cast<std::size_t>(bytes), std::byte{0xff});
  };
  Area constants = area("the constants", table.constant_bytes);
  Area workspace = area("the workspace", table.workspace_bytes);
  Area workers = area("the areas of threads", table.worker_bytes * kWorkers);

  std::vector<void*> all, constant;
  for (auto& tensor : tensors) all.push_back(tensor.data());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    constant.push_back(i < inputs.size() && program.inputs[i].constant ? all[i] : nullptr);
  const lathe_runtime runtime{slices, nullptr};
  const auto wrong = caught([&] {
    if (table.prepare)
      table.prepare(&runtime, constant.data(), constants.data(), workspace.data(), workers.data());
    table.run(&runtime, all.data(), constants.data(), workspace.data(), workers.data());
  });
  if (wrong) return fail(ErrorKind::kRun, "{}", *wrong);
  for (const auto& tensor : tensors)
    if (!tensor.intact()) return fail(ErrorKind::kRun, "wrote beside a tensor");
  if (!constants.intact() || !workspace.intact() || !workers.intact())
    return fail(ErrorKind::kRun, "wrote beside scratch");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (std::memcmp(inputs[i].data(), tensors[i].data(), inputs[i].size()) != 0)
      return fail(ErrorKind::kRun, "wrote to input {}", i);
  std::vector<interp::Bytes> outputs;
  for (std::size_t i = inputs.size(); i < tensors.size(); ++i)
    outputs.emplace_back(tensors[i].data(), tensors[i].data() + tensors[i].size());
  return outputs;
}

namespace {

bool same(Dtype dtype, const std::byte* want, const std::byte* got, double ulps) {
  const auto size = static_cast<std::size_t>(size_of(dtype));
  if (std::memcmp(want, got, size) == 0) return true;
  if (!is_float(dtype)) return false;
  const double w = load_element(dtype, want), g = load_element(dtype, got);
  if (std::isnan(w) || std::isnan(g)) return std::isnan(w) && std::isnan(g);
  if (ulps == 0) return false;
  return std::abs(w - g) <= ulps * 2 * epsilon_of(dtype) * std::max(1.0, std::abs(w));
}

}  // namespace

std::string difference(const flat::Program& program, const std::vector<interp::Bytes>& want,
                       const std::vector<interp::Bytes>& got, double ulps) {
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const flat::Border& border = program.outputs[i];
    const auto size = static_cast<std::size_t>(size_of(border.dtype));
    for (std::size_t at = 0; at < static_cast<std::size_t>(border.size); ++at) {
      const std::byte *w = want[i].data() + at * size, *g = got[i].data() + at * size;
      if (!same(border.dtype, w, g, ulps))
        return fmt::format("{}[{}] is {}, not {}", border.name, at, load_element(border.dtype, g),
                           load_element(border.dtype, w));
    }
  }
  return "";
}

std::string difference(const flat::Program& program, const std::vector<interp::Tensor>& want,
                       const std::vector<interp::Bytes>& got) {
  for (std::size_t o = 0; o < want.size(); ++o) {
    const flat::Border& border = program.outputs[o];
    const std::string wrong = interp::compare(want[o], interp::from_storage(border, got[o]));
    if (!wrong.empty()) return border.name + ": " + wrong;
  }
  return "";
}

}  // namespace lathe::testing
