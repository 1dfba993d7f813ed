#include "runtime/device/opencl/candidate.h"

#include <algorithm>
#include <utility>

namespace lathe::opencl {
namespace {

Status same_sizes(const char* what, const std::vector<std::int64_t>& sizes,
                  const std::vector<tensor::Border>& borders) {
  if (sizes.size() != borders.size())
    return fail(ErrorKind::kRun, "the candidate's program has {} {}s, the workload {}",
                sizes.size(), what, borders.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != borders[i].bytes())
      return fail_at(borders[i].name, ErrorKind::kRun,
                     "the candidate's program has {} bytes for this {}, its border {}", sizes[i],
                     what, borders[i].bytes());
  return {};
}

// What `prepare` may read is known before the first call: inputs that are constant.
Status check_prepare(const Image& image, const std::vector<tensor::Border>& inputs) {
  for (const Launch& launch : image.prepare)
    for (const Argument& a : launch.arguments)
      if (a.area == Area::kOutput ||
          (a.area == Area::kInput && !inputs[static_cast<std::size_t>(a.position)].constant))
        return fail(ErrorKind::kRun,
                    "{} prepares constants from what is not known before the first call",
                    launch.kernel);
  return {};
}

}  // namespace

Result<std::unique_ptr<DeviceCandidate>> DeviceCandidate::open(
    const Surroundings& around, Image image, const std::vector<tensor::Border>& inputs,
    const std::vector<tensor::Border>& outputs, Tensors& tensors, std::unique_ptr<Tensors> own) {
  std::unique_ptr<DeviceCandidate> candidate(
      new DeviceCandidate(around, std::move(image), tensors, std::move(own)));
  candidate->inputs_ = inputs;
  candidate->outputs_ = outputs;
  LATHE_TRY_STATUS(candidate->check_sizes());
  candidate->program_ = LATHE_TRY(Program::build(around.device, candidate->image_, around.cache));
  LATHE_TRY_STATUS(candidate->place_inputs());
  LATHE_TRY_STATUS(candidate->prepare());
  return candidate;
}

Status DeviceCandidate::check_sizes() const {
  for (const tensor::Border& border : inputs_) LATHE_TRY_STATUS(tensor::verify(border));
  for (const tensor::Border& border : outputs_) LATHE_TRY_STATUS(tensor::verify(border));
  LATHE_TRY_STATUS(same_sizes("input", image_.inputs, inputs_));
  LATHE_TRY_STATUS(same_sizes("output", image_.outputs, outputs_));
  LATHE_TRY_STATUS(check_prepare(image_, inputs_));
  LATHE_TRY_STATUS(check_fits(image_, around_.device.facts()));
  const std::int64_t wanted = image_.constant_bytes + image_.scratch_bytes;
  if (around_.most_bytes > 0 && wanted > around_.most_bytes)
    return fail(ErrorKind::kOutOfMemory,
                "the candidate wants {} bytes for constants and scratch, and may have {}", wanted,
                around_.most_bytes);
  return {};
}

Status DeviceCandidate::place_inputs() {
  if (tensors_.borders.size() != inputs_.size())
    return fail(ErrorKind::kRun, "the candidate has {} inputs, the workload {}", inputs_.size(),
                tensors_.borders.size());
  packed_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const tensor::Border& border = inputs_[i];
    if (border.shape != tensors_.borders[i].shape || border.dtype != tensors_.borders[i].dtype)
      return fail_at(border.name, ErrorKind::kRun,
                     "the candidate's input differs from the workload's");
    if (!tensor::is_plain(border))
      LATHE_TRY_STATUS(packed_[i].place(around_.device, border, tensors_.plain[i].data()));
  }
  return {};
}

Owned<Buffer> DeviceCandidate::buffer_of(const Argument& argument) const {
  const auto at = static_cast<std::size_t>(argument.position);
  switch (argument.area) {
    case Area::kInput:
      return packed_[at].content.empty() ? tensors_.inputs[at].memory.part()
                                         : packed_[at].memory.part();
    case Area::kOutput: return tensors_.outputs[at].part();
    case Area::kConstant: return constants_.part();
    case Area::kScratch: return tensors_.scratch.part();
  }
  return nullptr;
}

