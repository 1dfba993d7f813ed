// Makes a workload of what a person writes: an expression, an operator with its flags, or a
// workload of the paper.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "tuner/space/space.h"

namespace lathe::api {

struct WorkloadRequest {
  std::string text;                          // "C[i,j] = ...", "conv2d", "C6"
  std::map<std::string, std::string> flags;  // an operator's: {"input", "1,64,56,56"}
  std::vector<std::string> shapes;           // of an expression's tensors: "A=1024,1024"
  std::vector<std::string> dtypes;           // "A=f16"; "f16" is for all inputs
  std::vector<std::string> constants;        // names of inputs known beforehand
  std::string layout;                        // plain, free; empty: what the text says, else plain
  double max_error = 0;                      // 0: what the text says, else 2e-5
  std::string algorithm;                     // "": what the text says, else any
  std::string numerics;  // "": what the text says, else what the algorithm needs, or local
  std::vector<std::string> ranges;  // of inputs: "X=0..1"
};

// True if nothing of the request says what to compute.
bool names_no_workload(const WorkloadRequest& request);

struct MadeWorkload {
  te::Workload definition;
  std::string algorithm;  // "direct"
};

// The error tells what is wrong, where, and what would be right.
Result<MadeWorkload> make_workload(const WorkloadRequest& request);

// The same with these inputs constant, and no others.
Result<te::Workload> with_constants(te::Workload workload, const std::vector<std::string>& names);

// Records, traces and workload keys call tensors A, B ..., so that equal work has equal records,
// however it is written. This lists, for each tensor of the workload, its own name (in borders,
// headers and messages) and its name in records.
std::vector<std::pair<std::string, std::string>> names_in_records(const te::Workload& workload);
// The same as a sentence; empty if no name differs.
std::string names_sentence(const te::Workload& workload);

// The name of the level of numerics that a program of this trace keeps.
std::string_view numerics_of(const schedule::Trace& trace);
// What a program of this trace promises of rounding, NaN and infinity, and for which inputs.
std::string numerics_sentence(const te::Workload& workload, const schedule::Trace& trace);

// The space of the workload's key, as records and traces know it. Where there is none, the error
// says why in the workload's own names.
Result<std::unique_ptr<space::Space>> space_of_key(const te::Workload& workload,
                                                   const Target& target, space::Flavour flavour);

// A flag that some operator takes; the command line offers it beside its own.
struct OperatorFlag {
  std::string name;
  bool takes_value = true;
};
std::vector<OperatorFlag> operator_flags();
// The help for a named workload: an operator with its flags, or what a workload of the paper stands
// for. For anything else, one line for each operator. `command` is the command whose help it is.
std::string operator_help(const std::string& word, const std::string& command);
// "matmul, dense, conv2d, ..." and "C1, ...": for help and messages.
std::string known_operators();
std::string known_paper_workloads();

}  // namespace lathe::api
