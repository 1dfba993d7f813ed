#include "api/model_check.h"

#include <algorithm>
#include <cmath>

#include "api/loaded_program.h"
#include "api/model_chain.h"
#include "base/rng.h"
#include "compiler/interp/te_elements.h"
#include "tuner/measure/bounds.h"
#include "tuner/measure/reference.h"

namespace lathe::api {
namespace {

using graph::place;

constexpr std::uint64_t kSeed = 1;
constexpr int kElements = 64;                   // of each output of a node
constexpr std::int64_t kMostTerms = 1'000'000;  // of them together
constexpr double kEvaluated = 1e-9;             // of the largest element

// The graph with every floating-point type as f64.
graph::Graph in_f64(const graph::Graph& graph) {
  graph::Graph wide = graph;
  for (graph::Value& value : wide.values) {
    if (!is_float(value.dtype)) continue;
    if (value.constant) value.constant = graph::Data::of(Dtype::kF64, graph::numbers_of(value));
    value.dtype = Dtype::kF64;
  }
  for (graph::Node& node : wide.nodes) node.expression = measure::reference_values(node.expression);
  return wide;
}

std::vector<double> numbers_in(const std::byte* memory, Dtype dtype, std::int64_t count) {
  std::vector<double> numbers;
  for (std::int64_t e = 0; e < count; ++e)
    numbers.push_back(load_element(dtype, memory + e * size_of(dtype)));
  return numbers;
}

double largest_of(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  return largest;
}

// Infinite where one is a number and the other none.
double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

class ReferenceRun {
 public:
  ReferenceRun(const graph::Graph& graph, Target target)
      : wide_(in_f64(graph)), target_(std::move(target)) {}

  Status run() {
    chain_ = LATHE_TRY(ModelChain::make(wide_, target_));
    const auto source = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
    LATHE_TRY_STATUS(fill(*chain_, wide_, source, target_, Checking::kSkip));
    chain_->fill_random(kSeed);
    for (std::size_t n = 0; n < wide_.nodes.size(); ++n) {
      chain_->run_node(n);
      LATHE_TRY_STATUS(compare_with_evaluator(wide_.nodes[n]));
    }
    return {};
  }

  std::vector<double> numbers(int id) const {
    const graph::Value& value = wide_.value(id);
    return numbers_in(chain_->elements(id), value.dtype, value.elements());
  }
  std::int64_t elements() const { return elements_; }

 private:
  Status compare_with_evaluator(const graph::Node& node) {
    std::vector<std::vector<double>> inputs;
    for (const int id : node.inputs) inputs.push_back(numbers(id));
    interp::Elements evaluator(node.expression,
                               std::vector<std::span<const double>>(inputs.begin(), inputs.end()),
                               kMostTerms);
    const std::vector<int> outputs = node.expression.outputs();
    for (std::size_t o = 0; o < outputs.size(); ++o)
      LATHE_TRY_STATUS(compare(node, evaluator, outputs[o], numbers(node.outputs[o])));
    return {};
  }

  Status compare(const graph::Node& node, interp::Elements& evaluator, int output,
                 const std::vector<double>& got) {
    const double largest = largest_of(got);
    for (int i = 0; i < kElements; ++i) {
      const auto at = static_cast<std::int64_t>(rng_.below(got.size()));
      const auto want = evaluator.at(output, at);
      if (!want) break;
      const double error = apart(got[static_cast<std::size_t>(at)], want->value);
      if (error > kEvaluated * largest + want->bound)
        return fail_at(node.name, ErrorKind::kWrongAnswer,
                       "element {} of its reference is {}, and {} by the evaluator: a bug of Lathe",
                       at, got[static_cast<std::size_t>(at)], want->value);
      ++elements_;
    }
    return {};
  }

  const graph::Graph wide_;
  const Target target_;
  std::unique_ptr<ModelChain> chain_;
  Rng rng_{kSeed};
  std::int64_t elements_ = 0;
};

bool jumps_somewhere(const graph::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const graph::Node& node) {
    return measure::reference_workload(node.expression).jumps;
  });
}

// What the model's program makes of the reference's inputs, by output.
Result<std::vector<std::vector<double>>> run_program(const graph::Graph& graph,
                                                     const ModelProgram& made,
                                                     const ReferenceRun& reference) {
  const auto program = LATHE_TRY(LoadedProgram::make(made.program, made.target));
  std::vector<graph::Data> elements;
  for (const int id : graph.inputs)
    if (std::ranges::count(made.left_out, graph.value(id).name) == 0)
      elements.push_back(graph::Data::of(graph.value(id).dtype, reference.numbers(id)));
  std::vector<const void*> inputs;
  for (const graph::Data& data : elements) inputs.push_back(data.bytes.data());
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> outputs;
  for (const int id : graph.outputs)
    memory.emplace_back(static_cast<std::size_t>(graph.value(id).bytes()));
  for (auto& bytes : memory) outputs.push_back(bytes.data());
  program->set_constants(inputs);
  if (made.weights) std::ranges::copy(*made.weights, program->constant_area().begin());
  program->run(inputs, outputs);
  std::vector<std::vector<double>> out;
  for (std::size_t o = 0; o < memory.size(); ++o)
    out.push_back(numbers_in(memory[o].data(), graph.value(graph.outputs[o]).dtype,
                             graph.value(graph.outputs[o]).elements()));
  return out;
}

double error_of(const std::vector<double>& got, const std::vector<double>& want, bool of_numbers) {
  const double largest = largest_of(want);
  double error = 0, differ = 0;
  for (std::size_t e = 0; e < want.size(); ++e) {
    const double by = apart(got[e], want[e]);
    differ += by > 0 ? 1 : 0;
    error = std::max(error, by > 0 ? by / largest : 0);
  }
  return of_numbers ? error : differ / static_cast<double>(want.size());
}

}  // namespace

Result<ModelCheck> check_model(const graph::Graph& graph, const ModelProgram& made) {
  ReferenceRun reference(graph, made.target);
  LATHE_TRY_STATUS(reference.run());
  const auto got = LATHE_TRY(run_program(graph, made, reference));
  ModelCheck out;
  out.elements = reference.elements();
  for (std::size_t o = 0; o < got.size(); ++o) {
    const graph::Value& value = graph.value(graph.outputs[o]);
    const double error =
        error_of(got[o], reference.numbers(graph.outputs[o]), is_float(value.dtype));
    if (o == 0 || error > out.error) out.error = error, out.output = value.name;
  }
  if (out.error > kModelError && !jumps_somewhere(graph))
    return fail_at(out.output, ErrorKind::kWrongAnswer,
                   "the model's program is off by {:.2g} of the largest element, and {:.0e} is "
                   "allowed: a bug of Lathe, unless the model magnifies roundings; --no-check "
                   "writes it all the same",
                   out.error, kModelError);
  return out;
}

}  // namespace lathe::api
