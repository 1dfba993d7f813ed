// lathe run: runs a model once, on random inputs or on those of files, and compares what it makes.
#include <cmath>
#include <limits>
#include <memory>

#include "api/last_word.h"
#include "api/model.h"
#include "api/model_check.h"
#include "api/model_run.h"
#include "api/targets.h"
#include "base/clock.h"
#include "cli/application.h"
#include "cli/check_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/live_work.h"
#include "cli/open_model.h"
#include "cli/results.h"
#include "cli/show_model.h"
#include "graph/ir/print.h"

namespace lathe::cli {
namespace {

struct Flags {
  std::string model;
  std::vector<std::string> shapes;
  MachineFlags machine;
  std::string schedule = "best", weights_type = api::WeightsRequest().type;
  std::vector<std::string> inputs, outputs, expected;
  std::uint64_t seed = 1;
  double max_error = api::kModelError;
  bool check = false, no_check = false, json = false;
  api::Checking checking() const { return no_check ? api::Checking::kSkip : api::Checking::kOnce; }
};

// Of the elements that are numbers.
struct Spread {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double mean = 0;
  std::int64_t numbers = 0, others = 0;  // others: infinite, or no number
};

Spread spread_of(Dtype dtype, const graph::Data& data) {
  Spread out;
  const auto size = static_cast<std::size_t>(size_of(dtype));
  for (std::size_t at = 0; at < data.bytes.size(); at += size) {
    const double value = load_element(dtype, data.bytes.data() + at);
    if (!std::isfinite(value)) {
      ++out.others;
      continue;
    }
    out.least = std::min(out.least, value);
    out.most = std::max(out.most, value);
    out.mean += value;
    ++out.numbers;
  }
  if (out.numbers > 0) out.mean /= static_cast<double>(out.numbers);
  return out;
}

struct Compared {
  std::string output, file;
  double error;
};

struct Ran {
  OpenModel model;
  api::ModelTensors outputs;
  std::optional<api::ModelCheck> check;
  std::vector<Compared> compared;
  double max_error;

