#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/trust.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {
namespace {

namespace fs = std::filesystem;

// It changes when a reference or its inputs do.
constexpr std::uint64_t kFormat = 0x3130464552544c06;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

std::uint64_t checksum(const std::vector<double>& values) {
  Hasher hasher;
  for (const double value : values) hasher.add(std::bit_cast<std::uint64_t>(value));
  return hasher.value();
}

// {format, hash of the key, number of outputs, sizes ..., checksums ..., values and bounds}
std::vector<std::uint64_t> header_of(const te::Workload& workload, std::uint64_t seed,
                                     const Reference& reference) {
  std::vector<std::uint64_t> header{kFormat,
                                    Hasher().add(te::workload_key(workload)).add(seed).value()};
  for (std::size_t o = 0; o < reference.values.size(); ++o)
    for (const auto* part : {&reference.values[o], &reference.bounds[o]}) {
      header.push_back(part->size());
      header.push_back(checksum(*part));
    }
  return header;
}

void forget_oldest(const std::string& folder) {
  struct File {
    fs::path path;
    fs::file_time_type written;
    std::uintmax_t bytes;
  };
  // Other processes write and remove files meanwhile, so each is asked once.
  std::error_code code;
  std::vector<File> files;
  std::uintmax_t total = 0;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    const File file{at->path(), at->last_write_time(gone), at->file_size(gone)};
    if (gone || !file.path.filename().string().contains(".reference")) continue;
    files.push_back(file);
    total += file.bytes;
  }
  std::ranges::sort(files, {}, &File::written);
  for (const File& file : files) {
    if (total <= kMostBytes) break;
    total -= file.bytes;
    fs::remove(file.path, code);
  }
}

}  // namespace

ReferenceCache::ReferenceCache(const std::string& folder)
    : folder_(folder == "-"                 ? std::string()
              : folder.empty()              ? own_cache_folder()
              : make_private_folder(folder) ? folder
                                            : std::string()) {}

std::string ReferenceCache::path_of(const te::Workload& workload, std::uint64_t seed) const {
  return folder_ + "/" + hex(Hasher().add(te::workload_key(workload)).add(seed).value()) +
         ".reference";
}

std::optional<Reference> ReferenceCache::load(const te::Workload& workload,
                                              std::uint64_t seed) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path_of(workload, seed), std::ios::binary);
  Reference reference;
  for (const int t : workload.outputs()) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : workload.tensors[t].shape) elements *= extent;
    reference.values.emplace_back(static_cast<std::size_t>(elements));
    reference.bounds.emplace_back(static_cast<std::size_t>(elements));
  }
  std::vector<std::uint64_t> header(2 + 4 * reference.values.size());
  const auto read = [&](auto& part) {
    file.read(reinterpret_cast<char*>(part.data()),
              static_cast<std::streamsize>(part.size() * sizeof part[0]));
  };
  read(header);
  for (std::size_t o = 0; o < reference.values.size(); ++o) {
    read(reference.values[o]);
    read(reference.bounds[o]);
  }
  if (!file || file.peek() != std::ifstream::traits_type::eof()) return std::nullopt;
  if (header != header_of(workload, seed, reference)) return std::nullopt;
  return reference;
}

void ReferenceCache::save(const te::Workload& workload, std::uint64_t seed,
                          const Reference& reference) const {
  if (folder_.empty()) return;
  std::error_code code;
  const std::string path = path_of(workload, seed),
                    partial = path + "." + std::to_string(::getpid());
  {
    std::ofstream file(partial, std::ios::binary);
    const auto write = [&](const auto& part) {
      file.write(reinterpret_cast<const char*>(part.data()),
                 static_cast<std::streamsize>(part.size() * sizeof part[0]));
    };
    write(header_of(workload, seed, reference));
    for (std::size_t o = 0; o < reference.values.size(); ++o) {
      write(reference.values[o]);
      write(reference.bounds[o]);
    }
    if (!file) {
      file.close();
      fs::remove(partial, code);
      return;
    }
  }
  fs::rename(partial, path, code);
  forget_oldest(folder_);
}

}  // namespace lathe::measure
