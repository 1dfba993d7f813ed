#include "api/report/describe.h"

#include <fmt/ranges.h>

#include "compiler/ops/paper.h"
#include "compiler/te/parse.h"
#include "compiler/te/work.h"
#include "compiler/te/workload.h"
#include "tuner/learn/history.h"

namespace lathe::report {
namespace {

Work work_of(const te::Workload& workload) {
  const double gigabytes = te::io_bytes(workload) / 1e9;
  if (const double flops = te::flops(workload); flops > 0)
    return {flops / 1e9, "GFLOP/s", true, te::done_flops(workload) / flops, gigabytes};
  return {gigabytes, "GB/s", false, 1, gigabytes};
}

std::string range_of(const te::Tensor& tensor) {
  return tensor.range ? fmt::format(" in {}..{}", tensor.range->low, tensor.range->high) : "";
}

// Writes "f32 A 1x64x56x56, const B 64x64x3x3"; a type holds for what follows it, too.
std::string shapes_of(const te::Workload& workload) {
  std::vector<std::string> texts;
  std::optional<Dtype> dtype;
  for (const te::Tensor& tensor : workload.tensors) {
    if (tensor.role != te::TensorRole::kInput && tensor.role != te::TensorRole::kOutput) continue;
    const std::string type = dtype == tensor.dtype ? "" : fmt::format("{} ", name_of(tensor.dtype));
    dtype = tensor.dtype;
    texts.push_back(fmt::format("{}{}{} {}{}", type, tensor.constant ? "const " : "", tensor.name,
                                fmt::join(tensor.shape_at_border(), "x"), range_of(tensor)));
  }
  return fmt::format("{}{}, numerics {}", fmt::join(texts, ", "),
                     workload.contract.free_layout ? ", free layout" : "",
                     te::name_of(workload.contract.level()));
}

// Takes the sizes out of "C[i:31,j:29] = ...".
std::string without_sizes(std::string_view stage) {
  std::string out;
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (stage[i] != ':') out += stage[i];
    else
      while (i + 1 < stage.size() && stage[i + 1] >= '0' && stage[i + 1] <= '9') ++i;
  }
  return out;
}

// The stages of a key: items that begin with what they write, "C[".
std::string expression_of(std::string_view key) {
  std::string out;
  while (!key.empty()) {
    const std::size_t end = key.find("; ");
    const std::string_view item = key.substr(0, end);
    if (item.find('[') < item.find(' ')) out += (out.empty() ? "" : "; ") + without_sizes(item);
    key = end == std::string_view::npos ? "" : key.substr(end + 2);
  }
  return out;
}

}  // namespace

Describer::Describer() {
  for (const ops::NamedWorkload& workload : ops::paper_workloads())
    if (const auto algorithms = ops::build(workload.op, workload.arguments);
        algorithms && !algorithms->empty())
      paper_names_[learn::shape_of(te::workload_key(algorithms->front().workload))] = workload.name;
}

void Describer::describe(WorkloadReport& workload) const {
  const auto parsed = te::parse_workload(workload.key);
  workload.expression = parsed ? expression_of(workload.key) : workload.key;
  workload.shapes = parsed ? shapes_of(*parsed) : "";
  workload.work = parsed ? work_of(*parsed) : Work{1, "calls/s"};
  const auto named = paper_names_.find(learn::shape_of(workload.key));
  workload.title = named != paper_names_.end() ? named->second : workload.expression;
}

}  // namespace lathe::report
