// Whole files, in and out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

// The largest file that is read whole.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 30;

// Fails with kIo where the path is a device, which may never end; the error's place is the path.
Status check_readable(const std::string& path);
// Fails with kNotFound and the system's reason, or with kIo for a device or for more than `most`
// bytes; the error's place is the path.
Result<std::string> read_file(const std::string& path, std::size_t most = kMostBytes);

// Writes all bytes to an open file and closes it; -1 is none. False: errno tells why.
bool write_and_close(int file, std::string_view bytes);

// A file that either is complete under its name or is not there. It is written beside that name
// under one that nobody can foresee, then renamed; what was never renamed is removed. A link under
// the final name is followed where it is this user's or root's, else replaced.
class PendingFile {
 public:
  explicit PendingFile(const std::string& final_path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return pending_; }
  // Both fail with kIo and the system's reason; the error's place is the final path.
  Status write(std::span<const std::byte> bytes) const;
  Status move_to_place() const;

 private:
  std::string final_, pending_;
};

Status write_whole(const std::string& path, std::string_view bytes);

}  // namespace lathe
