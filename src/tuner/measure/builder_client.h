// `lathe-builder` as a measurer sees it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tuner/measure/build_protocol.h"
#include "tuner/measure/helper.h"
#include "tuner/measure/measure.h"

namespace lathe::measure {

// What a builder is told of a workload.
struct BuilderTask {
  Setup setup;  // without the processors, which are the builder's
  // Hashes of the programs that were measured for it, in order.
  std::vector<std::string> known;
};

class BuilderClient {
 public:
  template <class T>
  using Then = Helper::Then<T>;

  // The builder runs on these processors; empty: on any.
  BuilderClient(std::string program, std::vector<int> cpus);

  // Builds for this task until another is taken, or until it leaves. It must stay where it is.
  void take(const BuilderTask& task);
  void leave(const BuilderTask& task);

  Helper& helper() { return helper_; }
  bool busy() const { return helper_.busy(); }

  void build(const std::string& trace_json, double seconds, const Then<Built>& then) {
    build(trace_json, false, seconds, then);
  }
  // Builds even a known program, for callers that need its code again.
  void build_anew(const std::string& trace_json, double seconds, const Then<Built>& then) {
    build(trace_json, true, seconds, then);
  }
  // Builds the text under a plain schedule, to compute its result.
  void build_reference(const std::string& text, double seconds, const Then<Built>& then);
  void build_peak(double seconds, const Then<BuiltPeak>& then);
  void build_stream(const BuildStream& stream, double seconds, const Then<Built>& then);

 private:
  void build(const std::string& trace_json, bool anew, double seconds, const Then<Built>& then);
  void prepare(const std::function<void(Status)>& then);
  // Asks once the builder knows its setup.
  template <class Answer, class Request>
  void ask(const Request& message, double seconds, const Then<Answer>& then);

  Helper helper_;
  std::vector<int> cpus_;
  const BuilderTask* task_ = nullptr;
  int told_setup_ = 0;  // the generation that knows the task's setup
  std::size_t told_known_ = 0;
};

}  // namespace lathe::measure
