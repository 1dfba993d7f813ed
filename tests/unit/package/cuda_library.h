// Libraries for cards of NVIDIA, made, opened and called in tests, on the double of the driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "api/targets.h"
#include "api/workload.h"
#include "base/file.h"
#include "runtime/artifact/artifact.h"
#include "runtime/device/cuda/api.h"
#include "support/fake_cuda/options.h"
#include "support/temporary_folder.h"
#include "unit/package/written_library.h"

namespace lathe {

// The functions of a library for a card, looked up.
struct CardLibrary {
  CardLibrary(const std::string& path, const std::string& name)
      : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) throw std::runtime_error(dlerror());
    find(create, name + "_create"), find(prepare, name + "_prepare");
    find(run, name + "_run"), find(destroy, name + "_destroy");
    find(message, name + "_message");
  }
  CardLibrary(const CardLibrary&) = delete;
  CardLibrary& operator=(const CardLibrary&) = delete;
  ~CardLibrary() { dlclose(handle); }
  template <class F>
  void find(F& f, const std::string& name) {
    f = reinterpret_cast<F>(dlsym(handle, ("lathe_" + name).c_str()));
    if (!f) throw std::runtime_error(name);
  }

  void* handle;
  int (*create)(const lathe_parallel*, lathe_handle**) = nullptr;
  int (*prepare)(lathe_handle*, const DLTensor* const*, void*) = nullptr;
  int (*run)(lathe_handle*, const DLTensor* const*, DLTensor* const*, void*) = nullptr;
  void (*destroy)(lathe_handle*) = nullptr;
  const char* (*message)(const lathe_handle*) = nullptr;
};

inline DLDataType dl_type_of(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  const bool is_signed = !is_float(dtype) && !is_unsigned(dtype);
  const int code = dtype == Dtype::kBF16 ? kDLBfloat
                   : is_float(dtype)     ? kDLFloat
                   : is_signed           ? kDLInt
                                         : kDLUInt;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

// Tensors on the card, with what is sent there and fetched from it.
struct CardTensors {
  CardTensors(const cuda::Api& driver, const std::vector<interp::Tensor>& tensors)
      : api(driver), shapes(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const interp::Tensor& t = tensors[i];
      shapes[i] = t.shape;
      types.push_back(t.dtype);
      sizes.push_back(t.values.size());
      cuda::Address address = 0;
      own_code(api.MemAlloc(&address, bytes(i)));
      views.push_back({reinterpret_cast<void*>(address),
                       {kDLCUDA, 0},
                       static_cast<int>(t.shape.size()),
                       dl_type_of(t.dtype),
                       shapes[i].data(),
                       nullptr,
                       0});
      send(i, t.values);
    }
    for (DLTensor& view : views) pointers.push_back(&view);
  }
  ~CardTensors() {
    for (std::size_t i = 0; i < views.size(); ++i) api.MemFree(address(i));
  }
  CardTensors(const CardTensors&) = delete;
  CardTensors& operator=(const CardTensors&) = delete;

  std::size_t bytes(std::size_t i) const {
    return sizes[i] * static_cast<std::size_t>(size_of(types[i]));
  }
  void send(std::size_t i, const std::vector<double>& values) {
    const std::vector<std::byte> stored = store(i, values);
    own_code(api.MemcpyHtoDAsync(address(i), stored.data(), stored.size(), nullptr));
  }
  std::vector<double> fetch(std::size_t i) {
    std::vector<std::byte> stored(bytes(i));
    own_code(api.MemcpyDtoHAsync(stored.data(), address(i), stored.size(), nullptr));
    own_code(api.StreamSynchronize(nullptr));
    std::vector<double> values;
    for (std::size_t e = 0; e < sizes[i]; ++e)
      values.push_back(load_element(types[i], stored.data() + e * element(i)));
    return values;
  }
  // In the host's memory, as storage has them.
  std::vector<std::byte> store(std::size_t i, const std::vector<double>& values) const {
    std::vector<std::byte> stored(bytes(i));
    for (std::size_t e = 0; e < sizes[i]; ++e)
      store_element(types[i], stored.data() + e * element(i), values[e]);
    return stored;
  }
  cuda::Address address(std::size_t i) const {
    return reinterpret_cast<cuda::Address>(views[i].data);
  }
  std::size_t element(std::size_t i) const { return static_cast<std::size_t>(size_of(types[i])); }
  // A call of the test's own that fails.
  static void own_code(int code) {
    if (code != 0) throw std::runtime_error("a call of the test fails: " + std::to_string(code));
  }

  const cuda::Api& api;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<Dtype> types;
  std::vector<std::size_t> sizes;  // elements
  std::vector<DLTensor> views;
  std::vector<DLTensor*> pointers;
};

