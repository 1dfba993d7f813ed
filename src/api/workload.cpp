#include "api/workload.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

#include "base/known_names.h"
#include "base/split.h"
#include "compiler/backends/backends.h"
#include "compiler/ops/operators.h"
#include "compiler/ops/paper.h"
#include "compiler/te/algorithms.h"
#include "compiler/te/parse.h"
#include "compiler/te/validate.h"

namespace lathe::api {
namespace {

struct Assignment {
  std::string name, value;
};

Result<Assignment> assignment(const std::string& text, const char* flag, const char* example) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return fail_at(flag, ErrorKind::kInvalidArgument,
                   "\"{}\" is not NAME=VALUE; write, for example, {} {}", text, flag, example);
  return Assignment{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::vector<std::int64_t>> shape_of(const std::string& name, const std::string& text) {
  std::vector<std::int64_t> shape;
  for (const std::string& part : split(text, ',')) {
    std::int64_t size = 0;
    const auto [stop, code] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (code != std::errc() || stop != part.data() + part.size() || size < 1)
      return fail_at("--shape", ErrorKind::kInvalidArgument,
                     "\"{}\" is not a size of {}; sizes are numbers from 1, separated by commas, "
                     "e.g. --shape {}=128,64",
                     part, name, name);
    shape.push_back(size);
  }
  return shape;
}

Result<Dtype> dtype_of(const std::string& name) {
  const auto dtype = dtype_from_name(name);
  if (!dtype)
    return fail_at("--dtype", ErrorKind::kInvalidArgument, "unknown type \"{}\"; known are {}",
                   name, known_dtypes(name));
  return *dtype;
}

// `--dtype f16` without a tensor is for every input whose type is not declared.
Result<te::Declarations> declarations_of(const WorkloadRequest& request) {
  te::Declarations declarations;
  for (const auto& text : request.shapes) {
    const auto [name, value] = LATHE_TRY(assignment(text, "--shape", "A=1024,1024"));
    if (declarations.shapes.contains(name))
      return fail_at("--shape", ErrorKind::kInvalidArgument, "{} has two shapes; give one", name);
    declarations.shapes[name] = LATHE_TRY(shape_of(name, value));
  }
  for (const auto& text : request.dtypes) {
    if (text.find('=') != std::string::npos) {
      const auto [name, value] = LATHE_TRY(assignment(text, "--dtype", "A=f16"));
      declarations.dtypes[name] = LATHE_TRY(dtype_of(value));
      continue;
    }
    if (declarations.dtype)
      return fail_at("--dtype", ErrorKind::kInvalidArgument,
                     "two types are given for all inputs; give one");
    declarations.dtype = LATHE_TRY(dtype_of(text));
  }
  declarations.constants = request.constants;
  return declarations;
}

// Each is NAME=LOW..HIGH, as the text of an expression has it.
Result<std::pair<std::string, std::string>> range_text(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    return fail_at("--range", ErrorKind::kInvalidArgument,
                   "\"{}\" is no range of an input; write NAME=LOW..HIGH, as X=0..1", text);
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Status take_ranges(const WorkloadRequest& request, te::Declarations& declarations) {
  for (const std::string& text : request.ranges) {
    const auto [name, value] = LATHE_TRY(range_text(text));
    auto range = te::parse_range(value, Dtype::kF64);
    if (!range)
      return fail_at("--range", ErrorKind::kInvalidArgument, "{}: {}", text, range.error().message);
    declarations.ranges[name] = *range;
  }
  return {};
}

// Refuses a second range of one input.
Status check_range_names(const std::vector<std::string>& ranges) {
  std::set<std::string> given;
  for (const std::string& text : ranges)
    if (const auto name = LATHE_TRY(range_text(text)).first; !given.insert(name).second)
      return fail_at("--range", ErrorKind::kInvalidArgument, "{} has two ranges; give one", name);
  return {};
}

Status refuse_operator_flags(const WorkloadRequest& request) {
  if (request.flags.empty()) return {};
  return fail_at("--" + request.flags.begin()->first, ErrorKind::kInvalidArgument,
                 "this flag belongs to an operator, but the workload is not one; remove it");
}

// As the workload's text has it: "F4x4" of "F(4x4)", "F4" of "F(4) along r".
std::string algorithm_named(std::string text) {
  text = text.substr(0, text.find(" along "));
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return text;
}

// What the request itself says of the contract.
te::Contract contract_of(const WorkloadRequest& request) {
  te::Contract contract;
  contract.algorithm = algorithm_named(request.algorithm);
  contract.numerics = te::numerics_from_name(request.numerics);
  return contract;
}

Result<MadeWorkload> from_operator(const WorkloadRequest& request, const std::string& name,
                                   const ops::Arguments& arguments) {
  auto algorithms = LATHE_TRY(ops::build(name, arguments, contract_of(request).level()));
  LATHE_CHECK(!algorithms.empty());
  return MadeWorkload{std::move(algorithms.front().workload), algorithms.front().name};
}

std::string example_of(const std::string& op) {
  const auto found = ops::find_operator(op);
  std::string text = op;
  if (!found) return text;
  for (const auto& parameter : found->parameters)
    if (parameter.fallback.empty() && parameter.kind != ops::Parameter::Kind::kText)
      text += " --" + parameter.name + " ...";
  return text;
}

Result<MadeWorkload> from_operator_flags(const WorkloadRequest& request) {
  if (!request.shapes.empty())
    return fail_at("--shape", ErrorKind::kInvalidArgument,
                   "{} is an operator: its shapes come from its own flags, e.g. {}", request.text,
                   example_of(request.text));
  ops::Arguments arguments(request.flags.begin(), request.flags.end());
  for (const auto& dtype : request.dtypes) arguments["dtype"] = dtype;
  return from_operator(request, request.text, arguments);
}

Result<MadeWorkload> from_expression(const WorkloadRequest& request) {
  LATHE_TRY_STATUS(refuse_operator_flags(request));
  te::Declarations declarations = LATHE_TRY(declarations_of(request));
  LATHE_TRY_STATUS(take_ranges(request, declarations));
  auto workload = te::parse_workload(request.text, declarations);
  if (!workload) {
    Error error = workload.error();
    error.place = error.place.empty() ? "the expression" : "the expression, " + error.place;
    return std::unexpected(std::move(error));
  }
  return MadeWorkload{std::move(*workload), "direct"};
}

Result<MadeWorkload> from_paper(const WorkloadRequest& request) {
  LATHE_TRY_STATUS(refuse_operator_flags(request));
  auto paper = *ops::paper_workload(request.text);
  if (!request.shapes.empty())
    return fail_at("--shape", ErrorKind::kInvalidArgument,
                   "the shapes of {} are the paper's; remove it, or write the operator {}",
                   paper.name, paper.op);
  for (const auto& dtype : request.dtypes) paper.arguments["dtype"] = dtype;
  return from_operator(request, paper.op, paper.arguments);
}

std::vector<std::string> named_workloads() {
  std::vector<std::string> names;
  for (const auto& op : ops::operators()) names.push_back(op.name);
  for (const auto& workload : ops::paper_workloads()) names.push_back(workload.name);
  return names;
}

Result<MadeWorkload> by_form(const WorkloadRequest& request) {
  if (request.text.find_first_not_of(" \t\n") == std::string::npos)
    return fail(ErrorKind::kInvalidArgument,
                "no workload is given; write an expression, an operator ({}) or a workload of "
                "the paper ({})",
                known_operators(), known_paper_workloads());
  if (ops::paper_workload(request.text)) return from_paper(request);
  if (ops::find_operator(request.text)) return from_operator_flags(request);
  if (request.text.find_first_of("[=") != std::string::npos) return from_expression(request);
  if (request.text.ends_with(".onnx"))
    return fail_at(request.text, ErrorKind::kUnsupported,
                   "this names a model, which `lathe show`, `tune`, `bench`, `run` and `compile` "
                   "read; its nodes are expressions, which `lathe show --what text` prints");
  std::error_code unknown;
  if (std::filesystem::is_regular_file(request.text, unknown))
    return fail_at(request.text, ErrorKind::kInvalidArgument,
                   "this is a file, and no workload; names of models end in .onnx, and an "
                   "expression is given as text, as \"$(cat FILE)\"");
  return fail(ErrorKind::kInvalidArgument,
              "unknown workload \"{}\"; write an expression such as 'C[i,j] = sum(k) A[k,i] * "
              "B[k,j]', an operator ({}) or a "
              "workload of the paper ({}){}",
              request.text, known_operators(), known_paper_workloads(),
              did_you_mean(named_workloads(), request.text));
}

Result<te::Tensor*> input_named(te::Workload& workload, const std::string& name, const char* flag) {
  std::vector<std::string> names;
  for (const int input : workload.inputs()) {
    te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(input)];
    if (tensor.name == name) return &tensor;
    names.push_back(tensor.name);
  }
  return fail_at(flag, ErrorKind::kInvalidArgument,
                 "\"{}\" is no input of the workload; its inputs are {}", name,
                 fmt::join(names, ", "));
}

Status mark_constants(te::Workload& workload, const std::vector<std::string>& names) {
  for (const auto& name : names) LATHE_TRY(input_named(workload, name, "--const"))->constant = true;
  return {};
}

// The ranges of an operator's inputs; an expression has taken its own, which its indices need.
Status set_ranges(te::Workload& workload, const std::vector<std::string>& ranges) {
  for (const std::string& text : ranges) {
    const auto [name, value] = LATHE_TRY(range_text(text));
    te::Tensor& tensor = *LATHE_TRY(input_named(workload, name, "--range"));
    auto range = te::parse_range(value, tensor.dtype);
    if (range) tensor.range = *range;
    const Status right = range ? te::check_range(tensor) : Status(std::unexpected(range.error()));
    if (!right)
      return fail_at("--range", ErrorKind::kInvalidArgument, "{}: {}", text, right.error().message);
  }
  return {};
}

}  // namespace

bool names_no_workload(const WorkloadRequest& request) {
  return request.text.empty() && request.flags.empty() && request.shapes.empty() &&
         request.dtypes.empty() && request.constants.empty() && request.layout.empty() &&
         request.max_error == 0 && request.algorithm.empty() && request.numerics.empty() &&
         request.ranges.empty();
}

Result<te::Workload> with_constants(te::Workload workload, const std::vector<std::string>& names) {
  for (const int input : workload.inputs())
    workload.tensors[static_cast<std::size_t>(input)].constant = false;
  LATHE_TRY_STATUS(mark_constants(workload, names));
  return workload;
}

Result<MadeWorkload> make_workload(const WorkloadRequest& request) {
  if (!request.layout.empty() && request.layout != "plain" && request.layout != "free")
    return fail_at("--layout", ErrorKind::kInvalidArgument,
                   "unknown layout mode \"{}\"; known are plain and free", request.layout);
  if (!(request.max_error >= 0 && request.max_error <= 1))
    return fail_at("--max-error", ErrorKind::kInvalidArgument,
                   "the largest error must be above 0 and at most 1, not {:g}", request.max_error);
  const te::Contract asked = contract_of(request);
  if (!asked.algorithm.empty() && te::algorithm_named(asked.algorithm) == nullptr)
    return fail_at("--algorithm", ErrorKind::kInvalidArgument,
                   "\"{}\" is no algorithm; name {}, or any as \"show --what space\" lists it",
                   request.algorithm, te::algorithm_words());
  if (!request.numerics.empty() && !asked.numerics)
    return fail_at("--numerics", ErrorKind::kInvalidArgument,
                   "\"{}\" is no level of numerics; name {}", request.numerics, te::kNumerics);
  LATHE_TRY_STATUS(check_range_names(request.ranges));
  MadeWorkload workload = LATHE_TRY(by_form(request));
  LATHE_TRY_STATUS(mark_constants(workload.definition, request.constants));
  LATHE_TRY_STATUS(set_ranges(workload.definition, request.ranges));
  te::Contract& contract = workload.definition.contract;
  if (!request.layout.empty()) contract.free_layout = request.layout == "free";
  if (request.max_error > 0) {
    contract.max_error = request.max_error;
    if (const Status valid = te::check_max_error(workload.definition); !valid)
      return fail_at("--max-error", ErrorKind::kInvalidArgument, "{}", valid.error().message);
  }
  if (!asked.algorithm.empty()) contract.algorithm = asked.algorithm;
  if (asked.numerics) contract.numerics = asked.numerics;
  if (Status right = te::check(contract); !right) {
    right.error().place = request.numerics.empty() ? "--algorithm" : "--numerics";
    return std::unexpected(std::move(right).error());
  }
  return workload;
}

std::vector<std::pair<std::string, std::string>> names_in_records(const te::Workload& workload) {
  const te::Workload recorded = te::canonical(workload);
  std::vector<std::pair<std::string, std::string>> names;
  for (std::size_t t = 0; t < workload.tensors.size(); ++t)
    names.emplace_back(workload.tensors[t].name, recorded.tensors[t].name);
  return names;
}

std::string_view numerics_of(const schedule::Trace& trace) {
  return te::name_of(driver::numerics_of(trace));
}

std::string numerics_sentence(const te::Workload& workload, const schedule::Trace& trace) {
  const te::Numerics level = driver::numerics_of(trace);
  std::string text =
      fmt::format("Its numerics are {}: {}.", te::name_of(level), te::promise_of(level));
  for (const int input : workload.inputs()) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(input)];
    if (tensor.range)
      text += fmt::format(" Elements of {} must lie in {}..{}: checks draw such numbers.",
                          tensor.name, tensor.range->low, tensor.range->high);
  }
  return text;
}

