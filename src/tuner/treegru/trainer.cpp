#include "tuner/treegru/trainer.h"

#include <dlfcn.h>

#include "base/helper_path.h"

namespace lathe::treegru {
namespace {

Result<std::string> plugin_path() {
  auto path = find_helper(kPluginName);
  if (path || path.error().kind != ErrorKind::kNotFound) return path;
  return fail(ErrorKind::kUnsupported,
              "training TreeGRU needs libtorch, which this Lathe was built without: install "
              "libtorch-dev (scripts/install "
              "--torch) and build again, or choose an xgb model");
}

}  // namespace

Status check_trainer() {
  LATHE_TRY(plugin_path());
  return {};
}

Result<std::unique_ptr<Trainer>> make_trainer(const Weights& start, int threads) {
  const std::string path = LATHE_TRY(plugin_path());
  // It is never closed: such libraries do not survive that.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail_at(path, ErrorKind::kUnsupported, "libtorch cannot be loaded: {}", ::dlerror());
  const auto entry = reinterpret_cast<PluginEntry*>(::dlsym(library, kPluginEntry));
  if (entry == nullptr)
    return fail_at(path, ErrorKind::kUnsupported,
                   "it is of another version of Lathe; build or install both together");
  std::string error;
  std::unique_ptr<Trainer> trainer(entry(start, threads, error));
  if (trainer == nullptr) return fail(ErrorKind::kInternal, "libtorch failed: {}", error);
  return trainer;
}

}  // namespace lathe::treegru
