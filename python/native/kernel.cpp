#include "kernel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "outside.h"
#include "running.h"
#include "runtime/artifact/check.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

// How often processes were forked on the way to this one, as far as kernels know.
std::atomic<int> fork_count = 0;
int forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_count.load(std::memory_order_relaxed);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check_layouts(const Library& library) {
  for (std::size_t i = 0; i < library.inputs() + library.outputs(); ++i)
    if (library.artifact().tensors[i].plain == 0)
      throw Raised({"unsupported",
                    quoted(library.artifact().tensors[i]) +
                        " is stored in a layout of its own, which Python's arrays do not have; "
                        "make the library without a free layout",
                    ""});
}

const char* kind_of(std::int32_t status) {
  switch (status) {
    case LATHE_OUT_OF_MEMORY: return "out-of-memory";
    case LATHE_NO_DEVICE:
    case LATHE_NO_WEIGHTS: return "not-found";
    case LATHE_DEVICE_FAILED: return "run";
    default: return "unsupported";
  }
}

std::string with_hint(std::string message) {
  if (message.ends_with("row-major without gaps"))
    message += "; numpy.ascontiguousarray(a), or a.contiguous() of PyTorch, makes such a copy";
  return message;
}

}  // namespace

void Kernel::Memory::operator()(std::byte* memory) const { std::free(memory); }

Kernel::Kernel(std::shared_ptr<Library> library) : library_(std::move(library)) {
  check_layouts(*library_);
  for (std::size_t i = 0; i < library_->outputs(); ++i)
    new_outputs_.emplace_back(tensor(library_->inputs() + i));
  for (std::size_t i = 0; i < library_->inputs(); ++i) {
    if (tensor(i).constant == 0) continue;
    if (library_->is_for_card()) {  // which keeps what it makes of them
      constants_.push_back({i, nullptr});
      continue;
    }
    constexpr std::size_t kAlignment = 64;
    const std::size_t size =
        (static_cast<std::size_t>(tensor(i).bytes) / kAlignment + 1) * kAlignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (memory == nullptr) throw std::bad_alloc();
    constants_.push_back({i, std::unique_ptr<std::byte, Memory>(memory)});
  }
  create();
}

void Kernel::create() {
  forks_ = forks();
  const std::int32_t status = torch_threads_ != nullptr
                                  ? library_->create_on(*torch_threads_->runtime(), &handle_)
                                  : library_->create(&handle_);
  if (status != LATHE_OK) throw Raised({kind_of(status), library_->create_message(), ""});
}

bool Kernel::use_threads_of_torch() {
  if (!library_->is_module() || torch_threads_ != nullptr) return torch_threads_ != nullptr;
  torch_threads_ = OpenMpThreads::of_torch(static_cast<int>(library_->artifact().threads));
  if (torch_threads_ == nullptr) return false;
  library_->functions().destroy(handle_);
  handle_ = nullptr;
  create();
  for (Constant& constant : constants_) constant.packed = false;
  return true;
}

// With the GIL held. Where a thread that is not there any more was in a call when this process was
// forked, the lock stays locked and the handle half way: both are left alone.
void Kernel::renew_after_fork() {
  if (forks_ == forks()) return;
  forks_ = forks();
  if (mutex_->try_lock()) return mutex_->unlock();
  static_cast<void>(mutex_.release());
  mutex_ = std::make_unique<std::mutex>();
  create();
  for (Constant& constant : constants_) constant.packed = false;
}

Kernel::~Kernel() { library_->functions().destroy(handle_); }

// What an input is called among the keywords of a call: as it is, unless they have another meaning.
std::string Kernel::keyword_of(std::size_t input) const {
  const std::string name = tensor(input).name;
  const bool taken = name == "out" || (library_->is_for_card() && name == "stream");
  return taken ? name + "_" : name;
}

bool Kernel::take_keyword(const char* name, PyObject* value, Given& given) const {
  if (std::strcmp(name, "out") == 0) {
    given.out = value == Py_None ? nullptr : value;
    return true;
  }
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    if (keyword_of(i) != name) continue;
    if (given.inputs[i] == nullptr) {
      given.inputs[i] = value;
      return true;
    }
    raise_invalid(quoted(tensor(i)) + " is given twice");
    return false;
  }
  if (library_->is_for_card() && std::strcmp(name, "stream") == 0) {
    given.stream = value;
    return true;
  }
  std::string names;
  for (std::size_t i = 0; i < given.inputs.size(); ++i)
    names += (i > 0 ? ", " : "") + keyword_of(i);
  raise_invalid(std::string("there is no input \"") + name + "\"; inputs are " + names);
  return false;
}