std::string names_sentence(const te::Workload& workload) {
  std::string list;
  bool differ = false;
  for (const auto& [name, recorded] : names_in_records(workload)) {
    list += fmt::format("{}{} for {}", list.empty() ? "" : ", ", recorded, name);
    differ |= name != recorded;
  }
  return differ ? fmt::format("Lathe's records and traces say {}.", list) : "";
}

Result<std::unique_ptr<space::Space>> space_of_key(const te::Workload& workload,
                                                   const Target& target, space::Flavour flavour) {
  auto space = space::derive_space(te::canonical(workload), target, flavour);
  if (space) return space;
  auto named = space::derive_space(workload, target, flavour);
  return named ? std::move(space) : std::move(named);
}

std::vector<OperatorFlag> operator_flags() {
  std::vector<OperatorFlag> flags;
  for (const auto& op : ops::operators())
    for (const auto& parameter : op.parameters) {
      if (std::ranges::find(flags, parameter.name, &OperatorFlag::name) == flags.end())
        flags.push_back({parameter.name, parameter.kind != ops::Parameter::Kind::kFlag});
    }
  return flags;
}

namespace {

// A line in the form that the rest of the help has.
std::string help_line(const std::string& left, const std::string& right) {
  return fmt::format("  {:<28}{}\n", left, right);
}

const char* form_of(ops::Parameter::Kind kind) {
  switch (kind) {
    case ops::Parameter::Kind::kInt: return " N";
    case ops::Parameter::Kind::kInts: return " N[,N...]";
    case ops::Parameter::Kind::kDims: return " N,N,...";
    case ops::Parameter::Kind::kAxes: return " N[,N...]";
    case ops::Parameter::Kind::kOffsets: return " N[,N...]";
    case ops::Parameter::Kind::kReal: return " X";
    case ops::Parameter::Kind::kFlag: return "";
    case ops::Parameter::Kind::kText: return " WORDS";
  }
  return "";
}

std::string flags_help(const ops::Operator& op) {
  std::string out = fmt::format("{}: {}\n", op.name, op.help);
  for (const auto& p : op.parameters) {
    const bool flag = p.kind == ops::Parameter::Kind::kFlag,
               text = p.kind == ops::Parameter::Kind::kText;
    const std::string standing = flag || (text && p.fallback.empty()) ? ""
                                 : p.fallback.empty()                 ? "; needed"
                                                                      : "; default " + p.fallback;
    out += help_line("--" + p.name + form_of(p.kind), p.help + standing);
  }
  return out;
}

}  // namespace

std::string operator_help(const std::string& word, const std::string& command) {
  if (const auto op = ops::find_operator(word)) return flags_help(*op);
  if (const auto paper = ops::paper_workload(word)) {
    std::string out = fmt::format("{}: {}", paper->name, paper->op);
    for (const auto& [name, value] : paper->arguments)
      out += " --" + name + (value == "true" ? "" : " " + value);
    return out + "\n";
  }
  std::string out =
      fmt::format("Operators, each with flags of its own (lathe {} OPERATOR --help):\n", command);
  for (const auto& op : ops::operators()) out += help_line(op.name, op.help);
  return out;
}

std::string known_operators() {
  std::vector<std::string> names;
  for (const auto& op : ops::operators()) names.push_back(op.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string known_paper_workloads() {
  std::vector<std::string> names;
  for (const auto& workload : ops::paper_workloads()) names.push_back(workload.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace lathe::api
