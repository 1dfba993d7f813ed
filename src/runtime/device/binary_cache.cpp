#include "runtime/device/binary_cache.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/trust.h"

namespace lathe::device {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "lathe device 1\n";
constexpr std::size_t kMostOfFile = std::size_t{256} << 20;        // bytes
constexpr std::uintmax_t kMostOfFolder = std::uintmax_t{1} << 28;  // bytes
constexpr std::size_t kMostFiles = 4096;

// Removes the oldest files of a folder that has grown too large, until half of it is left.
void prune(const std::string& folder) {
  struct File {
    fs::file_time_type time;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::error_code code;
  std::vector<File> files;
  std::uintmax_t total = 0;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    const auto bytes = at->file_size(gone);
    const auto time = at->last_write_time(gone);
    if (gone) continue;
    files.push_back({time, bytes, at->path()});
    total += bytes;
  }
  if (total <= kMostOfFolder && files.size() <= kMostFiles) return;
  std::ranges::sort(files, {}, &File::time);
  std::size_t left = files.size();
  for (const File& file : files) {
    if (total <= kMostOfFolder / 2 && left <= kMostFiles / 2) break;
    fs::remove(file.path, code);
    total -= file.bytes;
    --left;
  }
}

}  // namespace

BinaryCache::BinaryCache(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  if (const Status made = make_private_folder(folder_); !made) {
    log(LogLevel::kDebug, "no programs built for a device are kept: {}", made.error().text());
    folder_.clear();
    return;
  }
  prune(folder_);
}

BinaryCache BinaryCache::of_this_user(const std::string& name) {
  const std::string folder = own_cache_folder();
  return folder.empty() ? BinaryCache() : BinaryCache(folder + "/" + name);
}

std::string BinaryCache::path_of(std::string_view key) const {
  return folder_.empty() ? "" : folder_ + "/" + hex(hash_of(key)) + ".bin";
}

// A file is the mark, the key with its length, the binary's hash, and the binary.
std::optional<std::string> BinaryCache::find(std::string_view key) const {
  const std::string path = path_of(key);
  if (path.empty() || !check_unshared(path)) return std::nullopt;
  const auto file = read_file(path, kMostOfFile);
  if (!file) return std::nullopt;
  std::string_view rest = *file;
  std::uint64_t length = 0, hash = 0;
  if (!rest.starts_with(kMark)) return std::nullopt;
  rest.remove_prefix(kMark.size());
  if (!take_value(rest, length) || length != key.size() || !rest.starts_with(key))
    return std::nullopt;
  rest.remove_prefix(key.size());
  if (!take_value(rest, hash) || hash != hash_of(rest)) return std::nullopt;
  return std::string(rest);
}

void BinaryCache::store(std::string_view key, std::string_view binary) const {
  if (folder_.empty()) return;
  std::string file(kMark);
  append_value(file, static_cast<std::uint64_t>(key.size()));
  file += key;
  append_value(file, hash_of(binary));
  file += binary;
  if (const Status written = write_whole(path_of(key), file); !written)
    log(LogLevel::kDebug, "a built program is not kept: {}", written.error().text());
}

std::string BinaryCache::store_log(std::string_view log) const {
  if (folder_.empty()) return "";
  std::string path = folder_ + "/last-build.log";
  return write_whole(path, log) ? path : "";
}

}  // namespace lathe::device