  const graph::Graph& graph() const { return model.graph(); }
  bool agrees() const {
    return std::ranges::all_of(compared,
                               [&](const Compared& each) { return each.error <= max_error; });
  }
};

std::string ran_text(const Ran& ran) {
  std::string out;
  for (std::size_t o = 0; o < ran.outputs.size(); ++o) {
    const graph::Value& value = ran.graph().value(ran.graph().outputs[o]);
    const Spread spread = spread_of(value.dtype, ran.outputs[o]);
    out += fmt::format("{}: {}", printable(value.name), graph::typed(value.dtype, value.shape));
    if (spread.numbers > 0)
      out += fmt::format(", from {:.6g} to {:.6g}, {:.6g} in the mean", spread.least, spread.most,
                         spread.mean);
    if (spread.others > 0)
      out += fmt::format(", {} infinite or no number", counted(spread.others, "element"));
    out += "\n";
  }
  for (const Compared& each : ran.compared)
    out += fmt::format("{} differs from {} by {:.1e} of the largest element; {:.0e} is allowed\n",
                       printable(each.output), printable(each.file), each.error, ran.max_error);
  if (ran.check) out += check_text(*ran.check, ran.max_error) + "\n";
  return out;
}

Json ran_json(const Ran& ran) {
  Json json = {{"model", ran.graph().name}, {"outputs", Json::array()}, {"check", nullptr}};
  for (std::size_t o = 0; o < ran.outputs.size(); ++o) {
    const graph::Value& value = ran.graph().value(ran.graph().outputs[o]);
    const Spread spread = spread_of(value.dtype, ran.outputs[o]);
    Json one = {{"name", value.name},
                {"dtype", name_of(value.dtype)},
                {"shape", value.shape},
                {"least", nullptr},
                {"most", nullptr},
                {"mean", nullptr},
                {"not_finite", spread.others}};
    if (spread.numbers > 0)
      one["least"] = spread.least, one["most"] = spread.most, one["mean"] = spread.mean;
    json["outputs"].push_back(std::move(one));
  }
  json["compared"] = Json::array();
  for (const Compared& each : ran.compared)
    json["compared"].push_back(
        {{"output", each.output}, {"file", each.file}, {"error", each.error}});
  if (ran.check)
    json["check"] = {{"error", ran.check->error},
                     {"output", ran.check->output},
                     {"elements_of_evaluator", ran.check->elements}};
  return json;
}

Result<api::ModelTensors> inputs_of(const Flags& flags, const graph::Graph& graph) {
  api::ModelTensors inputs = api::random_inputs(graph, flags.seed);
  const auto files = LATHE_TRY(api::files_of_tensors(graph, graph.inputs, flags.inputs, "--input"));
  const auto given = LATHE_TRY(api::read_tensors(graph, graph.inputs, files));
  std::string random;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (given[i]) inputs[i] = *given[i];
    else random += (random.empty() ? "" : ", ") + graph.value(graph.inputs[i]).name;
  }
  if (!random.empty())
    complain(fmt::format("random numbers stand for {}; --input NAME=FILE gives others", random));
  return inputs;
}

Status write_outputs(const Ran& ran, const std::vector<std::string>& files) {
  for (std::size_t o = 0; o < files.size(); ++o) {
    const graph::Value& value = ran.graph().value(ran.graph().outputs[o]);
    if (!files[o].empty())
      LATHE_TRY_STATUS(api::write_npy(files[o], {value.dtype, value.shape, ran.outputs[o]}));
  }
  return {};
}

Result<std::vector<std::string>> files_for_outputs(const Flags& flags, const graph::Graph& graph) {
  auto files = LATHE_TRY(api::files_of_tensors(graph, graph.outputs, flags.outputs, "--output"));
  for (const std::string& file : files)
    if (!file.empty() && !file.ends_with(".npy"))
      return fail_at(file, ErrorKind::kInvalidArgument,
                     "outputs are written as NumPy's files; give a name that ends in .npy");
  return files;
}

Result<int> perform(const Flags& flags) {
  if (!names_model(flags.model))
    return fail_at(flags.model, ErrorKind::kInvalidArgument,
                   "only models are run, files whose names end in .onnx; lathe bench times a "
                   "workload");
  const Target target = LATHE_TRY(target_of(flags.machine));
  LATHE_TRY_STATUS(api::check_runs_here(target));
  const api::ScheduleRequest programs = schedule_request(flags.schedule, flags.machine);
  Ran ran{LATHE_TRY(open_model(flags.model, flags.shapes, {flags.weights_type, flags.max_error},
                               target, programs)),
          {},
          {},
          {},
          flags.max_error};
  const api::ModelTensors inputs = LATHE_TRY(inputs_of(flags, ran.graph()));
  const auto files = LATHE_TRY(files_for_outputs(flags, ran.graph()));
  const auto expected = LATHE_TRY(
      api::files_of_tensors(ran.graph(), ran.graph().outputs, flags.expected, "--expect"));
  const auto wanted = LATHE_TRY(api::read_tensors(ran.graph(), ran.graph().outputs, expected));
  const auto source = LATHE_TRY(api::source_of_model(ran.graph(), programs, target));
  const auto made =
      LATHE_TRY(with_live_line("building and checking", [&](const api::ModelProgress& progress) {
        return api::model_program(ran.graph(), source, target, flags.checking(), progress);
      }));
  for (const std::string& note : made.notes) complain(note);
  ran.outputs = LATHE_TRY(api::run_model(ran.graph(), made, inputs));
  LATHE_TRY_STATUS(write_outputs(ran, files));
  for (std::size_t o = 0; o < wanted.size(); ++o)
    if (wanted[o]) {
      const graph::Value& value = ran.graph().value(ran.graph().outputs[o]);
      ran.compared.push_back(
          {value.name, expected[o], api::error_between(value.dtype, ran.outputs[o], *wanted[o])});
    }
  if (flags.check)
    ran.check =
        LATHE_TRY(with_live_line("comparing the whole with its reference", [&](const auto&) {
          return api::check_outputs(ran.model.wide, target, inputs, ran.outputs, flags.max_error);
        }));
  if (flags.json) fmt::print("{}\n", dump(ran_json(ran)));
  else fmt::print("{}", ran_text(ran));
  return ran.agrees() ? kDone : kFailed;
}

}  // namespace

Command run_command() {
  return {"run", "run model.onnx once, and compare what it makes", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            set.positional("model", flags->model, "the file of a model, model.onnx", true);
            set.repeated("--shape", flags->shapes, "NAME=SIZES",
                         "a size that the model leaves open, batch=1, or all of an input's");
            set.repeated("--input", flags->inputs, "NAME=FILE",
                         "elements of an input: .npy of NumPy or .pb of ONNX (default: random)");
            set.repeated("-o,--output", flags->outputs, "NAME=FILE",
                         "where an output is written, as .npy");
            set.repeated("--expect", flags->expected, "NAME=FILE",
                         "what an output should be; where more than --max-error differs, the exit "
                         "code is 1");
            set.number("--max-error", flags->max_error, "X",
                       "largest error allowed, relative to the largest output (default 1e-4)");
            add_weights_type_flag(set, flags->weights_type);
            set.flag("--check", flags->check,
                     "compare the outputs with the same nodes in f64, and elements of these with "
                     "the evaluator");
            set.whole("--seed", flags->seed, "of random inputs (default 1)");
            set.flag("--no-check", flags->no_check,
                     "run programs of nodes that were not checked against their references");
            set.flag("--json", flags->json, "print JSON");
            add_schedule_flag(set, flags->schedule);
            add_target_flags(set, flags->machine);
            add_database_flag(set, flags->machine.database);
            add_space_flag(set, flags->machine);
            return [flags] { return perform(*flags); };
          }};
}

}  // namespace lathe::cli
