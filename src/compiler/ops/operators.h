// The operators that have a name: index expressions that are written from a few parameters.
//
// An operator is a row of the table in operators.cpp: a name, its parameters, and a function that
// makes the algorithms (expressions) from their values. The command line, its help and the tests
// follow from the table.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::ops {

struct Parameter {
  enum class Kind {
    kInt,      // "3"
    kInts,     // one or several: "1" or "1,2"; the help tells how many
    kDims,     // a shape: "1,64,56,56"
    kAxes,     // dimensions, counted from 0, or from the end with -1 as the last: "0,-1"
    kOffsets,  // one or several, which may be negative: "1,-2"
    kReal,     // "1e-5"
    kFlag,     // present or not; as text "true" or "false"
    kText,     // a word or a list of words: "bias,relu"
  } kind;
  std::string name;  // as the command line has it: --NAME
  // The value where none is given; empty: one must be given (but a text may be empty). Words, as
  // "kernel" or "all", where numbers are wanted: the operator knows what they stand for.
  std::string fallback;
  std::string help;
};
const char* name_of(Parameter::Kind kind);  // "int", "dims"

// Values by parameter name, as the command line has them. A flag that is present may be "" or
// "true".
using Arguments = std::map<std::string, std::string, std::less<>>;

// One way to compute the operator. "direct" is the definition itself and always comes first.
struct Algorithm {
  std::string name;
  te::Workload workload;
};

class Values;
struct Operator {
  std::string name;
  std::string help;
  std::vector<Parameter> parameters;
  Result<std::vector<Algorithm>> (*build)(const Values& values);
};

std::vector<Operator> operators();
// The error for an unknown name lists the known ones.
Result<Operator> find_operator(std::string_view name);

// Where terms that are no part of an element must not touch it (te::Numerics::kComponentwise), the
// expression leaves them out, and does not multiply them by 0. The error's place is the parameter:
// "--weight".
Result<std::vector<Algorithm>> build(std::string_view name, const Arguments& arguments,
                                     te::Numerics level = te::Contract{}.level());
Result<std::vector<Algorithm>> build(const Operator& op, const Arguments& arguments,
                                     te::Numerics level = te::Contract{}.level());

}  // namespace lathe::ops
