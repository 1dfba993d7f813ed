#include "tuner/space/rules/stores/stores.h"

#include <algorithm>

#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/prepare.h"

namespace lathe::space {
namespace {

// From here on, no usual last cache holds it from one call to the next. (A target does not tell how
// large its caches are: the same space must come out on every machine.)
constexpr double kBeyondCaches = 64 << 20;
// Iterations for each element of the output. With more, they take longer than its store.
constexpr double kFewTerms = 64;

bool is_read(const te::Workload& workload, int tensor) {
  return std::ranges::any_of(workload.stages, [&](const te::Stage& stage) {
    const std::vector<int> read = ir::tensors_of(stage.body);
    return std::ranges::find(read, tensor) != read.end();
  });
}

// Names of the outputs that are worth it.
std::vector<std::string> large_outputs(const te::Workload& workload, double least) {
  std::vector<std::string> names;
  for (int t = 0; t < static_cast<int>(workload.tensors.size()); ++t) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(t)];
    if (tensor.role == te::TensorRole::kOutput && bytes_of(tensor) >= least &&
        !is_read(workload, t))
      names.push_back(tensor.name);
  }
  return names;
}

// True if vectors go to rows in turn, and each is less than a line: the parts of many lines would
// wait for the rest.
bool stores_in_parts(const te::Workload& workload, const CpuTarget& target) {
  constexpr int kLineBits = 512;
  return target.vector_bits < kLineBits &&
         std::ranges::any_of(
             workload.stages, [](const te::Stage& stage) { return read_along(stage) >= 0; });
}

// True if lines are stored as a whole: all of the output follows each other, or its rows begin at
// lines. Softmax of rows of 1000 and 1001 elements took 1.2 and 1.3 times as long with streaming
// stores, of rows of 1024 0.95.
bool rows_are_lines(const ir::Nest& nest, const std::string& output) {
  constexpr std::int64_t kLine = 64;
  const ir::Buffer& buffer = nest.buffers[nest.find_buffer(output)];
  return buffer.shape.size() < 2 ||
         nest.sizes.constant_value(buffer.shape.back()) * size_of(buffer.dtype) % kLine == 0;
}

// True if memory limits the program, and no cache holds what it touches.
bool is_worth_it(const te::Workload& workload, const std::vector<std::string>& outputs) {
  double touched = 0, stored = 0, work = 0, elements = 0;
  for (const te::Tensor& tensor : workload.tensors) {
    if (tensor.role != te::TensorRole::kInput && tensor.role != te::TensorRole::kOutput) continue;
    touched += bytes_of(tensor);
    if (std::ranges::find(outputs, tensor.name) == outputs.end()) continue;
    stored += bytes_of(tensor);
    elements += elements_of(tensor);
  }
  for (const te::Stage& stage : workload.stages) work += work_of(stage);
  return touched >= kBeyondCaches && stored >= kBeyondCaches / 4 && work <= kFewTerms * elements;
}

class StoresAlternatives : public Alternatives {
 public:
  StoresAlternatives(const CpuContext& context, std::vector<std::string> outputs)
      : free_layout_(context.workload.contract.free_layout),
        worth_it_(is_worth_it(context.workload, outputs) &&
                  !stores_in_parts(context.workload, context.target)),
        outputs_(std::move(outputs)) {}

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    return {{{"stores", {0, 1}, {"cached", "streaming"}, true}, std::vector<int>{}, {}}};
  }
  void add_limits_and_starts(Derived& derived) override {
    const Result<Sketch> start = worth_it_ ? derived.build(derived.starts[0]) : Sketch{};
    const bool first =
        worth_it_ && start && std::ranges::all_of(outputs_, [&](const std::string& output) {
          return rows_are_lines(start->nest, output);
        });
    derived.starts.push_back(derived.starts[0]);
    for (std::vector<std::int64_t>& each : derived.starts) each[at_] = first ? 1 : 0;
    derived.starts.back()[at_] = first ? 0 : 1;
  }
  Result<Sketch> build(std::span<const std::int64_t> values, const Build& before) const override {
    Result<Sketch> sketch = before(values);
    if (!sketch) return sketch;
    // A sum may be made in the output's own place; then nothing changes.
    for (const std::string& output : outputs_)
      try_step(sketch->nest, sketch->trace, schedule::Stream{output}, free_layout_);
    return sketch;
  }

 private:
  bool free_layout_, worth_it_;
  std::vector<std::string> outputs_;
  std::size_t at_ = 0;  // the number of the knob
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_stores(const CpuContext& context) {
  std::vector<std::string> outputs = large_outputs(context.workload, context.streamed);
  if (outputs.empty()) return nullptr;
  return std::make_unique<StoresAlternatives>(context, std::move(outputs));
}

namespace {

constexpr Meaning kStoreMeanings[] = {
    {"stores",
     "streaming: the outputs are stored past the caches, which saves reading their lines first; "
     "cached: as usual"},
};

}  // namespace

std::span<const Meaning> store_meanings() { return kStoreMeanings; }

}  // namespace lathe::space
