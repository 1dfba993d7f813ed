#include "api/model_run.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "api/loaded_program.h"
#include "base/known_names.h"
#include "base/rng.h"

namespace lathe::api {
namespace {

using graph::place;

std::vector<std::string> names_of(const graph::Graph& graph, const std::vector<int>& values) {
  std::vector<std::string> names;
  for (const int id : values) names.push_back(graph.value(id).name);
  return names;
}

bool is_alone(const std::vector<std::string>& names, const std::string& text) {
  return names.size() == 1 && !text.contains('=');
}

}  // namespace

ModelTensors random_inputs(const graph::Graph& graph, std::uint64_t seed) {
  Rng rng(seed);
  ModelTensors out;
  for (const int id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    std::vector<double> numbers(static_cast<std::size_t>(value.elements()));
    for (double& number : numbers)
      number = is_float(value.dtype) ? static_cast<double>(rng.between(-128, 128)) / 128
                                     : static_cast<double>(rng.below(2));
    out.push_back(graph::Data::of(value.dtype, numbers));
  }
  return out;
}

Result<std::vector<std::string>> files_of_tensors(const graph::Graph& graph,
                                                  const std::vector<int>& values,
                                                  const std::vector<std::string>& words,
                                                  const std::string& flag) {
  const std::vector<std::string> names = names_of(graph, values);
  const char* of = flag == "--input" ? "input" : "output";
  std::vector<std::string> files(values.size());
  for (const std::string& text : words) {
    std::size_t v = 0;
    std::string file = text;
    if (!is_alone(names, text)) {
      while (v < names.size() && !text.starts_with(names[v] + "=")) ++v;
      const std::string name = text.substr(0, text.find('='));
      if (v == names.size())
        return fail_at(flag, ErrorKind::kInvalidArgument, "{} of the model, which has {}",
                       text.contains('=') ? fmt::format("{} is no {}", name, of)
                                          : fmt::format("{} is not NAME=FILE of an {}", text, of),
                       known_names(names, name));
      file = text.substr(names[v].size() + 1);
    }
    if (!files[v].empty() || file.empty())
      return fail_at(flag, ErrorKind::kInvalidArgument, "{} needs one file, and has {}", names[v],
                     file.empty() ? "none" : "two");
    files[v] = file;
  }
  return files;
}

Result<std::vector<std::optional<graph::Data>>> read_tensors(
    const graph::Graph& graph, const std::vector<int>& values,
    const std::vector<std::string>& files) {
  std::vector<std::optional<graph::Data>> out(values.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (files[v].empty()) continue;
    FileTensor tensor = LATHE_TRY(read_tensor(files[v]));
    const graph::Value& value = graph.value(values[v]);
    if (tensor.dtype != value.dtype || tensor.shape != value.shape)
      return fail_at(files[v], ErrorKind::kInvalidArgument, "it is {}, and {} of the model is {}",
                     graph::typed(tensor.dtype, tensor.shape), value.name,
                     graph::typed(value.dtype, value.shape));
    out[v] = std::move(tensor.data);
  }
  return out;
}

Result<ModelTensors> run_model(const graph::Graph& graph, const ModelProgram& made,
                               const ModelTensors& inputs) {
  const auto program = LATHE_TRY(LoadedProgram::make(made.program, made.target));
  std::vector<const void*> given;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (std::ranges::count(made.left_out, graph.value(graph.inputs[i]).name) == 0)
      given.push_back(inputs[i].bytes.data());
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> outputs;
  for (const int id : graph.outputs)
    memory.emplace_back(static_cast<std::size_t>(graph.value(id).bytes()));
  for (auto& bytes : memory) outputs.push_back(bytes.data());
  program->set_constants(given);
  if (made.weights) std::ranges::copy(*made.weights, program->constant_area().begin());
  program->run(given, outputs);
  ModelTensors out;
  for (auto& bytes : memory) out.push_back(graph::Data::own(std::move(bytes)));
  return out;
}

}  // namespace lathe::api
