#include "runtime/module/module.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lathe::module {
namespace {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

Status check(const lathe_module* table) {
  if (!table)
    return fail(ErrorKind::kDataLoss, "the library has no symbol \"{}\"; it was not made by lathe",
                LATHE_MODULE_SYMBOL);
  if (table->abi != LATHE_MODULE_ABI)
    return fail(ErrorKind::kDataLoss,
                "the library has interface version {}, this program version {}; build it again",
                table->abi, LATHE_MODULE_ABI);
  if (!table->run || table->inputs < 0 || table->outputs < 0 || table->constant_bytes < 0 ||
      table->workspace_bytes < 0 || table->worker_bytes < 0)
    return fail(ErrorKind::kDataLoss, "the library's table is damaged; build it again");
  return {};
}

}  // namespace

Module::~Module() {
  dlclose(library_);
  close(file_);
}

Result<std::unique_ptr<Module>> open_module(int file) {
  void* library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* said = dlerror();
    const std::string why = said ? said : "unknown reason";
    close(file);
    const bool memory = why.find("allocate memory") != std::string::npos;
    return fail(memory ? ErrorKind::kOutOfMemory : ErrorKind::kDataLoss,
                "cannot load the library: {}", why);
  }
  const auto* table = static_cast<const lathe_module*>(dlsym(library, LATHE_MODULE_SYMBOL));
  auto loaded = std::make_unique<Module>(file, library, table);
  LATHE_TRY_STATUS(check(table));
  return loaded;
}

Result<std::unique_ptr<Module>> load_module(std::span<const std::byte> shared_object) {
  const int file = memfd_create("lathe", MFD_CLOEXEC);
  if (file < 0)
    return fail(ErrorKind::kIo, "cannot make a file in memory: {}", std::strerror(errno));
  if (!write_all(file, shared_object)) {
    const int code = errno;
    close(file);
    return fail(ErrorKind::kIo, "cannot write {} bytes of code to memory: {}", shared_object.size(),
                std::strerror(code));
  }
  return open_module(file);
}

}  // namespace lathe::module
