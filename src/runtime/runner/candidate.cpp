#include "runtime/runner/candidate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime/runner/clock.h"
#include "runtime/runner/protocol.h"

namespace lathe::runner {

Result<Inputs> read_inputs(const std::vector<tensor::Border>& borders, int file,
                           std::int64_t shift) {
  Inputs inputs{borders, {}, shift};
  const auto offsets = file_offsets(borders);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    GuardedBuffer buffer;
    LATHE_TRY_STATUS(buffer.resize("input " + borders[i].name, borders[i].bytes(), shift));
    buffer.fill_nan();
    for (std::int64_t done = 0; done < borders[i].bytes();) {
      const ssize_t got =
          ::pread(file, buffer.data() + done, static_cast<std::size_t>(borders[i].bytes() - done),
                  offsets[i] + done);
      if (got <= 0) return fail(ErrorKind::kDataLoss, "the file of inputs is too short");
      done += got;
    }
    LATHE_TRY_STATUS(buffer.set_writable(false));
    inputs.data.push_back(std::move(buffer));
  }
  return inputs;
}

Result<std::unique_ptr<Candidate>> Candidate::open(Fd library, std::vector<tensor::Border> inputs,
                                                   std::vector<tensor::Border> outputs,
                                                   const Inputs& plain, pool::Pool& pool) {
  std::unique_ptr<Candidate> candidate(new Candidate);
  candidate->inputs_ = std::move(inputs);
  candidate->outputs_ = std::move(outputs);
  candidate->pool_ = &pool;
  candidate->shift_ = plain.shift;
  LATHE_TRY_STATUS(candidate->load(std::move(library)));
  LATHE_TRY_STATUS(candidate->place_inputs(plain));
  LATHE_TRY_STATUS(candidate->prepare());
  return candidate;
}

Status Candidate::load(Fd library) {
  auto loaded = module::open_module(library.release());
  if (!loaded) {
    const Error& error = loaded.error();
    return fail(error.kind == ErrorKind::kOutOfMemory ? error.kind : ErrorKind::kRun,
                "the candidate's library cannot be opened: {}", error.message);
  }
  library_ = std::move(*loaded);
  module_ = &library_->table();
  if (module_->inputs != static_cast<std::int64_t>(inputs_.size()) ||
      module_->outputs != static_cast<std::int64_t>(outputs_.size()))
    return fail(ErrorKind::kRun,
                "the candidate's library has {} inputs and {} outputs, the workload {} and {}",
                module_->inputs, module_->outputs, inputs_.size(), outputs_.size());
  return {};
}

Status Candidate::place_inputs(const Inputs& plain) {
  if (plain.borders.size() != inputs_.size())
    return fail(ErrorKind::kRun, "the candidate has {} inputs, the workload {}", inputs_.size(),
                plain.borders.size());
  packed_.resize(inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const tensor::Border& border = inputs_[i];
    LATHE_TRY_STATUS(tensor::verify(border));
    if (border.shape != plain.borders[i].shape || border.dtype != plain.borders[i].dtype)
      return fail_at(border.name, ErrorKind::kRun,
                     "the candidate's input differs from the workload's");
    input_bytes_.push_back(border.bytes());
    if (tensor::is_plain(border)) {
      tensors_.push_back(plain.data[i].data());
      continue;
    }
    LATHE_TRY_STATUS(packed_[i].resize("input " + border.name, border.bytes(), shift_));
    packed_[i].fill_nan();
    tensor::pack(border, plain.data[i].data(), packed_[i].data());
    LATHE_TRY_STATUS(packed_[i].set_writable(false));
    tensors_.push_back(packed_[i].data());
  }
  tensors_.resize(inputs_.size() + outputs_.size());
  return {};
}

