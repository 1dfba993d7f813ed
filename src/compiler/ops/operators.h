// The operators that have a name: index expressions written for them from a few parameters.
//
// An operator is a row of the table in operators.cpp: a name, its parameters, and a function from
// their values to the algorithms (expressions) that compute it. The command line, its help and the
// tests follow from the table.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/te/program.h"

namespace lathe::ops {

struct Parameter {
  enum class Kind {
    kInt,   // "3"
    kInts,  // one or several: "1" or "1,2"; the help says how many
    kDims,  // a shape: "1,64,56,56"
    kFlag,  // present or not; as text "true" or "false"
    kText,  // a word or a list of words: "bias,relu"
  } kind;
  std::string name;  // the command line's --NAME
  std::string
      fallback;  // the value where none is given; empty: it must be given (a text may be empty)
  std::string help;
};
const char* name_of(Parameter::Kind kind);  // "int", "dims"

// Values as the command line has them, by parameter name. A flag that is present may be "" or
// "true".
using Arguments = std::map<std::string, std::string, std::less<>>;

// One way to compute the operator; "direct" is the definition itself and always the first.
struct Algorithm {
  std::string name;
  te::Program program;
};

class Values;
struct Operator {
  std::string name;
  std::string help;
  std::vector<Parameter> parameters;
  Result<std::vector<Algorithm>> (*build)(const Values& values);
};

std::vector<Operator> operators();
// An unknown name is answered with the known ones.
Result<Operator> find_operator(std::string_view name);

// The error's place is the parameter: "--weight".
Result<std::vector<Algorithm>> build(std::string_view name, const Arguments& arguments);
Result<std::vector<Algorithm>> build(const Operator& op, const Arguments& arguments);

}  // namespace lathe::ops
