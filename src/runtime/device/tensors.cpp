#include "runtime/device/tensors.h"

#include <unistd.h>

#include <utility>

#include "runtime/runner/protocol.h"

namespace lathe::device {

Result<std::vector<std::byte>> read_open_file(int file, std::int64_t offset, std::int64_t bytes) {
  std::vector<std::byte> content(static_cast<std::size_t>(bytes));
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(file, content.data() + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (got <= 0) return fail(ErrorKind::kDataLoss, "a file of a request is too short");
    done += got;
  }
  return content;
}

Status InputMemory::place(Memories& device, const tensor::Border& border, const std::byte* plain) {
  content.resize(static_cast<std::size_t>(border.bytes()));
  tensor::pack(border, plain, content.data());
  LATHE_TRY_STATUS(memory.resize(device, "input " + border.name, border.bytes()));
  LATHE_TRY_STATUS(memory.fill());
  return memory.write(content.data());
}

Status InputMemory::check() {
  std::vector<std::byte> now(content.size());
  LATHE_TRY_STATUS(memory.read(now.data()));
  Status found = memory.check_zones();
  if (found && now == content) return {};
  if (found)
    found =
        fail(ErrorKind::kRun, "the candidate wrote into {}, which is not its own", memory.name());
  LATHE_TRY_STATUS(memory.fill());
  LATHE_TRY_STATUS(memory.write(content.data()));
  return found;
}

Status Tensors::read(Memories& device, const std::vector<tensor::Border>& wanted, int file) {
  borders = wanted;
  plain.clear();
  inputs.clear();
  const auto offsets = runner::file_offsets(borders);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const tensor::Border& border = borders[i];
    plain.push_back(
        LATHE_TRY(read_open_file(file, offsets[i], border.elements() * size_of(border.dtype))));
    inputs.emplace_back();
    LATHE_TRY_STATUS(inputs.back().place(device, border, plain.back().data()));
  }
  return {};
}

}  // namespace lathe::device
