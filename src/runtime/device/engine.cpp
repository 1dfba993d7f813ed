#include "runtime/device/engine.h"

#include <sys/stat.h>

#include <utility>

namespace lathe::device {
namespace {

constexpr std::int64_t kLongestImage = std::int64_t{1} << 28;  // bytes

Result<std::vector<std::byte>> read_image(const runner::Fd& code) {
  struct stat info{};
  if (::fstat(code.get(), &info) != 0 || info.st_size > kLongestImage)
    return fail(ErrorKind::kDataLoss, "the candidate's image cannot be read, or is too long");
  return read_open_file(code.get(), 0, info.st_size);
}

}  // namespace

// What fails before there is a candidate says nothing of one.
Status Engine::set_up(const runner::RunnerSetup& setup, int inputs) {
  Status status = open_device();
  most_bytes_ = setup.memory_bytes;
  tensors_ = std::make_unique<Tensors>();
  if (status) status = tensors_->read(memories(), setup.inputs, inputs);
  if (status) return {};
  const bool told =
      status.error().kind == ErrorKind::kNotFound || status.error().kind == ErrorKind::kDataLoss;
  return fail_at(status.error().place, told ? status.error().kind : ErrorKind::kIo, "{}",
                 status.error().message);
}

Result<std::unique_ptr<runner::Runnable>> Engine::open(runner::Fd code,
                                                       const std::vector<tensor::Border>& inputs,
                                                       const std::vector<tensor::Border>& outputs,
                                                       const runner::Fd* own_inputs) {
  std::unique_ptr<Tensors> own;
  if (own_inputs != nullptr) {
    for (const tensor::Border& border : inputs) LATHE_TRY_STATUS(tensor::verify(border));
    own = std::make_unique<Tensors>();
    LATHE_TRY_STATUS(own->read(memories(), inputs, own_inputs->get()));
  }
  const std::vector<std::byte> image = LATHE_TRY(read_image(code));
  return open_candidate(image,
                        {memories(), most_bytes_, *tensors_, std::move(own), inputs, outputs});
}

}  // namespace lathe::device