bool Kernel::sort(PyObject* arguments, PyObject* keywords, Given& given) const {
  const std::size_t inputs = library_->inputs();
  while (given.inputs.size() < inputs) given.inputs.push_back(nullptr);
  const auto count = static_cast<std::size_t>(PyTuple_Size(arguments));
  // All inputs, or those that are not constant.
  const bool skips = count < inputs && count == inputs - constants_.size();
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs && at < count; ++i)
    if (!(skips && tensor(i).constant != 0))
      given.inputs[i] = PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(at++));
  if (at < count) {
    raise_invalid("the program has " + std::to_string(inputs) + " inputs, " +
                  std::to_string(count) + " are given; outputs are given as out=");
    return false;
  }
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0;
       keywords != nullptr && PyDict_Next(keywords, &place, &key, &value) != 0;) {
    const char* name = PyUnicode_AsUTF8AndSize(key, nullptr);
    if (name == nullptr || !take_keyword(name, value, given)) return false;
  }
  return true;
}

// Of the framework that the inputs come from, else of NumPy; on a card beside the inputs.
PyObject* Kernel::make_outputs(const Given& given, const Looked& looked) {
  const Exchange* exchange = nullptr;
  for (PyObject* input : given.inputs)
    if (exchange == nullptr && input != nullptr && PyObject_CheckBuffer(input) == 0)
      exchange = exchange_of(input);
  DLDevice device{library_->is_for_card() ? kDLCUDA : kDLCPU, 0};
  for (const DLTensor* input : looked.inputs)
    if (library_->is_for_card() && input != nullptr && input->device.device_type == kDLCUDA)
      device = input->device;
  if (library_->outputs() == 1) return new_outputs_[0].make(exchange, device);
  PyObject* all = PyTuple_New(static_cast<Py_ssize_t>(library_->outputs()));
  for (std::size_t i = 0; all != nullptr && i < library_->outputs(); ++i) {
    PyObject* made = new_outputs_[i].make(exchange, device);
    if (made == nullptr) {
      Py_DecRef(all);
      return nullptr;
    }
    PyTuple_SetItem(all, static_cast<Py_ssize_t>(i), made);
  }
  return all;
}

// `result` is a new reference to what the call returns.
bool Kernel::outputs_of(const Given& given, const Looked& looked, Few<nb::object>& outputs,
                        PyObject*& result) {
  if (given.out != nullptr) Py_IncRef(result = given.out);
  else result = make_outputs(given, looked);
  if (result == nullptr) return false;
  const std::size_t count = library_->outputs();
  const bool several = PyTuple_Check(result) != 0 || PyList_Check(result) != 0;
  if (!several && count == 1) {
    outputs.push_back(nb::borrow(result));
    return true;
  }
  if (!several || static_cast<std::size_t>(PySequence_Size(result)) != count) {
    raise_invalid("the program has " + std::to_string(count) +
                  " outputs; give as many arrays as out, in a tuple");
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    outputs.push_back(nb::steal(PySequence_GetItem(result, static_cast<Py_ssize_t>(i))));
    if (!outputs.back().is_valid()) return false;
  }
  return true;
}

// For View::look(); null where tensors are the processor's.
const std::int64_t* Kernel::stream_number(const Looked& looked, std::int64_t& number) const {
  number = looked.stream.number();
  return library_->is_for_card() ? &number : nullptr;
}

bool Kernel::look_at_inputs(const Given& given, Looked& looked) const {
  if (library_->is_for_card() && (!find_stream(given.stream, given.inputs, looked.stream) ||
                                  !check_card_constants(given, looked)))
    return false;
  std::int64_t number = 0;
  const std::int64_t* stream = stream_number(looked, number);
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    looked.inputs.push_back(nullptr);
    if (given.inputs[i] == nullptr) continue;
    View& view = looked.views.add();
    if (!view.look(given.inputs[i], tensor(i).name, false, stream)) return false;
    looked.inputs[i] = &view.tensor();
  }
  return true;
}

bool Kernel::look_at_outputs(const Few<nb::object>& outputs, Looked& looked) const {
  std::int64_t number = 0;
  const std::int64_t* stream = stream_number(looked, number);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    View& view = looked.views.add();
    if (!view.look(outputs[i].ptr(), tensor(library_->inputs() + i).name, true, stream))
      return false;
    looked.outputs.push_back(&view.tensor());
  }
  return true;
}

