// A library's operator with its handle, as Python calls it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "card_stream.h"
#include "few.h"
#include "library.h"
#include "new_array.h"
#include "openmp.h"
#include "view.h"

namespace lathe::python {

class Running;

class Kernel {
 public:
  explicit Kernel(std::shared_ptr<Library> library);  // throws Raised
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  // Kernel(a, b, out=c): the inputs in order or by name; on a card also stream=. Constants may be
  // left out once they were given; on a card they have to. Null with Python's error set if
  // something does not fit.
  PyObject* call(PyObject* arguments, PyObject* keywords);
  // Takes constants by name. Throws what Python raised.
  void give_constants(PyObject* keywords);
  // Those given so far, as they were given; and from such bytes, to be packed in the next call.
  std::map<std::size_t, std::vector<std::byte>> constants();
  void restore(const std::map<std::size_t, std::vector<std::byte>>& constants);
  // The median of the seconds that calls take, over `seconds` in all; of batches of calls where
  // they are short.
  double time(PyObject* inputs, double seconds);
  const Library& library() const { return *library_; }
  // From now on its regions run on PyTorch's threads, if there are several and PyTorch is there.
  // Constants are packed anew. No call may be on its way. True: they do.
  bool use_threads_of_torch();

  // A call on its way.
  struct Given {
    Few<PyObject*> inputs;       // null: left out; borrowed
    PyObject* out = nullptr;     // borrowed; null: to be made
    PyObject* stream = nullptr;  // borrowed; of a card; null: to be found
  };
  struct Looked {
    Views views;
    Few<const DLTensor*> inputs;
    Few<DLTensor*> outputs;
    CardStream stream;
    bool gives_constants = false;
  };
  // The rest of call(), once the inputs were looked at.
  PyObject* finish(const Given& given, Looked& looked);

 private:
  struct Memory {
    void operator()(std::byte* memory) const;
  };
  struct Constant {
    std::size_t input;
    std::unique_ptr<std::byte, Memory> copy;  // handles read constants where they are given
    bool given = false, packed = false;
  };

  const lathe_artifact_tensor& tensor(std::size_t at) const {
    return library_->artifact().tensors[at];
  }
  bool sort(PyObject* arguments, PyObject* keywords, Given& given) const;
  std::string keyword_of(std::size_t input) const;
  bool take_keyword(const char* name, PyObject* value, Given& given) const;
  bool look_at_inputs(const Given& given, Looked& looked) const;
  bool look_at_outputs(const Few<nanobind::object>& outputs, Looked& looked) const;
  bool outputs_of(const Given& given, const Looked& looked, Few<nanobind::object>& outputs,
                  PyObject*& result);
  PyObject* make_outputs(const Given& given, const Looked& looked);
  bool check_card_constants(const Given& given, Looked& looked) const;
  std::int64_t const* stream_number(const Looked& looked, std::int64_t& number) const;
  // These two are called without the GIL, the second under the lock.
  std::int32_t run(const Looked& looked, std::string& message);
  std::int32_t prepare(const Looked& looked, std::string& message);
  std::int32_t prepare_on_card(const Looked& looked, std::string& message);
  double median_of_calls(const Looked& looked, double seconds, Running& running);
  void create();
  void renew_after_fork();
  bool check_constants(const Looked& looked, std::string& message) const;
  bool succeeds(std::int32_t status, std::string message) const;
  bool run_released(const Looked& looked);

  std::shared_ptr<Library> library_;
  lathe_handle* handle_ = nullptr;
  // One caller a handle; never held while the GIL is waited for. A forked child may need another.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::unique_ptr<OpenMpThreads> torch_threads_;
  int forks_ = 0;  // of this process, when the handle was made
  std::vector<Constant> constants_;
  std::vector<NewArrays> new_outputs_;
  std::atomic<bool> packed_on_card_ = false;
};

// What C++ throws in a call is an error of Python.
template <class Work>
PyObject* guarded_call(Work&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "there is not enough memory for the call");
  } catch (const std::exception& bug) {
    PyErr_SetString(PyExc_RuntimeError, bug.what());
  }
  return nullptr;
}

void bind_kernel(nanobind::module_& module);

}  // namespace lathe::python
