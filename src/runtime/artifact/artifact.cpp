// Uses plain memory and no exceptions: this file goes into artifacts, which need libc only.
#include "runtime/artifact/artifact.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/artifact/check.h"
#include "runtime/artifact/shared.h"
#include "runtime/module/scratch.h"
#include "runtime/pool/pool.h"

namespace {

using lathe::artifact::address_of;
using lathe::artifact::Message;

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t round_up(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The message of the last create that made no handle, for lathe_artifact_message(NULL).
thread_local Message create_message;

}  // namespace

// A handle lies in one block of memory with its arrays and areas behind it.
struct lathe_handle {
  explicit lathe_handle(const lathe_artifact* made_from, const lathe::pool::Options& options)
      : artifact(made_from), pool(options) {}

  const lathe_artifact* artifact;
  lathe::pool::Pool pool;  // has one thread where the caller brings a way to run loops
  lathe_runtime runtime{};
  lathe_parallel parallel{};   // the caller's; without a function where the pool is used
  void** tensors = nullptr;    // inputs, then outputs
  void** constants = nullptr;  // the constant inputs' addresses, null for the others
  char *fixed = nullptr, *workspace = nullptr, *workers = nullptr;
  bool prepared = false;
  Message message;

  std::int64_t inputs() const { return artifact->module->inputs; }
  std::int64_t count() const { return artifact->module->inputs + artifact->module->outputs; }
  bool has_constants() const {
    for (std::int64_t i = 0; i < inputs(); ++i)
      if (artifact->tensors[i].constant) return true;
    return false;
  }
  void prepare() {
    if (const lathe_entry prepare = artifact->module->prepare)
      prepare(&runtime, constants, fixed, workspace, workers);
    prepared = true;
  }
  std::int32_t refuse(std::int32_t status, const char* why) {
    message.clear();
    message.add(why);
    return status;
  }
};

namespace {

struct Sizes {
  std::int64_t handle, pointers, fixed, workspace, workers;
  std::int64_t total() const { return handle + 2 * pointers + fixed + workspace + workers; }
};

Sizes sizes_of(const lathe_artifact& artifact, std::int64_t threads) {
  const lathe_module& m = *artifact.module;
  return {round_up(sizeof(lathe_handle)),
          round_up((m.inputs + m.outputs) * static_cast<std::int64_t>(sizeof(void*))),
          artifact.shared != nullptr ? 0 : round_up(m.constant_bytes), round_up(m.workspace_bytes),
          round_up(m.worker_bytes * threads)};
}

void lay_out(lathe_handle& handle, char* at, const Sizes& sizes) {
  handle.tensors = reinterpret_cast<void**>(at += sizes.handle);
  handle.constants = reinterpret_cast<void**>(at += sizes.pointers);
  handle.fixed = at += sizes.pointers;
  handle.workspace = at += sizes.fixed;
  handle.workers = at + sizes.workspace;
  std::memset(static_cast<void*>(handle.tensors), 0, static_cast<std::size_t>(2 * sizes.pointers));
}

std::int32_t refuse_create(std::int32_t status, const char* why) {
  create_message.clear();
  create_message.add(why);
  return status;
}

// Refuses an output that shares memory with an input or another output: it would be read after it
// is overwritten.
bool check_overlap(lathe_handle& handle) {
  const auto begin = [&](std::int64_t i) { return static_cast<const char*>(handle.tensors[i]); };
  const auto end = [&](std::int64_t i) { return begin(i) + handle.artifact->tensors[i].bytes; };
  for (std::int64_t out = handle.inputs(); out < handle.count(); ++out)
    for (std::int64_t other = 0; other < out; ++other)
      if (begin(out) < end(other) && begin(other) < end(out)) {
        const lathe_artifact_tensor* tensors = handle.artifact->tensors;
        handle.message.clear();
        handle.message.add("tensors \"")
            .add(tensors[other].name)
            .add("\" and \"")
            .add(tensors[out].name);
        handle.message.add("\" overlap in memory");
        return false;
      }
  return true;
}

// A region on a caller's threads: they meet at the end of each loop.
void run_by_loops(void* self, const lathe_phase* phases, std::int64_t count, void* context) {
  const auto& parallel = *static_cast<const lathe_parallel*>(self);
  for (std::int64_t p = 0; p < count; ++p)
    if (phases[p].count > 0)
      parallel.parallel_for(parallel.self, phases[p].count, phases[p].body, context);
}

// What is known without a caller's constants is computed once.
std::int32_t make_constants(lathe_handle& handle, const char* weights) {
  const lathe_artifact& artifact = *handle.artifact;
  if (artifact.shared == nullptr) {
    if (!handle.has_constants()) handle.prepare();
    return LATHE_OK;
  }
  const std::int32_t status = lathe::artifact::join_shared(
      artifact, {&handle.runtime, handle.constants, handle.workspace, handle.workers}, weights,
      &handle.fixed, create_message);
  handle.prepared = status == LATHE_OK;
  return status;
}

std::int32_t create(const lathe_artifact* artifact, const char* weights,
                    const lathe_parallel* parallel, const lathe_runtime* runtime,
                    lathe_handle** handle) {
  if (handle == nullptr)
    return refuse_create(LATHE_INVALID_ARGUMENT, "there is no place for the handle");
  *handle = nullptr;
  constexpr std::int64_t kMostThreads = 1 << 16;
  if (parallel != nullptr && (parallel->parallel_for == nullptr || parallel->threads < 1 ||
                              parallel->threads > kMostThreads))
    return refuse_create(LATHE_INVALID_ARGUMENT,
                         "lathe_parallel needs a function and from 1 to 65536 threads");
  if (!lathe::artifact::check_cpu(artifact->cpu, create_message)) return LATHE_WRONG_CPU;
  const std::int64_t threads = parallel != nullptr ? parallel->threads : artifact->threads;
  const Sizes sizes = sizes_of(*artifact, threads);
  void* memory = lathe::module::allocate_scratch(sizes.total());
  if (memory == nullptr)
    return refuse_create(LATHE_OUT_OF_MEMORY, "there is not enough memory for the handle");
  const bool has_own = parallel == nullptr && runtime == nullptr;
  const lathe::pool::Options options{.threads = has_own ? static_cast<int>(threads) : 1};
  auto* made = new (memory) lathe_handle(artifact, options);
  lay_out(*made, static_cast<char*>(memory), sizes);
  made->runtime = *made->pool.runtime();
  if (parallel != nullptr) {
    made->parallel = *parallel;
    made->runtime = {run_by_loops, &made->parallel};
  }
  if (runtime != nullptr) made->runtime = *runtime;
  const std::int32_t status = make_constants(*made, weights);
  if (status == LATHE_OK) *handle = made;
  else lathe_artifact_destroy(made);
  return status;
}

}  // namespace

std::int32_t lathe_artifact_create(const lathe_artifact* artifact, const lathe_parallel* parallel,
                                   lathe_handle** handle) {
  return create(artifact, nullptr, parallel, nullptr, handle);
}

std::int32_t lathe_artifact_create_from(const lathe_artifact* artifact, const char* weights,
                                        const lathe_parallel* parallel, lathe_handle** handle) {
  return create(artifact, weights, parallel, nullptr, handle);
}

std::int32_t lathe_artifact_create_on(const lathe_artifact* artifact, const lathe_runtime* runtime,
                                      lathe_handle** handle) {
  return create(artifact, nullptr, nullptr, runtime, handle);
}

std::int32_t lathe_artifact_prepare(lathe_handle* handle, const DLTensor* const* inputs) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  if (!handle->has_constants()) return LATHE_OK;
  handle->prepared = false;
  if (inputs == nullptr) return handle->refuse(LATHE_INVALID_ARGUMENT, "there are no inputs");
  for (std::int64_t i = 0; i < handle->inputs(); ++i) {
    const lathe_artifact_tensor& want = handle->artifact->tensors[i];
    if (!want.constant) continue;
    if (!lathe::artifact::check_tensor(want, inputs[i], handle->message))
      return LATHE_INVALID_ARGUMENT;
    handle->constants[i] = address_of(*inputs[i]);
  }
  handle->prepare();
  return LATHE_OK;
}

