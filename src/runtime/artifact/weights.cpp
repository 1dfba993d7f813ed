// Uses plain memory and no exceptions: this file goes into artifacts, which need libc only.
#include "runtime/artifact/weights.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace lathe::artifact {
namespace {

// A path that fits into a message, with its end.
void add_path(const char* path, Message& message) {
  constexpr std::size_t kMost = 100;
  const std::size_t length = std::strlen(path);
  if (length > kMost) message.add("...");
  message.add(length > kMost ? path + length - kMost : path);
}

std::int32_t refuse_file(const char* path, const char* why, Message& message) {
  message.clear();
  message.add("the weights ");
  add_path(path, message);
  message.add(" ").add(why);
  return LATHE_NO_WEIGHTS;
}

// The folder with which the loader found the library, as it was then: the working directory may be
// another one since.
constexpr std::size_t kPath = 2 * PATH_MAX;
bool folder_of(const void* in_library, char (&folder)[kPath]) {
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(in_library, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return false;
  return dlinfo(map, RTLD_DI_ORIGIN, folder) == 0 && folder[0] == '/';
}

bool append(char (&path)[kPath], const char* text) {
  const std::size_t length = std::strlen(path), more = std::strlen(text);
  if (length + more >= kPath) return false;
  std::memcpy(path + length, text, more + 1);
  return true;
}

const char* last_part(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

int open_file(const char* path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

// Beside the file that a link in the library's place leads to.
int open_behind_link(const lathe_artifact& artifact, char (&library)[kPath]) {
  char real[PATH_MAX];
  Dl_info info{};
  struct stat there{};
  if (dladdr(&artifact, &info) == 0 || !append(library, "/") ||
      !append(library, last_part(info.dli_fname)) || lstat(library, &there) != 0 ||
      !S_ISLNK(there.st_mode) || realpath(library, real) == nullptr)
    return -1;
  real[last_part(real) - real] = '\0';
  library[0] = '\0';
  return append(library, real) && append(library, artifact.weights->file) ? open_file(library) : -1;
}

// Beside the library; `path` becomes that place. -1 and errno where it is not there.
int open_beside(const lathe_artifact& artifact, char (&path)[kPath]) {
  char folder[kPath] = {};
  path[0] = '\0';
  const bool known = folder_of(&artifact, folder) && append(path, folder) && append(path, "/");
  errno = ENOENT;
  if (!append(path, artifact.weights->file) || !known) return -1;
  int file = open_file(path);
  if (file >= 0 || errno != ENOENT) return file;
  file = open_behind_link(artifact, folder);
  if (file < 0) errno = ENOENT;
  return file;
}

// "" where the file is what the library wants, else what is wrong with it.
const char* fault_of(int file, const lathe_artifact& artifact) {
  constexpr const char* kNone =
      "are no file of weights: take the file that lathe compile wrote with the library";
  struct stat info{};
  WeightsHead head{};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return kNone;
  if (pread(file, &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head) ||
      std::memcmp(head.magic, kWeightsMagic, sizeof head.magic) != 0)
    return kNone;
  if (head.hash != artifact.weights->hash || head.bytes != artifact.module->constant_bytes)
    return "belong to another library, or to one compiled at another time: take both files of "
           "one lathe compile";
  if (info.st_size != kWeightsHead + head.bytes)
    return "are cut off or damaged: copy the file again from where lathe compile wrote it";
  return "";
}

}  // namespace

std::int32_t map_weights(const lathe_artifact& artifact, const char* path, Weights& mapped,
                         Message& message) {
  char beside[kPath];
  const int file = path != nullptr ? open_file(path) : open_beside(artifact, beside);
  if (path == nullptr) path = beside;
  if (file < 0 && errno == ENOENT)
    return refuse_file(
        path, "are not there: put the file that lathe compile wrote beside the library", message);
  if (file < 0) return refuse_file(path, "cannot be read: see to its permissions", message);
  const char* fault = fault_of(file, artifact);
  if (fault[0] != '\0') {
    close(file);
    return refuse_file(path, fault, message);
  }
  mapped.bytes = kWeightsHead + artifact.module->constant_bytes;
  const auto size = static_cast<std::size_t>(mapped.bytes);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return LATHE_OK;  // without constants: there is no memory
  mapped.constants = static_cast<char*>(memory) + kWeightsHead;
  madvise(memory, size, MADV_WILLNEED);
  return LATHE_OK;
}

void unmap_weights(const Weights& mapped) {
  munmap(static_cast<char*>(mapped.constants) - kWeightsHead,
         static_cast<std::size_t>(mapped.bytes));
}

}  // namespace lathe::artifact
