#include "tuner/measure/inputs.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <variant>

#include "base/rng.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/uneven.h"

namespace lathe::measure {
namespace {

bool wants_positive(const ir::Expr& e) {
  struct Visitor {
    bool operator()(const ir::Const&) const { return false; }
    bool operator()(const ir::IterValue&) const { return false; }
    bool operator()(const ir::Read&) const { return false; }
    bool operator()(const ir::InRange&) const { return false; }
    bool operator()(const ir::Lookup& n) const {
      return std::ranges::any_of(n.index, wants_positive);
    }
    bool operator()(const ir::Unary& n) const {
      return n.op == ir::UnaryOp::kLog || n.op == ir::UnaryOp::kSqrt ||
             n.op == ir::UnaryOp::kRsqrt || n.op == ir::UnaryOp::kLog1p || wants_positive(n.x);
    }
    bool operator()(const ir::Binary& n) const {
      return n.op == ir::BinaryOp::kPow || wants_positive(n.a) || wants_positive(n.b);
    }
    bool operator()(const ir::Select& n) const {
      return wants_positive(n.condition) || wants_positive(n.then) || wants_positive(n.otherwise);
    }
    bool operator()(const ir::Cast& n) const { return wants_positive(n.x); }
  };
  return std::visit(Visitor{}, e->value);
}

double rounded(Dtype dtype, double value) {
  alignas(8) std::byte raw[8];
  store_element(dtype, raw, value);
  return load_element(dtype, raw);
}

double random_value(Dtype dtype, bool positive, Rng& rng) {
  if (dtype == Dtype::kBool) return rng.chance(0.5) ? 1 : 0;
  const bool negative = rng.chance(0.5) && !positive && !is_unsigned(dtype);
  const double magnitude = is_float(dtype) ? rounded(dtype, 0.125 + 0.875 * rng.uniform())
                                           : static_cast<double>(rng.between(1, 5));
  return negative ? -magnitude : magnitude;
}

// Its ends among them.
double value_within(const te::InputRange& range, Dtype dtype, Rng& rng) {
  constexpr double kEnds = 1.0 / 64;
  if (rng.chance(kEnds)) return rng.chance(0.5) ? range.low : range.high;
  const double share = rng.uniform();
  const double value = range.low * (1 - share) + range.high * share;
  return std::clamp(is_float(dtype) ? rounded(dtype, value) : std::round(value), range.low,
                    range.high);
}

std::int64_t elements_of(const te::Tensor& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.shape) elements *= size;
  return elements;
}

std::vector<tensor::Border> borders_of(const te::Workload& workload,
                                       const std::vector<int>& tensors) {
  std::vector<tensor::Border> borders;
  for (const int t : tensors) {
    const te::Tensor& tensor = workload.tensors[t];
    borders.push_back(
        tensor::plain_border(tensor.name, tensor.dtype, tensor.shape, tensor.constant));
  }
  return borders;
}

}  // namespace

std::vector<tensor::Border> plain_inputs(const te::Workload& workload) {
  return borders_of(workload, workload.inputs());
}
std::vector<tensor::Border> plain_outputs(const te::Workload& workload) {
  return borders_of(workload, workload.outputs());
}

std::vector<std::vector<double>> random_inputs(const te::Workload& workload, std::uint64_t seed) {
  bool positive = false;
  for (const te::Stage& stage : workload.stages) positive = positive || wants_positive(stage.body);
  std::vector<std::vector<double>> values;
  const std::vector<Freedom> freedoms = freedoms_of(workload);
  Rng rng(seed);
  for (const int input : workload.inputs()) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(input)];
    const Freedom& freedom = freedoms[static_cast<std::size_t>(input)];
    Rng own = rng.fork();
    values.emplace_back(static_cast<std::size_t>(elements_of(tensor)));
    for (double& value : values.back())
      value = tensor.range ? value_within(*tensor.range, tensor.dtype, own)
                           : random_value(tensor.dtype, positive, own);
    if (freedom.scales && !tensor.range) make_uneven(tensor, freedom, values.back(), own);
  }
  return values;
}

Result<runner::Fd> inputs_file(const std::vector<tensor::Border>& borders,
                               const std::vector<std::vector<double>>& values) {
  const auto offsets = runner::file_offsets(borders);
  runner::Fd file = LATHE_TRY(runner::make_memory_file("lathe-inputs", offsets.back()));
  const auto bytes = static_cast<std::size_t>(offsets.back());
  if (bytes == 0) return file;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED)
    return fail(ErrorKind::kOutOfMemory, "cannot map {} bytes of inputs: {}", bytes,
                std::strerror(errno));
  for (std::size_t i = 0; i < borders.size(); ++i) {
    auto* at = static_cast<std::byte*>(mapped) + offsets[i];
    const int step = size_of(borders[i].dtype);
    for (std::size_t e = 0; e < values[i].size(); ++e)
      store_element(borders[i].dtype, at + e * step, values[i][e]);
  }
  ::munmap(mapped, bytes);
  return file;
}

}  // namespace lathe::measure
