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

class BuilderClient {
 public:
  template <class T>
  using Then = Helper::Then<T>;

  // `known`: hashes of the programs measured in this session, in order. It grows and must outlive
  // this object.
  BuilderClient(std::string program, Setup setup, const std::vector<std::string>& known);

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
  Setup setup_;
  const std::vector<std::string>& known_;
  int told_setup_ = 0;  // the generation that knows the setup
  std::size_t told_known_ = 0;
};

}  // namespace lathe::measure