Status Candidate::prepare() {
  LATHE_TRY_STATUS(constants_.resize("constants", module_->constant_bytes));
  constants_.fill_nan();
  if (module_->prepare == nullptr) return {};
  std::vector<void*> tensors = tensors_;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (i >= inputs_.size() || !inputs_[i].constant) tensors[i] = nullptr;
  GuardedBuffer workspace = GuardedBuffer::scratch(), workers = GuardedBuffer::scratch();
  LATHE_TRY_STATUS(workspace.resize("workspace", module_->workspace_bytes));
  LATHE_TRY_STATUS(workers.resize("workers' scratch", module_->worker_bytes * pool_->threads()));
  const double start = now_seconds();
  module_->prepare(pool_->runtime(), tensors.data(), constants_.data(), workspace.data(),
                   workers.data());
  prepare_seconds_ = now_seconds() - start;
  if (const auto damage = constants_.damage())
    return fail_at("constants", ErrorKind::kRun, "the candidate's prepare() is wrong: {}", *damage);
  return constants_.set_writable(false);
}

Status Candidate::bind(Scratch& scratch) {
  if (scratch.outputs.size() < outputs_.size()) scratch.outputs.resize(outputs_.size());
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    LATHE_TRY_STATUS(
        scratch.outputs[o].resize("output " + outputs_[o].name, outputs_[o].bytes(), shift_));
    tensors_[inputs_.size() + o] = scratch.outputs[o].data();
  }
  LATHE_TRY_STATUS(scratch.workspace.resize("workspace", module_->workspace_bytes));
  LATHE_TRY_STATUS(
      scratch.workers.resize("workers' scratch", module_->worker_bytes * pool_->threads()));
  workspace_ = scratch.workspace.data();
  workers_ = scratch.workers.data();
  return {};
}

Status Candidate::set_guarded(Scratch& scratch, bool guarded) {
  for (GuardedBuffer& buffer : packed_) LATHE_TRY_STATUS(buffer.set_guarded(guarded));
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    LATHE_TRY_STATUS(scratch.outputs[o].set_guarded(guarded));
  for (GuardedBuffer* buffer : {&constants_, &scratch.workspace, &scratch.workers})
    LATHE_TRY_STATUS(buffer->set_guarded(guarded));
  return {};
}

void Candidate::fill_scratch(Scratch& scratch) {
  for (std::size_t o = 0; o < outputs_.size(); ++o) scratch.outputs[o].fill_nan();
  scratch.workspace.fill_nan();
  scratch.workers.fill_nan();
}

std::optional<std::string> Candidate::damage(const Scratch& scratch) const {
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    if (auto damage = scratch.outputs[o].damage()) return damage;
  if (auto damage = scratch.workspace.damage()) return damage;
  return scratch.workers.damage();
}

std::vector<module::Area> Candidate::areas(const Scratch& scratch) const {
  std::vector<module::Area> areas;
  for (std::size_t i = 0; i < inputs_.size(); ++i) areas.push_back({tensors_[i], input_bytes_[i]});
  for (std::size_t o = 0; o < outputs_.size(); ++o)
    areas.push_back({scratch.outputs[o].data(), scratch.outputs[o].bytes()});
  for (const GuardedBuffer* buffer : {&constants_, &scratch.workspace, &scratch.workers})
    areas.push_back({buffer->data(), buffer->bytes()});
  return areas;
}

std::vector<module::Area> Candidate::constant_areas() const {
  std::vector<module::Area> areas;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].constant) areas.push_back({tensors_[i], input_bytes_[i]});
  if (constants_.bytes() > 0) areas.push_back({constants_.data(), constants_.bytes()});
  return areas;
}

bool Candidate::empties(CacheMode cache) const {
  return cache == CacheMode::kCold || (cache == CacheMode::kFar && !constant_areas().empty());
}

void Candidate::flush(CacheMode cache, const Scratch& scratch) const {
  module::make_cold(cache == CacheMode::kFar ? constant_areas() : areas(scratch));
}

void Candidate::warm(const Scratch& scratch) const { module::make_warm(areas(scratch)); }

std::int64_t Candidate::resident_bytes() const {
  std::int64_t bytes = constants_.bytes();
  for (const auto& buffer : packed_) bytes += buffer.bytes();
  return bytes;
}

}  // namespace lathe::runner
