// Libraries for tests: lowered programs of small expressions, and the functions of what was
// written, looked up.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/codegen.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "runtime/artifact/artifact.h"

namespace lathe::package {

inline Target target(const std::string& text) {
  return *codegen::resolve_target(*parse_target(text));
}

inline flat::Program lowered(const std::string& text, const Target& t) {
  const auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text());
  const ir::Nest nest = te::naive_nest(*workload);
  auto out = lower::lower(ir::SizedNest(nest, {}), t);
  if (!out) throw std::runtime_error(out.error().text());
  return *out;
}

// Y[i] = X[i] + X[i] for `size` numbers, its loop on all of the target's threads.
inline flat::Program doubled_in_parallel(const Target& t, std::int64_t size) {
  using namespace flat;
  flat::Program p = lowered(fmt::format("X: f32[{}]; Y[i] = X[i] + X[i]", size), t);
  // By hand, as an annotation would.
  p.vars = {"i"};
  const Expr x = load(0, var(0), {});
  set_run(p, parallel_for(0, int_imm(0), int_imm(size),
                          store(1, var(0), binary(flat::BinaryOp::kAdd, x, x))));
  return p;
}

inline DLTensor view(std::vector<float>& data, std::int64_t* shape, int ndim) {
  return {data.data(), {kDLCPU, 0}, ndim, {kDLFloat, 32, 1}, shape, nullptr, 0};
}

// The functions of an artifact, looked up.
struct Library {
  Library(const std::string& path, const std::string& name, int scope = RTLD_LOCAL)
      : handle(dlopen(path.c_str(), RTLD_NOW | scope)) {
    if (!handle) throw std::runtime_error(dlerror());
    const std::string prefix = "lathe_" + name + "_";
    find(create, prefix + "create");
    find(prepare, prefix + "prepare");
    find(run, prefix + "run");
    find(destroy, prefix + "destroy");
    find(message, prefix + "message");
  }
  ~Library() { dlclose(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  template <class F>
  void find(F& f, const std::string& name) const {
    f = reinterpret_cast<F>(dlsym(handle, name.c_str()));
    if (!f) throw std::runtime_error(name);
  }

  void* handle;
  int (*create)(const lathe_parallel*, lathe_handle**) = nullptr;
  int (*prepare)(lathe_handle*, const DLTensor* const*) = nullptr;
  int (*run)(lathe_handle*, const DLTensor* const*, DLTensor* const*) = nullptr;
  void (*destroy)(lathe_handle*) = nullptr;
  const char* (*message)(const lathe_handle*) = nullptr;
};

}  // namespace lathe::package
