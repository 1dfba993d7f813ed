#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace lathe::python {
namespace {

std::unexpected<Failure> fail(const char* kind, std::string message, const std::string& place) {
  return std::unexpected(Failure{kind, std::move(message), place});
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

// 0: there is no such file.
std::uint64_t inode_of(int file) {
  struct stat info{};
  return fstat(file, &info) == 0 ? info.st_ino : 0;
}

// Whether all that the loader will map is there: beyond the end of a file is no memory.
bool is_whole(std::span<const std::byte> bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size() ||
      header.e_phnum > (bytes.size() - header.e_phoff) / sizeof(Elf64_Phdr))
    return false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    std::memcpy(&part, bytes.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_offset > bytes.size() || part.p_filesz > bytes.size() - part.p_offset) return false;
  }
  return true;
}

struct Type {
  std::int64_t code, bits;
};
Type type_of(const std::string& name) {
  constexpr int kBool = 6;  // of newer versions of DLPack
  if (name == "bool") return {kBool, 8};
  if (name == "bf16") return {kDLBfloat, 16};
  const DLDataTypeCode code = name[0] == 'f' ? kDLFloat : name[0] == 'i' ? kDLInt : kDLUInt;
  return {code, std::stoi(name.substr(1))};
}

template <class Function>
bool find(void* library, const std::string& name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library, name.c_str()));
  return out != nullptr;
}

}  // namespace

Library::~Library() {
  if (loaded_ != nullptr) dlclose(loaded_);
  // A child that closes all its files may have given the number to another.
  if (file_ >= 0 && inode_of(file_) == inode_) close(file_);
}

Expected<std::shared_ptr<Library>> Library::open(const std::string& path) {
  std::error_code unknown;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text;
  if (std::filesystem::is_regular_file(path, unknown))
    text.assign(std::istreambuf_iterator<char>(file), {});
  if (text.empty() || file.bad())
    return fail("not-found", "this file cannot be read; give a library of lathe compile", path);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return open(std::move(bytes), path);
}

Expected<std::shared_ptr<Library>> Library::open(std::vector<std::byte> bytes,
                                                 const std::string& place) {
  std::shared_ptr<Library> made(new Library);
  made->bytes_ = std::move(bytes);
  if (auto loaded = made->load(place); !loaded) return std::unexpected(std::move(loaded.error()));
  if (auto found = made->find_library(place); !found)
    return std::unexpected(std::move(found.error()));
  return made;
}

Expected<std::shared_ptr<Library>> Library::of_module(std::vector<std::byte> bytes,
                                                      const std::vector<TensorInfo>& inputs,
                                                      const std::vector<TensorInfo>& outputs,
                                                      int threads) {
  std::shared_ptr<Library> made(new Library);
  made->bytes_ = std::move(bytes);
  if (auto loaded = made->load(""); !loaded) return std::unexpected(std::move(loaded.error()));
  if (auto found = made->find_module(); !found) return std::unexpected(std::move(found.error()));
  made->describe(inputs, outputs, threads);
  return made;
}

Expected<void> Library::find_module() {
  table_ = static_cast<const lathe_module*>(dlsym(loaded_, LATHE_MODULE_SYMBOL));
  if (table_ == nullptr || table_->abi != LATHE_MODULE_ABI)
    return fail("data-loss", "the program was made by another version of Lathe; make it again", "");
  return {};
}

void Library::describe(const std::vector<TensorInfo>& inputs,
                       const std::vector<TensorInfo>& outputs, int threads) {
  infos_ = inputs;
  infos_.insert(infos_.end(), outputs.begin(), outputs.end());
  for (const TensorInfo& info : infos_) {
    const auto [code, bits] = type_of(info.dtype);
    std::int64_t bytes = bits / 8;
    for (const std::int64_t extent : info.shape) bytes *= extent;
    tensors_.push_back({info.name.c_str(), info.shape.data(),
                        static_cast<std::int64_t>(info.shape.size()), code, bits, bytes,
                        info.constant, 1});
  }
  own_ = {"kernel", table_, tensors_.data(), threads, 0};
  artifact_ = &own_;
  functions_ = {lathe_artifact_prepare, lathe_artifact_run, lathe_artifact_destroy,
                lathe_artifact_message};
}

std::int32_t Library::create(lathe_handle** handle) const {
  return is_module() ? lathe_artifact_create(artifact_, nullptr, handle) : create_(nullptr, handle);
}

Expected<void> Library::load(const std::string& place) {
  if (!is_whole(bytes_))
    return fail("data-loss",
                "this is no library that can be loaded here, or only the beginning of one; give "
                "one that lathe compile made for this kind of machine",
                place);
  file_ = memfd_create("lathe", MFD_CLOEXEC);
  if (file_ < 0 || !write_all(file_, bytes_))
    return fail("io", std::string("the library cannot be kept in memory: ") + std::strerror(errno),
                place);
  // The loader knows libraries by name: another one, whose file is closed, may still have this.
  while (void* other = dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(other);
    const int next = fcntl(file_, F_DUPFD_CLOEXEC, file_ + 1);
    close(file_);
    file_ = next;
  }
  inode_ = inode_of(file_);
  loaded_ = dlopen(path_of(file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded_ != nullptr) return {};
  return fail("data-loss",
              "this is no library that can be loaded here; give one that lathe compile made for "
              "this kind of machine",
              place);
}

Expected<void> Library::find_library(const std::string& place) {
  const auto* library = static_cast<const lathe_library*>(dlsym(loaded_, LATHE_LIBRARY_SYMBOL));
  if (library == nullptr)
    return fail("data-loss",
                "the library was not made by lathe compile, or by one before it listed what is "
                "inside; make it again",
                place);
  if (library->abi != LATHE_ARTIFACT_ABI || library->count < 1)
    return fail("data-loss", "the library was made by another version of Lathe; make it again",
                place);
  artifact_ = library->artifacts[0];
  if (!find_functions()) return fail("data-loss", "the library lacks a function", place);
  return {};
}

bool Library::find_functions() {
  const std::string prefix = std::string("lathe_") + artifact_->name + "_";
  return find(loaded_, prefix + "create", create_) &&
         find(loaded_, prefix + "prepare", functions_.prepare) &&
         find(loaded_, prefix + "run", functions_.run) &&
         find(loaded_, prefix + "destroy", functions_.destroy) &&
         find(loaded_, prefix + "message", functions_.message);
}

}  // namespace lathe::python
