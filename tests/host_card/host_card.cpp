#include "host_card/host_card.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "host_card/block.h"
#include "host_card/host_module.h"

namespace lathe::testing {
namespace {

using device::Area;

// Memory of its own size, so that the address sanitizer sees what is touched behind it; elsewhere
// bytes behind it tell what was written there.
class HostBuffer {
 public:
  explicit HostBuffer(const interp::Bytes& content) : bytes_(content.size()) {
    constexpr std::size_t kAlign = 256;  // as cards allocate
    void* place = nullptr;
    LATHE_CHECK(posix_memalign(&place, kAlign, bytes_ + kBehind) == 0);
    place_.reset(static_cast<std::byte*>(place));
    std::copy(content.begin(), content.end(), place_.get());
    std::fill_n(place_.get() + bytes_, kBehind, kUntouched);
  }
  std::byte* place() const { return place_.get(); }
  interp::Bytes content() const {
    interp::Bytes out(bytes_);
    std::copy_n(place_.get(), bytes_, out.begin());
    return out;
  }
  bool is_whole() const {
    return std::all_of(place_.get() + bytes_, place_.get() + bytes_ + kBehind,
                       [](std::byte b) { return b == kUntouched; });
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kBehind = 0;
#else
  static constexpr std::size_t kBehind = 256;
#endif
  static constexpr std::byte kUntouched{0x5a};
  struct Free {
    void operator()(std::byte* place) const { std::free(place); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> place_;
};

using Buffers = std::vector<std::unique_ptr<HostBuffer>>;

struct HostMemory {
  Buffers inputs, outputs;
  std::unique_ptr<HostBuffer> constants, scratch;

  HostBuffer& of(const device::Argument& a) const {
    const auto position = static_cast<std::size_t>(a.position);
    switch (a.area) {
      case Area::kInput: return *inputs.at(position);
      case Area::kOutput: return *outputs.at(position);
      case Area::kConstant: return *constants;
      case Area::kScratch: break;
    }
    return *scratch;
  }
  bool is_whole() const {
    const auto whole = [](const auto& buffer) { return buffer->is_whole(); };
    return std::ranges::all_of(inputs, whole) && std::ranges::all_of(outputs, whole) &&
           constants->is_whole() && scratch->is_whole();
  }
};

std::unique_ptr<HostBuffer> nonsense(std::int64_t bytes) {
  return std::make_unique<HostBuffer>(
      interp::Bytes(static_cast<std::size_t>(bytes), std::byte{0xff}));
}

Status launch(const HostModule& module, const device::Launch& l, const HostMemory& memory,
              Rng& rng) {
  const auto kernel = LATHE_TRY(module.kernel(l.kernel));
  std::vector<void*> arguments;
  for (const device::Argument& a : l.arguments) arguments.push_back(memory.of(a).place());
  const auto body = [&] { kernel(arguments.data()); };
  const std::int64_t blocks = l.groups[0] * l.groups[1] * l.groups[2];
  const auto first = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(blocks)));
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t b = (first + i) % blocks;
    begin_shared_memory(static_cast<std::size_t>(l.group_bytes));
    const std::string wrong = run_block(
        body, {b % l.groups[0], b / l.groups[0] % l.groups[1], b / l.groups[0] / l.groups[1]},
        l.items, module.meets(), rng);
    if (!wrong.empty()) return fail(ErrorKind::kRun, "{}: {}", l.kernel, wrong);
  }
  if (!memory.is_whole())
    return fail(ErrorKind::kRun, "{} wrote behind a tensor or an area", l.kernel);
  return {};
}

}  // namespace

Result<std::vector<interp::Bytes>> run_on_host(const std::string& ir, const cuda::Image& image,
                                               std::span<const interp::Bytes> inputs,
                                               std::uint64_t seed) {
  const HostModule module = LATHE_TRY(HostModule::compile(ir));
  HostMemory memory;
  for (const interp::Bytes& input : inputs)
    memory.inputs.push_back(std::make_unique<HostBuffer>(input));
  for (const std::int64_t bytes : image.outputs) memory.outputs.push_back(nonsense(bytes));
  memory.constants = nonsense(image.constant_bytes);
  memory.scratch = nonsense(image.scratch_bytes);
  Rng rng(seed);
  for (const auto* launches : {&image.prepare, &image.run})
    for (const device::Launch& l : *launches) LATHE_TRY_STATUS(launch(module, l, memory, rng));
  std::vector<interp::Bytes> outputs;
  for (const auto& output : memory.outputs) outputs.push_back(output->content());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (memory.inputs[i]->content() != inputs[i])
      return fail(ErrorKind::kRun, "a kernel wrote to input {}", i);
  return outputs;
}

}  // namespace lathe::testing
