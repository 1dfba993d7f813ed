#include "api/model_check.h"

#include <algorithm>
#include <cmath>

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

  Status run(const graph::Graph& graph, const ModelTensors& inputs) {
    chain_ = LATHE_TRY(ModelChain::make(wide_, target_));
    const auto source = LATHE_TRY(schedule_source({.which = "default", .database = {}}));
    LATHE_TRY_STATUS(fill(*chain_, wide_, source, target_, Checking::kSkip));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      set(graph.inputs[i], numbers_in(inputs[i].bytes.data(), graph.value(graph.inputs[i]).dtype,
                                      graph.value(graph.inputs[i]).elements()));
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
  void set(int id, const std::vector<double>& numbers) {
    const Dtype dtype = wide_.value(id).dtype;
    for (std::size_t e = 0; e < numbers.size(); ++e)
      store_element(dtype, chain_->elements(id) + e * static_cast<std::size_t>(size_of(dtype)),
                    numbers[e]);
  }

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

double error_between(Dtype dtype, const graph::Data& got, const graph::Data& want) {
  const auto numbers = [&](const graph::Data& data) {
    return numbers_in(data.bytes.data(), dtype,
                      static_cast<std::int64_t>(data.bytes.size()) / size_of(dtype));
  };
  return error_of(numbers(got), numbers(want), is_float(dtype));
}

Result<ModelCheck> check_model(const graph::Graph& graph, const ModelProgram& made,
                               double max_error) {
  const ModelTensors inputs = random_inputs(graph, kSeed);
  return check_outputs(graph, made.target, inputs, LATHE_TRY(run_model(graph, made, inputs)),
                       max_error);
}

Result<ModelCheck> check_outputs(const graph::Graph& graph, const Target& target,
                                 const ModelTensors& inputs, const ModelTensors& outputs,
                                 double max_error) {
  ReferenceRun reference(graph, target);
  LATHE_TRY_STATUS(reference.run(graph, inputs));
  ModelCheck out;
  out.elements = reference.elements();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const graph::Value& value = graph.value(graph.outputs[o]);
    const auto got = numbers_in(outputs[o].bytes.data(), value.dtype, value.elements());
    const double error = error_of(got, reference.numbers(graph.outputs[o]), is_float(value.dtype));
    if (o == 0 || error > out.error) out.error = error, out.output = value.name;
  }
  if (out.error > max_error && !jumps_somewhere(graph))
    return fail_at(out.output, ErrorKind::kWrongAnswer,
                   "the model's program is off by {:.2g} of the largest element, and {:.0e} is "
                   "allowed: a bug of Lathe, unless the model magnifies roundings; --max-error "
                   "allows more",
                   out.error, max_error);
  return out;
}

}  // namespace lathe::api
