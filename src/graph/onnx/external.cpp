#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/onnx/tensor_data.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

// The file that the location names, with all links followed, where that lies below the folder.
Result<std::string> inside(const std::string& folder, const std::string& location) {
  if (folder.empty())
    return fail(ErrorKind::kUnsupported,
                "its data is in the file '{}', and the model is read from no folder", location);
  std::error_code code;
  const fs::path root = fs::canonical(folder, code);
  if (code) return fail(ErrorKind::kIo, "the model's folder: {}", code.message());
  const fs::path asked(location);
  if (location.empty() || asked.is_absolute() || location.find('\0') != std::string::npos)
    return fail(ErrorKind::kInvalidArgument,
                "its data is said to be in '{}', which is no path beneath the model's folder",
                location);
  const fs::path file = fs::canonical(root / asked, code);
  if (code)
    return fail(ErrorKind::kNotFound,
                "its data is in the file '{}', which cannot be found beside the model ({}); put it "
                "there",
                location, code.message());
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end())
    return fail(ErrorKind::kInvalidArgument,
                "its data is said to be in '{}', which lies outside of the model's folder; put it "
                "beside the model",
                location);
  return file.string();
}

Result<graph::Data> mapped(const std::string& path, const std::string& location) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return fail(ErrorKind::kIo, "its data is in '{}', which cannot be read: {}", location,
                std::strerror(errno));
  struct stat about{};
  const bool regular = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const auto size = static_cast<std::size_t>(about.st_size);
  void* memory =
      regular && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  const int error = errno;
  close(file);
  if (!regular || size == 0)
    return fail(ErrorKind::kInvalidArgument, "its data is in '{}', which is {}", location,
                regular ? "empty" : "no file");
  if (memory == MAP_FAILED)
    return fail(ErrorKind::kIo, "its data is in '{}', which cannot be mapped: {}", location,
                std::strerror(error));
  std::shared_ptr<const void> owner(memory, [size](void* at) { munmap(at, size); });
  return graph::Data{std::move(owner), {static_cast<const std::byte*>(memory), size}};
}

}  // namespace

Result<graph::Data> Folder::map(const std::string& location) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  const std::string path = LATHE_TRY(inside(path_, location));
  return files_[location] = LATHE_TRY(mapped(path, location));
}

Result<graph::Data> Folder::bytes(const std::string& location, std::int64_t offset,
                                  std::int64_t length) {
  graph::Data all = LATHE_TRY(map(location));
  const auto size = static_cast<std::int64_t>(all.bytes.size());
  if (offset < 0 || length < 0 || offset > size || length > size - offset)
    return fail(ErrorKind::kDataLoss,
                "its data is at {} in '{}', {} bytes, and that file has {}; it is cut off or "
                "another model's",
                offset, location, length, size);
  all.bytes = all.bytes.subspan(static_cast<std::size_t>(offset),
                                static_cast<std::size_t>(length == 0 ? size - offset : length));
  return all;
}

}  // namespace lathe::onnx
