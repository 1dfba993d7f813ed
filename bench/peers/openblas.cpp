// OpenBLAS as a contestant. It is opened at run time, so that any version can be measured. Usage:
// peer-openblas LIBRARY [PREFIX]. PREFIX stands before every name, as in the build for Python's
// wheels.
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "peers/serve.h"

namespace lathe::bench {
namespace {

constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

struct Library {
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c,
                int ldc) = nullptr;
  void (*set_num_threads)(int) = nullptr;
  char* (*get_config)() = nullptr;
  char* (*get_corename)() = nullptr;
};

template <class Function>
Status look_up(void* handle, const std::string& name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name.c_str()));
  if (function == nullptr) return fail(ErrorKind::kNotFound, "the library has no {}", name);
  return {};
}

Result<Library> open_library(const char* path, const std::string& prefix) {
  void* handle = dlopen(path, RTLD_NOW);
  if (handle == nullptr) return fail(ErrorKind::kNotFound, "{}", dlerror());
  Library library;
  LATHE_TRY_STATUS(look_up(handle, prefix + "cblas_sgemm", library.sgemm));
  LATHE_TRY_STATUS(look_up(handle, prefix + "openblas_set_num_threads", library.set_num_threads));
  LATHE_TRY_STATUS(look_up(handle, prefix + "openblas_get_config", library.get_config));
  LATHE_TRY_STATUS(look_up(handle, prefix + "openblas_get_corename", library.get_corename));
  return library;
}

Result<Contender> set_up(const Library& library, const Json& workload) {
  if (LATHE_TRY(json_string(workload, "kind")) != "matmul")
    return fail(ErrorKind::kUnsupported, "OpenBLAS computes matrix products only");
  const int m = static_cast<int>(LATHE_TRY(json_int(workload, "m")));
  const int n = static_cast<int>(LATHE_TRY(json_int(workload, "n")));
  const int k = static_cast<int>(LATHE_TRY(json_int(workload, "k")));
  const bool transpose_a = LATHE_TRY(json_bool(workload, "transpose_a"));
  const bool transpose_b = LATHE_TRY(json_bool(workload, "transpose_b"));
  library.set_num_threads(static_cast<int>(LATHE_TRY(json_int(workload, "threads"))));
  const auto a = random_buffer(static_cast<std::size_t>(m) * k, 1);
  const auto b = random_buffer(static_cast<std::size_t>(k) * n, 2);
  const auto c = random_buffer(static_cast<std::size_t>(m) * n, 3);
  auto run = [=] {
    library.sgemm(kRowMajor, transpose_a ? kTrans : kNoTrans, transpose_b ? kTrans : kNoTrans, m, n,
                  k, 1.0F, a.get(), transpose_a ? m : k, b.get(), transpose_b ? k : n, 0.0F,
                  c.get(), n);
  };
  return Contender{run, fmt::format("{} ({})", library.get_config(), library.get_corename())};
}

}  // namespace
}  // namespace lathe::bench

int main(int argc, char** argv) {
  using namespace lathe;
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: {} LIBRARY [PREFIX]\n", argv[0]);
    return 2;
  }
  const auto library = bench::open_library(argv[1], argc == 3 ? argv[2] : "");
  if (!library) {
    fmt::print(stderr, "{}\n", library.error().text());
    return 1;
  }
  return bench::serve([&](const Json& workload) { return bench::set_up(*library, workload); });
}
