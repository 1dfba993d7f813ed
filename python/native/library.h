// A program in this process: a library that `lathe compile` made, opened without its header, or
// generated code alone, run by the artifact's functions that this extension has inside.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lathe/lathe.h"
#include "runtime/artifact/artifact.h"
#include "runtime/module/loaded_code.h"

namespace lathe::python {

// The functions of the library's header, but for create. A library for a card has the two that take
// a stream in place of the two that do not.
struct Functions {
  std::int32_t (*prepare)(lathe_handle*, const DLTensor* const*);
  std::int32_t (*run)(lathe_handle*, const DLTensor* const*, DLTensor* const*);
  void (*destroy)(lathe_handle*);
  const char* (*message)(const lathe_handle*);
  std::int32_t (*prepare_on)(lathe_handle*, const DLTensor* const*, void* stream);
  std::int32_t (*run_on)(lathe_handle*, const DLTensor* const*, DLTensor* const*, void* stream);
};

class Library {
 public:
  // From its bytes, so that a file that changes later, or another of that name, does no harm.
  // `place` is the file's name for errors.
  static Expected<std::shared_ptr<Library>> open(std::vector<std::byte> bytes,
                                                 const std::string& place);
  static Expected<std::shared_ptr<Library>> open(const std::string& path);
  // Of Workload::module(); the tensors are the workload's.
  static Expected<std::shared_ptr<Library>> of_module(std::vector<std::byte> bytes,
                                                      const std::vector<TensorInfo>& inputs,
                                                      const std::vector<TensorInfo>& outputs,
                                                      int threads);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const lathe_artifact& artifact() const { return *artifact_; }
  const Functions& functions() const { return functions_; }
  // A handle; the message tells why there is none.
  std::int32_t create(lathe_handle** handle) const;
  // Of a module: a handle whose regions this runtime runs, with as many threads as the module has.
  std::int32_t create_on(const lathe_runtime& runtime, lathe_handle** handle) const;
  const char* create_message() const { return functions_.message(nullptr); }
  bool is_module() const { return table_ != nullptr; }
  // The file of its weights; empty: they are inside.
  const std::string& weights() const { return weights_; }
  // Whether its tensors are on a card of NVIDIA, and its calls are given to a stream.
  bool is_for_card() const { return functions_.run_on != nullptr; }
  // `stream` counts only for a card.
  std::int32_t prepare(lathe_handle* handle, const DLTensor* const* inputs, void* stream) const;
  std::int32_t run(lathe_handle* handle, const DLTensor* const* inputs, DLTensor* const* outputs,
                   void* stream) const;
  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t inputs() const { return static_cast<std::size_t>(artifact_->module->inputs); }
  std::size_t outputs() const { return static_cast<std::size_t>(artifact_->module->outputs); }

 private:
  Library() = default;
  Expected<void> load(const std::string& place);
  Expected<void> find_library(const std::string& place);
  Expected<void> find_module();
  bool find_functions(bool for_card);
  Expected<void> find_weights(const std::string& place);
  void describe(const std::vector<TensorInfo>& inputs, const std::vector<TensorInfo>& outputs,
                int threads);

  std::vector<std::byte> bytes_;
  std::unique_ptr<module::LoadedCode> code_;
  const lathe_artifact* artifact_ = nullptr;
  Functions functions_{};
  std::int32_t (*create_)(const lathe_parallel*, lathe_handle**) = nullptr;
  // Of a library with weights: it is loaded from memory, and would look for them there.
  std::int32_t (*create_from_)(const char*, const lathe_parallel*, lathe_handle**) = nullptr;
  std::string weights_;
  // Of a module: what a library has inside.
  const lathe_module* table_ = nullptr;
  lathe_artifact own_{};
  std::vector<TensorInfo> infos_;
  std::vector<lathe_artifact_tensor> tensors_;
};

}  // namespace lathe::python