Status DeviceCandidate::prepare() {
  Device& device = around_.device;
  LATHE_TRY_STATUS(constants_.resize(device, "constants", image_.constant_bytes));
  LATHE_TRY_STATUS(constants_.fill());
  LATHE_TRY_STATUS(tensors_.scratch.resize(device, "scratch", image_.scratch_bytes));
  LATHE_TRY_STATUS(tensors_.scratch.fill());
  const auto launches =
      LATHE_TRY(program_->bind(image_.prepare, [&](const Argument& a) { return buffer_of(a); }));
  prepare_seconds_ = LATHE_TRY(run_timed(device, launches, 1)).wall;
  constants_then_.resize(static_cast<std::size_t>(constants_.bytes()));
  LATHE_TRY_STATUS(constants_.read(constants_then_.data()));
  LATHE_TRY_STATUS(constants_.check_zones());
  return tensors_.scratch.check_zones();
}

Status DeviceCandidate::begin(bool checked) {
  Device& device = around_.device;
  if (tensors_.outputs.size() < outputs_.size()) tensors_.outputs.resize(outputs_.size());
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    LATHE_TRY_STATUS(
        tensors_.outputs[o].resize(device, "output " + outputs_[o].name, outputs_[o].bytes()));
  LATHE_TRY_STATUS(tensors_.scratch.resize(device, "scratch", image_.scratch_bytes));
  // Others may have made the shared memory larger, which moves it.
  const auto buffers = [&](const Argument& a) { return buffer_of(a); };
  if (launches_.empty()) launches_ = LATHE_TRY(program_->bind(image_.run, buffers));
  else LATHE_TRY_STATUS(program_->rebind(image_.run, buffers, launches_));
  if (!checked) return {};
  for (std::size_t o = 0; o < outputs_.size(); ++o) LATHE_TRY_STATUS(tensors_.outputs[o].fill());
  return tensors_.scratch.fill();
}

// Writes more than the device's caches hold.
Status DeviceCandidate::flush() {
  constexpr std::int64_t kLeast = 16 << 20, kMost = 256 << 20;  // bytes
  GuardedMemory& memory = around_.flushed;
  const Facts& facts = around_.device.facts();
  LATHE_TRY_STATUS(
      memory.resize(around_.device, "the caches",
                    std::min(std::clamp(4 * std::min(facts.cache_bytes, kMost), kLeast, kMost),
                             facts.allocation_bytes / 4)));
  return memory.fill();
}

Result<runner::Sample> DeviceCandidate::call(int calls, bool cold) {
  if (cold) LATHE_TRY_STATUS(flush());
  const DeviceTime time = LATHE_TRY(run_timed(around_.device, launches_, calls));
  // Between the kernels of a first call the driver may still compile.
  const double seconds = std::exchange(called_, true) ? time.spans : time.kernels;
  return runner::Sample{seconds / std::max(calls, 1), false, time.wall, 0};
}

Status DeviceCandidate::warm() {
  LATHE_TRY(run_timed(around_.device, launches_, 1));
  return {};
}

Status DeviceCandidate::check_memory() {
  LATHE_TRY_STATUS(around_.device.finish("the device did not finish the candidate"));
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    LATHE_TRY_STATUS(tensors_.outputs[o].check_zones());
  LATHE_TRY_STATUS(tensors_.scratch.check_zones());
  LATHE_TRY_STATUS(constants_.check_zones());
  std::vector<std::byte> now(constants_then_.size());
  if (!now.empty()) LATHE_TRY_STATUS(constants_.read(now.data()));
  if (now != constants_then_)
    return fail(ErrorKind::kRun, "the candidate wrote into its constants in a call");
  constants_then_ = {};
  // All inputs, so that all are mended, for they are other candidates', too.
  Status found;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    InputMemory& input = packed_[i].content.empty() ? tensors_.inputs[i] : packed_[i];
    if (Status here = input.check(); !here && found) found = std::move(here);
  }
  return found;
}

Result<const std::byte*> DeviceCandidate::output(std::size_t number) {
  read_outputs_.resize(outputs_.size());
  std::vector<std::byte>& output = read_outputs_[number];
  output.resize(static_cast<std::size_t>(outputs_[number].bytes()));
  LATHE_TRY_STATUS(tensors_.outputs[number].read(output.data()));
  return output.data();
}

std::int64_t DeviceCandidate::resident_bytes() const {
  std::int64_t bytes = constants_.bytes();
  for (const InputMemory& input : packed_) bytes += input.memory.bytes();
  return bytes;
}

}  // namespace lathe::opencl