std::int32_t lathe_artifact_run(lathe_handle* handle, const DLTensor* const* inputs,
                                DLTensor* const* outputs) {
  if (handle == nullptr) return LATHE_INVALID_ARGUMENT;
  if (!handle->prepared)
    return handle->refuse(LATHE_NOT_PREPARED, "prepare was not called, or failed");
  if ((inputs == nullptr && handle->inputs() > 0) || outputs == nullptr)
    return handle->refuse(LATHE_INVALID_ARGUMENT, "there are no inputs or no outputs");
  for (std::int64_t i = 0; i < handle->count(); ++i) {
    const lathe_artifact_tensor& want = handle->artifact->tensors[i];
    if (want.constant) {
      handle->tensors[i] = handle->constants[i];
      continue;
    }
    const DLTensor* tensor = i < handle->inputs() ? inputs[i] : outputs[i - handle->inputs()];
    if (!lathe::artifact::check_tensor(want, tensor, handle->message))
      return LATHE_INVALID_ARGUMENT;
    handle->tensors[i] = address_of(*tensor);
  }
  if (!check_overlap(*handle)) return LATHE_INVALID_ARGUMENT;
  handle->artifact->module->run(&handle->runtime, handle->tensors, handle->fixed, handle->workspace,
                                handle->workers);
  return LATHE_OK;
}

void lathe_artifact_destroy(lathe_handle* handle) {
  if (handle == nullptr) return;
  if (handle->artifact->shared != nullptr && handle->prepared)
    lathe::artifact::leave_shared(*handle->artifact);
  handle->~lathe_handle();
  std::free(handle);
}

const char* lathe_artifact_message(const lathe_handle* handle) {
  return handle != nullptr ? handle->message.text() : create_message.text();
}
