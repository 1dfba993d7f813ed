// The function __tvm_ffi_NAME of every artifact: what tvm_ffi.load_module and jax-tvm-ffi call. It
// is written against the layout of TVM's C header (tvm/ffi/c_api.h, apache-tvm-ffi 0.1), and finds
// TVM's library only where one is loaded, to tell it of errors.
//
// The tensors are the inputs and then the outputs. All callers share one handle and take turns.
// Constant inputs are copied, compared with the copies in later calls, and packed again where they
// differ.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/check.h"

namespace {

using lathe::artifact::address_of;
using lathe::artifact::Message;

// TVMFFIAny: a value with its type.
struct Value {
  std::int32_t type;
  std::uint32_t padding;
  union {
    void* pointer;
    std::int64_t bits;
  };
};
constexpr std::int32_t kNone = 0, kTensorPointer = 7, kTensorObject = 70;
constexpr std::size_t kObjectHeader = 24;  // of TVMFFIObject, before the tensor of such an object

const DLTensor* tensor_of(const Value& value) {
  if (value.type == kTensorPointer) return static_cast<const DLTensor*>(value.pointer);
  if (value.type != kTensorObject) return nullptr;
  return reinterpret_cast<const DLTensor*>(static_cast<const char*>(value.pointer) + kObjectHeader);
}

void tell(const char* what) {
  void* library = dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  using SetRaised = void (*)(const char* kind, const char* message);
  if (const auto set = reinterpret_cast<SetRaised>(dlsym(library, "TVMFFIErrorSetRaisedFromCStr")))
    set("ValueError", what);
  dlclose(library);
}

// What all callers of a library share: it has one artifact.
struct Shared {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  lathe_handle* handle = nullptr;
  std::int64_t inputs = 0;
  DLTensor* copies = nullptr;  // one an input; without data where it is not constant
  const DLTensor** pointers = nullptr;
  bool prepared = false;
  pid_t owner = 0;  // the process that it is of
};
constinit Shared shared;

// A forked child leaves alone what another thread may have been in the middle of.
void look_for_fork() {
  const pid_t self = getpid();
  if (shared.owner != 0 && shared.owner != self) {
    shared.lock = PTHREAD_MUTEX_INITIALIZER;
    shared.handle = nullptr;
    shared.prepared = false;
  }
  shared.owner = self;
}

void release(std::int64_t inputs) {
  for (std::int64_t i = 0; shared.copies != nullptr && i < inputs; ++i)
    std::free(shared.copies[i].data);
  std::free(shared.copies);
  std::free(static_cast<void*>(shared.pointers));
  shared.copies = nullptr;
  shared.pointers = nullptr;
}

bool allocate(const lathe_artifact& artifact) {
  const auto inputs = static_cast<std::size_t>(artifact.module->inputs);
  const auto count = inputs + static_cast<std::size_t>(artifact.module->outputs);
  shared.copies = static_cast<DLTensor*>(std::calloc(inputs + 1, sizeof(DLTensor)));
  shared.pointers = static_cast<const DLTensor**>(std::calloc(count, sizeof(DLTensor*)));
  if (shared.copies == nullptr || shared.pointers == nullptr) return false;
  for (std::size_t i = 0; i < inputs; ++i) {
    const lathe_artifact_tensor& want = artifact.tensors[i];
    if (want.constant == 0) continue;
    DLTensor& copy = shared.copies[i];
    copy.device = {kDLCPU, 0};
    copy.ndim = static_cast<int>(want.ndim);
    copy.dtype = {static_cast<std::uint8_t>(want.type_code),
                  static_cast<std::uint8_t>(want.type_bits), 1};
    copy.shape = const_cast<std::int64_t*>(want.shape);
    constexpr std::size_t kAlignment = 64;
    const std::size_t size = (static_cast<std::size_t>(want.bytes) / kAlignment + 1) * kAlignment;
    copy.data = std::aligned_alloc(kAlignment, size);
    if (copy.data == nullptr) return false;
  }
  return true;
}

const char* begin(const lathe_artifact& artifact) {
  if (shared.handle != nullptr) return nullptr;
  shared.inputs = artifact.module->inputs;
  if (shared.copies == nullptr && !allocate(artifact)) {
    release(shared.inputs);
    return "there is not enough memory for the constants";
  }
  if (lathe_artifact_create(&artifact, nullptr, &shared.handle) != LATHE_OK)
    return lathe_artifact_message(nullptr);
  return nullptr;
}

// Copies the constants that are new or differ; true if some were.
bool take_constants(const lathe_artifact& artifact) {
  bool changed = false;
  for (std::int64_t i = 0; i < artifact.module->inputs; ++i) {
    DLTensor& copy = shared.copies[i];
    if (copy.data == nullptr) continue;
    const auto size = static_cast<std::size_t>(artifact.tensors[i].bytes);
    const void* given = address_of(*shared.pointers[i]);
    if (shared.prepared && std::memcmp(copy.data, given, size) == 0) continue;
    std::memcpy(copy.data, given, size);
    changed = true;
  }
  return changed;
}

const char* prepare(const lathe_artifact& artifact, Message& message) {
  bool constants = false;
  for (std::int64_t i = 0; i < artifact.module->inputs; ++i) {
    if (artifact.tensors[i].constant == 0) continue;
    constants = true;
    if (!lathe::artifact::check_tensor(artifact.tensors[i], shared.pointers[i], message))
      return message.text();
  }
  if (!constants || !take_constants(artifact)) return nullptr;
  shared.prepared = false;
  for (std::int64_t i = 0; i < artifact.module->inputs; ++i)
    if (shared.copies[i].data != nullptr) shared.pointers[i] = &shared.copies[i];
  if (lathe_artifact_prepare(shared.handle, shared.pointers) != LATHE_OK)
    return lathe_artifact_message(shared.handle);
  shared.prepared = true;
  return nullptr;
}

// Null, or what is wrong.
const char* call(const lathe_artifact& artifact, const Value* values, std::int32_t count,
                 Message& message) {
  const std::int64_t inputs = artifact.module->inputs, outputs = artifact.module->outputs;
  if (count != inputs + outputs) {
    message.add(artifact.name).add(" takes ").add(inputs).add(" inputs and then ");
    message.add(outputs).add(" outputs, ").add(count).add(" arguments are given");
    return message.text();
  }
  if (const char* why = begin(artifact)) return why;
  for (std::int32_t i = 0; i < count; ++i) shared.pointers[i] = tensor_of(values[i]);
  if (const char* why = prepare(artifact, message)) return why;
  const auto out = const_cast<DLTensor* const*>(shared.pointers + inputs);
  if (lathe_artifact_run(shared.handle, shared.pointers, out) != LATHE_OK)
    return lathe_artifact_message(shared.handle);
  return nullptr;
}

// When the library is unloaded: its threads run code that will be gone. Where the process ends in
// the middle of a call, that is left alone.
__attribute__((destructor)) void end() {
  if (shared.owner != getpid() || pthread_mutex_trylock(&shared.lock) != 0) return;
  lathe_artifact_destroy(shared.handle);
  shared.handle = nullptr;
  release(shared.inputs);
  pthread_mutex_unlock(&shared.lock);
}

}  // namespace

std::int32_t lathe_artifact_tvm_ffi(const lathe_artifact* artifact, void*, const void* arguments,
                                    std::int32_t count, void* result) {
  Message message;
  look_for_fork();
  pthread_mutex_lock(&shared.lock);
  const char* why = call(*artifact, static_cast<const Value*>(arguments), count, message);
  if (why != nullptr) tell(why);
  pthread_mutex_unlock(&shared.lock);
  if (why != nullptr) return -1;
  *static_cast<Value*>(result) = {kNone, 0, {nullptr}};
  return 0;
}
