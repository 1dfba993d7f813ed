#include "runtime/device/candidate.h"

#include <utility>

namespace lathe::device {
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
Status check_prepare(const Demands& demands, const std::vector<tensor::Border>& inputs) {
  for (const Launch& launch : demands.prepare)
    for (const Argument& a : launch.arguments)
      if (a.area == Area::kOutput ||
          (a.area == Area::kInput && !inputs[static_cast<std::size_t>(a.position)].constant))
        return fail(ErrorKind::kRun,
                    "{} prepares constants from what is not known before the first call",
                    launch.kernel);
  return {};
}

}  // namespace

Status Candidate::check_sizes() const {
  for (const tensor::Border& border : around_.inputs) LATHE_TRY_STATUS(tensor::verify(border));
  for (const tensor::Border& border : around_.outputs) LATHE_TRY_STATUS(tensor::verify(border));
  LATHE_TRY_STATUS(same_sizes("input", demands_.inputs, around_.inputs));
  LATHE_TRY_STATUS(same_sizes("output", demands_.outputs, around_.outputs));
  LATHE_TRY_STATUS(check_prepare(demands_, around_.inputs));
  const std::int64_t wanted = demands_.constant_bytes + demands_.scratch_bytes;
  if (around_.most_bytes > 0 && wanted > around_.most_bytes)
    return fail(ErrorKind::kOutOfMemory,
                "the candidate wants {} bytes for constants and scratch, and may have {}", wanted,
                around_.most_bytes);
  return {};
}

Status Candidate::place() {
  LATHE_TRY_STATUS(place_inputs());
  return prepare();
}

Status Candidate::place_inputs() {
  const std::vector<tensor::Border>& inputs = around_.inputs;
  if (tensors().borders.size() != inputs.size())
    return fail(ErrorKind::kRun, "the candidate has {} inputs, the workload {}", inputs.size(),
                tensors().borders.size());
  packed_.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor::Border &border = inputs[i], &given = tensors().borders[i];
    if (border.shape != given.shape || border.dtype != given.dtype)
      return fail_at(border.name, ErrorKind::kRun,
                     "the candidate's input differs from the workload's");
    if (!tensor::is_plain(border))
      LATHE_TRY_STATUS(packed_[i].place(memories(), border, tensors().plain[i].data()));
  }
  return {};
}

const GuardedMemory& Candidate::memory_of(const Argument& argument) const {
  const auto at = static_cast<std::size_t>(argument.position);
  switch (argument.area) {
    case Area::kInput:
      return packed_[at].content.empty() ? tensors().inputs[at].memory : packed_[at].memory;
    case Area::kOutput: return tensors().outputs[at];
    case Area::kConstant: return constants_;
    case Area::kScratch: break;
  }
  return tensors().scratch;
}

Status Candidate::prepare() {
  GuardedMemory& scratch = tensors().scratch;
  LATHE_TRY_STATUS(constants_.resize(memories(), "constants", demands_.constant_bytes));
  LATHE_TRY_STATUS(constants_.fill());
  LATHE_TRY_STATUS(scratch.resize(memories(), "scratch", demands_.scratch_bytes));
  LATHE_TRY_STATUS(scratch.fill());
  prepare_seconds_ = LATHE_TRY(run_prepare());
  constants_then_.resize(static_cast<std::size_t>(constants_.bytes()));
  LATHE_TRY_STATUS(constants_.read(constants_then_.data()));
  LATHE_TRY_STATUS(constants_.check_zones());
  return scratch.check_zones();
}

Status Candidate::begin(bool checked) {
  std::vector<GuardedMemory>& outputs = tensors().outputs;
  if (outputs.size() < around_.outputs.size()) outputs.resize(around_.outputs.size());
  for (std::size_t o = 0; o < around_.outputs.size(); ++o)
    LATHE_TRY_STATUS(outputs[o].resize(memories(), "output " + around_.outputs[o].name,
                                       around_.outputs[o].bytes()));
  LATHE_TRY_STATUS(tensors().scratch.resize(memories(), "scratch", demands_.scratch_bytes));
  // Others may have made the shared memory larger, which moves it.
  LATHE_TRY_STATUS(bind(checked));
  if (!checked) return {};
  for (std::size_t o = 0; o < around_.outputs.size(); ++o) LATHE_TRY_STATUS(outputs[o].fill());
  return tensors().scratch.fill();
}

Status Candidate::check_memory() {
  LATHE_TRY_STATUS(memories().finish("the device did not finish the candidate"));
  for (std::size_t o = 0; o < around_.outputs.size(); ++o)
    LATHE_TRY_STATUS(tensors().outputs[o].check_zones());
  LATHE_TRY_STATUS(tensors().scratch.check_zones());
  LATHE_TRY_STATUS(constants_.check_zones());
  std::vector<std::byte> now(constants_then_.size());
  if (!now.empty()) LATHE_TRY_STATUS(constants_.read(now.data()));
  if (now != constants_then_)
    return fail(ErrorKind::kRun, "the candidate wrote into its constants in a call");
  constants_then_ = {};
  // All inputs, so that all are mended, for they are other candidates', too.
  Status found;
  for (std::size_t i = 0; i < around_.inputs.size(); ++i) {
    InputMemory& input = packed_[i].content.empty() ? tensors().inputs[i] : packed_[i];
    if (Status here = input.check(); !here && found) found = std::move(here);
  }
  return found;
}

Result<const std::byte*> Candidate::output(std::size_t number) {
  read_outputs_.resize(around_.outputs.size());
  std::vector<std::byte>& output = read_outputs_[number];
  output.resize(static_cast<std::size_t>(around_.outputs[number].bytes()));
  LATHE_TRY_STATUS(tensors().outputs[number].read(output.data()));
  return output.data();
}

std::int64_t Candidate::resident_bytes() const {
  std::int64_t bytes = constants_.bytes();
  for (const InputMemory& input : packed_) bytes += input.memory.bytes();
  return bytes;
}

}  // namespace lathe::device