// A workload with its library, inputs and expected outputs.
struct CardCase : WrittenLibrary {
  std::unique_ptr<CardLibrary> library;
  std::unique_ptr<CardTensors> in, out;

  std::string fault() const {
    for (std::size_t o = 0; o < want.size(); ++o)
      if (std::string why = interp::compare(want[o], out->fetch(o)); !why.empty()) return why;
    return "";
  }
  void clear() const {
    for (std::size_t o = 0; o < want.size(); ++o)
      out->send(o, std::vector<double>(want[o].values.size(), 77.0));
  }
};

class CudaLibrary : public ::testing::Test {
 protected:
  // Each test has a driver of its own, which reads what it is told when it is first called.
  void SetUp() override {
    std::filesystem::copy_file(LATHE_FAKE_CUDA_LIBRARY, folder_.at("double.so"));
    ::setenv("LATHE_CUDA_LIBRARY", folder_.at("double.so").c_str(), 1);
    ::setenv("LATHE_PTXAS", "", 1);
    ::setenv("PATH", "/usr/bin:/bin", 1);
    tell("");
  }
  void TearDown() override {
    for (cuda::Stream stream : streams_) driver().StreamDestroy(stream);
    for (cuda::Context context : contexts_) driver().CtxDestroy(context);
    ::unsetenv("LATHE_CUDA_LIBRARY");
    ::unsetenv("LATHE_FAKE_CUDA");
  }
  void tell(const std::string& words) const {
    const std::string all = "state=" + folder_.at("state") + " " + words;
    ::setenv("LATHE_FAKE_CUDA", all.c_str(), 1);
  }

  const cuda::Api& driver() {
    if (api_ == nullptr) {
      const auto opened = cuda::open_api();
      if (!opened) throw std::runtime_error(opened.error().text());
      api_ = *opened;
    }
    return *api_;
  }
  // Makes the primary context of a card the current one, as programs that use CUDA's runtime have
  // it.
  cuda::Context use_card(int number = 0) {
    cuda::Context context = nullptr;
    CardTensors::own_code(driver().DevicePrimaryCtxRetain(&context, number));
    CardTensors::own_code(driver().CtxPushCurrent(context));
    return context;
  }
  // A stream of the current context, which the test ends.
  cuda::Stream stream() {
    cuda::Stream made = nullptr;
    CardTensors::own_code(driver().StreamCreate(&made, cuda::kStreamNonBlocking));
    streams_.push_back(made);
    return made;
  }
  // A new context, the current one from now on.
  cuda::Context new_context(int card) {
    cuda::Context made = nullptr;
    CardTensors::own_code(driver().CtxCreate(&made, 0, card));
    contexts_.push_back(made);
    return made;
  }
  std::map<std::string, std::int64_t> calls() const {
    const std::string bytes = *read_file(folder_.at("state"));
    fake_cuda::State counted{};
    std::memcpy(&counted, bytes.data(), sizeof counted);
    std::map<std::string, std::int64_t> out;
    for (const fake_cuda::Counter& counter : counted.functions)
      if (counter.name[0] != 0) out[counter.name] = counter.calls;
    return out;
  }

  // Writes the library, and computes what it should.
  CardCase write(const api::WorkloadRequest& request, const std::string& name,
                 const std::string& target = "cuda:sm_80") {
    CardCase c{written_library(request, folder_.at(name + ".so"), name, target)};
    return c;
  }
  // Opens it, and brings the tensors to the card.
  void open(CardCase& c) {
    c.library = std::make_unique<CardLibrary>(c.files.library, c.files.name);
    c.in = std::make_unique<CardTensors>(driver(), c.inputs);
    c.out = std::make_unique<CardTensors>(driver(), c.want);
    c.clear();
  }
  CardCase make(const api::WorkloadRequest& request, const std::string& name,
                const std::string& target = "cuda:sm_80") {
    CardCase c = write(request, name, target);
    open(c);
    return c;
  }
  static api::WorkloadRequest product() {
    return {.text = "C[i,j] = sum(k) A[k,i] * B[k,j]", .shapes = {"A=24,40", "B=24,33"}};
  }
  static api::WorkloadRequest convolution() {
    return {.text = "conv2d",
            .flags = {{"input", "1,8,9,9"}, {"weight", "16,8,3,3"}, {"pad", "1"}}};
  }

  test::TemporaryFolder folder_;
  std::shared_ptr<const cuda::Api> api_;
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Context> contexts_;
};

}  // namespace lathe