// To see whether a constant changed would take a copy and a wait in each call, so a card's are
// packed when they are given, all at once.
bool Kernel::check_card_constants(const Given& given, Looked& looked) const {
  const Constant* missing = nullptr;
  for (const Constant& constant : constants_) {
    if (given.inputs[constant.input] == nullptr) missing = &constant;
    else looked.gives_constants = true;
  }
  if (!looked.gives_constants || missing == nullptr) return true;
  raise_invalid(quoted(tensor(missing->input)) +
                " is missing; the constants of a program on a card are packed together, so give "
                "all of them");
  return false;
}

bool Kernel::check_constants(const Looked& looked, std::string& message) const {
  artifact::Message fault;
  for (const Constant& constant : constants_) {
    const DLTensor* given = looked.inputs[constant.input];
    if (given == nullptr || artifact::check_tensor(tensor(constant.input), given, fault)) continue;
    message = fault.text();
    return false;
  }
  return true;
}

std::int32_t Kernel::prepare_on_card(const Looked& looked, std::string& message) {
  if (!looked.gives_constants) return LATHE_OK;
  const std::int32_t status =
      library_->prepare(handle_, looked.inputs.data(), looked.stream.handle);
  packed_on_card_ = status == LATHE_OK;
  if (status != LATHE_OK) message = library_->functions().message(handle_);
  return status;
}

// Constants that differ from those known are copied, and packed again.
std::int32_t Kernel::prepare(const Looked& looked, std::string& message) {
  if (library_->is_for_card()) return prepare_on_card(looked, message);
  if (!check_constants(looked, message)) return LATHE_INVALID_ARGUMENT;
  std::vector<DLTensor> copies(library_->inputs());
  std::vector<const DLTensor*> pointers(library_->inputs(), nullptr);
  bool packed = true, complete = true;
  for (Constant& constant : constants_) {
    const lathe_artifact_tensor& want = tensor(constant.input);
    DLTensor& copy = copies[constant.input];
    copy.data = constant.copy.get();
    copy.device = {kDLCPU, 0};
    copy.ndim = static_cast<int>(want.ndim);
    copy.dtype = {static_cast<std::uint8_t>(want.type_code),
                  static_cast<std::uint8_t>(want.type_bits), 1};
    copy.shape = const_cast<std::int64_t*>(want.shape);
    pointers[constant.input] = &copy;
    if (const DLTensor* given = looked.inputs[constant.input]) {
      const auto* data = static_cast<const std::byte*>(given->data) + given->byte_offset;
      const auto size = static_cast<std::size_t>(want.bytes);
      if (!constant.given || std::memcmp(constant.copy.get(), data, size) != 0) {
        std::memcpy(constant.copy.get(), data, size);
        constant.packed = false;
      }
      constant.given = true;
    }
    packed &= constant.packed;
    complete &= constant.given;
  }
  if (packed || !complete) return LATHE_OK;  // run() refuses what was never prepared
  const std::int32_t status = library_->prepare(handle_, pointers.data(), looked.stream.handle);
  if (status != LATHE_OK) message = library_->functions().message(handle_);
  for (Constant& constant : constants_) constant.packed = status == LATHE_OK;
  return status;
}

std::int32_t Kernel::run(const Looked& looked, std::string& message) {
  const std::scoped_lock lock(*mutex_);
  if (!constants_.empty())
    if (const std::int32_t status = prepare(looked, message); status != LATHE_OK) return status;
  const std::int32_t status =
      library_->run(handle_, looked.inputs.data(), looked.outputs.data(), looked.stream.handle);
  if (status != LATHE_OK) message = library_->functions().message(handle_);
  return status;
}

// False with Python's error set if not.
bool Kernel::succeeds(std::int32_t status, std::string message) const {
  if (status == LATHE_OK) return true;
  if (status == LATHE_NOT_PREPARED)
    message = "the program has constant inputs, and not all were given yet; give them once";
  if (status == LATHE_INVALID_ARGUMENT || status == LATHE_NOT_PREPARED)
    raise_invalid(with_hint(message));
  else raise({kind_of(status), std::move(message), ""});
  return false;
}

bool Kernel::run_released(const Looked& looked) {
  renew_after_fork();
  std::string message;
  const std::int32_t status = outside([&] { return run(looked, message); });
  return succeeds(status, std::move(message));
}

