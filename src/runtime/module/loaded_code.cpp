#include "runtime/module/loaded_code.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace lathe::module {
namespace {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

std::string path_of(int file) { return fmt::format("/proc/self/fd/{}", file); }

FileIdentity identity_of(int file) {
  struct stat info{};
  if (fstat(file, &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

bool read_at(int file, void* out, std::size_t size, std::uint64_t place) {
  return pread(file, out, size, static_cast<off_t>(place)) == static_cast<ssize_t>(size);
}

// Whether all that the loader will map is there: beyond the end of a file is no memory.
bool is_whole(int file) {
  struct stat info{};
  Elf64_Ehdr header{};
  if (fstat(file, &info) != 0 || !read_at(file, &header, sizeof header, 0)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(file, &part, sizeof part,
                 header.e_phoff + static_cast<std::size_t>(i) * sizeof part))
      return false;
    if (part.p_offset > size || part.p_filesz > size - part.p_offset) return false;
  }
  return true;
}

// The loader knows libraries by name: one whose file is closed may still have this file's name.
int with_a_free_name(int file) {
  while (void* other = dlopen(path_of(file).c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(other);
    const int next = fcntl(file, F_DUPFD_CLOEXEC, file + 1);
    close(file);
    if (next < 0) return next;
    file = next;
  }
  return file;
}

std::unexpected<Error> refused_by_system() {
  return fail(ErrorKind::kIo, "cannot keep code in a file in memory: {}", std::strerror(errno));
}

std::unexpected<Error> refused_by_loader() {
  const char* said = dlerror();
  const std::string why = said != nullptr ? said : "unknown reason";
  const bool memory = why.find("allocate memory") != std::string::npos;
  return fail(memory ? ErrorKind::kOutOfMemory : ErrorKind::kDataLoss,
              "cannot load the library: {}", why);
}

}  // namespace

LoadedCode::~LoadedCode() {
  dlclose(library_);
  // A child that closes all its files may have given the number to another.
  if (identity_of(file_) == identity_) close(file_);
}

void* LoadedCode::find(const char* symbol) const { return dlsym(library_, symbol); }

Result<std::unique_ptr<LoadedCode>> LoadedCode::of_file(int file) {
  if (!is_whole(file)) {
    close(file);
    return fail(ErrorKind::kDataLoss,
                "cannot load the library: it is none for this kind of machine, or only the "
                "beginning of one");
  }
  file = with_a_free_name(file);
  if (file < 0) return refused_by_system();
  void* library = dlopen(path_of(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr)
    return std::unique_ptr<LoadedCode>(new LoadedCode(file, identity_of(file), library));
  auto why = refused_by_loader();
  close(file);
  return why;
}

Result<std::unique_ptr<LoadedCode>> LoadedCode::of_bytes(std::span<const std::byte> shared_object) {
  const int file = memfd_create("lathe", MFD_CLOEXEC);
  if (file < 0) return refused_by_system();
  if (write_all(file, shared_object)) return of_file(file);
  auto why = refused_by_system();
  close(file);
  return why;
}

}  // namespace lathe::module
