// Whole files, in and out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

inline constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a file that is read whole

// kIo where the path is a device, which may never end; the place is the path.
Status check_readable(const std::string& path);
// kNotFound with the system's reason, kIo for a device or more than `most` bytes; the place is the
// path.
Result<std::string> read_file(const std::string& path, std::size_t most = kMostBytes);

// A file that is complete under its name, or not there: written beside it, then renamed; what was
// not moved is removed.
class PendingFile {
 public:
  explicit PendingFile(const std::string& final_path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return pending_; }
  // kIo with the system's reason; the place is the final path.
  Status write(std::span<const std::byte> bytes) const;
  Status move_to_place() const;

 private:
  std::string final_, pending_;
};

Status write_whole(const std::string& path, std::string_view bytes);

}  // namespace lathe