void Kernel::give_constants(PyObject* keywords) {
  const nb::object none = nb::steal(PyTuple_New(0));
  Given given;
  Looked looked;
  if (!sort(none.ptr(), keywords, given) || !look_at_inputs(given, looked))
    throw nb::python_error();
  for (std::size_t i = 0; i < given.inputs.size(); ++i)
    if (given.inputs[i] != nullptr && tensor(i).constant == 0)
      throw Raised(
          {"invalid-argument", quoted(tensor(i)) + " is not constant; give it in calls", ""});
  renew_after_fork();
  std::string message;
  const std::int32_t status = outside([&] {
    const std::scoped_lock lock(*mutex_);
    return prepare(looked, message);
  });
  if (!succeeds(status, std::move(message))) throw nb::python_error();
}

std::map<std::size_t, std::vector<std::byte>> Kernel::constants() {
  renew_after_fork();
  return outside([&] {
    const std::scoped_lock lock(*mutex_);
    std::map<std::size_t, std::vector<std::byte>> out;
    for (const Constant& constant : constants_) {
      const std::byte* copy = constant.copy.get();
      if (constant.given) out[constant.input].assign(copy, copy + tensor(constant.input).bytes);
    }
    return out;
  });
}

void Kernel::restore(const std::map<std::size_t, std::vector<std::byte>>& constants) {
  renew_after_fork();
  outside([&] {
    const std::scoped_lock lock(*mutex_);
    for (Constant& constant : constants_) {
      const auto found = constants.find(constant.input);
      const auto size = static_cast<std::size_t>(tensor(constant.input).bytes);
      if (found == constants.end()) continue;
      if (found->second.size() != size)
        throw Raised({"data-loss",
                      quoted(tensor(constant.input)) + " was pickled with another size; make the " +
                          "kernel again",
                      ""});
      std::memcpy(constant.copy.get(), found->second.data(), size);
      constant.given = true;
      constant.packed = false;
    }
  });
}

PyObject* Kernel::call(PyObject* arguments, PyObject* keywords) {
  Given given;
  Looked looked;
  if (!sort(arguments, keywords, given) || !look_at_inputs(given, looked)) return nullptr;
  if (looked.gives_constants && packed_on_card_) {
    raise_invalid(
        "the constants are packed on the card; leave them out of calls, or give them to "
        "prepare() to pack them anew");
    return nullptr;
  }
  return finish(given, looked);
}

PyObject* Kernel::finish(const Given& given, Looked& looked) {
  Few<nb::object> outputs;
  PyObject* result = nullptr;
  if (outputs_of(given, looked, outputs, result) && look_at_outputs(outputs, looked) &&
      run_released(looked))
    return result;
  Py_DecRef(result);
  return nullptr;
}

double Kernel::time(PyObject* inputs, double seconds) {
  if (library_->is_for_card())
    throw Raised({"unsupported",
                  "a call of a program on a card returns before the card is done; time it by "
                  "events of its stream, as torch.cuda.Event",
                  ""});
  Given given;
  Few<nb::object> outputs;
  PyObject* result = nullptr;
  Looked looked;
  bool fine = sort(inputs, nullptr, given) && look_at_inputs(given, looked) &&
              outputs_of(given, looked, outputs, result);
  const nb::object holder = nb::steal(result);
  fine = fine && look_at_outputs(outputs, looked) && run_released(looked);
  if (!fine) throw nb::python_error();
  for (const Constant& constant : constants_) looked.inputs[constant.input] = nullptr;
  Running running{nb::none()};
  const double median = outside([&] { return median_of_calls(looked, seconds, running); });
  running.raise_pending();
  if (running.was_signalled()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return median;
}

double Kernel::median_of_calls(const Looked& looked, double seconds, Running& running) {
  std::string message;
  constexpr double kBatch = 1e-4;  // the clock's own cost is little of it
  const auto timed = [&](int calls) {
    const double start = now();
    for (int i = 0; i < calls; ++i) run(looked, message);
    return (now() - start) / calls;
  };
  const int calls = static_cast<int>(std::clamp(kBatch / std::max(timed(1), 1e-8), 1.0, 1e4));
  std::vector<double> times;
  const double begin = now();
  do times.push_back(timed(calls));
  while (now() - begin < seconds && !running.stops());
  return median(std::move(times));
}

}  // namespace lathe::python
