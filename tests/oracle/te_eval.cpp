#include "oracle/te_eval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compiler/interp/reduction.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"

namespace lathe::interp {
namespace {

constexpr std::int64_t kMaxTensorElements = 1 << 28;

struct StoredTensor {
  const te::Tensor* tensor = nullptr;
  std::vector<Value> elements;
};

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

class StageRun final : public Environment {
 public:
  StageRun(const te::Workload& workload, const te::Stage& stage, std::vector<StoredTensor>& tensors)
      : stage_(stage),
        alike_(terms_may_be_alike(workload, stage)),
        factored_(may_be_factored(stage)),
        tensors_(tensors),
        position_(stage.iters.size()) {}

  // Spatial iterators are the outer loops, so an element's reduction runs uninterrupted.
  void run() {
    auto& out = tensors_[static_cast<std::size_t>(stage_.tensor)].elements;
    if (const auto scan = te::scan_of(stage_); scan && scan->backward) return run_backward(out);
    std::size_t element = 0;
    const std::size_t first_reduce =
        tensors_[static_cast<std::size_t>(stage_.tensor)].tensor->shape.size();
    do {
      out[element++] = value_here(first_reduce);
    } while (advance(0, first_reduce));
  }

  // The elements at one place along an axis.
  void run_step(int axis, std::int64_t step) {
    auto& out = tensors_[static_cast<std::size_t>(stage_.tensor)];
    const std::size_t first_reduce = out.tensor->shape.size();
    for (std::size_t element = 0; element < out.elements.size(); ++element) {
      place(element, first_reduce);
      if (position_[static_cast<std::size_t>(axis)] == step)
        out.elements[element] = value_here(first_reduce);
    }
  }

  Value read(const ir::Read& read, Dtype) override {
    const StoredTensor& storage = tensors_[static_cast<std::size_t>(read.tensor)];
    const auto& shape = storage.tensor->shape;
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t index = at(read.index[d]);
      if (index < 0 || index >= shape[d]) {
        LATHE_CHECK(read.pad.has_value(), "{} is read outside", storage.tensor->name);
        return {*read.pad, 0, *read.pad == 0};
      }
      offset = offset * shape[d] + index;
    }
    return storage.elements[static_cast<std::size_t>(offset)];
  }
  Value element(int tensor, std::span<const std::int64_t> at,
                const std::optional<double>& pad) override {
    const StoredTensor& storage = tensors_[static_cast<std::size_t>(tensor)];
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::int64_t size = storage.tensor->shape[d];
      if (at[d] < 0 || at[d] >= size) {
        LATHE_CHECK(pad.has_value(), "{} is read outside", storage.tensor->name);
        return {*pad, 0, *pad == 0};
      }
      offset = offset * size + at[d];
    }
    return storage.elements[static_cast<std::size_t>(offset)];
  }
  std::span<const std::int64_t> shape_of(int tensor) override {
    return tensors_[static_cast<std::size_t>(tensor)].tensor->shape;
  }
  std::int64_t iter(int iter) override { return position_[static_cast<std::size_t>(iter)]; }

 private:
  // The element at the position of the spatial iterators; those of reductions are 0.
  Value value_here(std::size_t first_reduce) {
    if (stage_.reduce == ir::ReduceOp::kNone) return interp::evaluate(stage_.body, *this);
    Reduction reduction(stage_.reduce, stage_.body->dtype, alike_, factored_);
    do {
      reduction.add(interp::evaluate(stage_.body, *this));
    } while (advance(first_reduce, position_.size()));
    return reduction.result();
  }

  // Goes to the position of an element by its number.
  void place(std::size_t element, std::size_t first_reduce) {
    for (std::size_t i = first_reduce; i-- > 0;) {
      const auto extent = static_cast<std::size_t>(stage_.iters[i].extent);
      position_[i] = static_cast<std::int64_t>(element % extent);
      element /= extent;
    }
  }

  // The elements from the last to the first: each finds those behind it.
  void run_backward(std::vector<Value>& out) {
    for (std::size_t element = out.size(); element-- > 0;) {
      place(element, position_.size());
      out[element] = interp::evaluate(stage_.body, *this);
    }
  }

  // Goes to the next position of iterators [first, last), the last one fastest. After the end all
  // are 0, and it returns false.
  bool advance(std::size_t first, std::size_t last) {
    for (std::size_t i = last; i-- > first;) {
      if (++position_[i] < stage_.iters[i].extent) return true;
      position_[i] = 0;
    }
    return false;
  }

  const te::Stage& stage_;
  const bool alike_, factored_;
  std::vector<StoredTensor>& tensors_;
  std::vector<std::int64_t> position_;
};

void run_steps(const te::Workload& workload, const te::Recurrence& recurrence,
               std::vector<StoredTensor>& tensors) {
  const auto stage_of = [&](std::size_t p) -> const te::Stage& {
    return workload.stages[static_cast<std::size_t>(recurrence.stages[p])];
  };
  const std::int64_t steps = stage_of(0).iters[static_cast<std::size_t>(recurrence.axes[0])].extent;
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::size_t p = 0; p < recurrence.stages.size(); ++p)
      StageRun(workload, stage_of(p), tensors)
          .run_step(recurrence.axes[p], recurrence.backward ? steps - 1 - step : step);
}

Result<std::vector<StoredTensor>> load(const te::Workload& workload,
                                       const std::vector<Tensor>& inputs) {
  std::vector<StoredTensor> out;
  std::size_t next = 0;
  for (const te::Tensor& tensor : workload.tensors) {
    const std::int64_t count = count_of(tensor.shape);
    if (count > kMaxTensorElements)
      return fail(ErrorKind::kUnsupported, "{} is too large to interpret: {} elements", tensor.name,
                  count);
    StoredTensor storage{&tensor, std::vector<Value>(static_cast<std::size_t>(count))};
    const std::vector<double>* values =
        tensor.role == te::TensorRole::kLiteral ? &tensor.literal : nullptr;
    if (tensor.role == te::TensorRole::kInput) {
      if (next == inputs.size())
        return fail(ErrorKind::kInvalidArgument, "{} inputs are given, {} and more are needed",
                    next, next + 1);
      const Tensor& given = inputs[next++];
      if (given.shape != tensor.shape || std::cmp_not_equal(given.values.size(), count))
        return fail(ErrorKind::kInvalidArgument,
                    "the input for {} has the shape [{}] and {} elements, not [{}]", tensor.name,
                    fmt::join(given.shape, ","), given.values.size(), fmt::join(tensor.shape, ","));
      values = &given.values;
    }
    if (values != nullptr)
      for (std::size_t i = 0; i < values->size(); ++i) storage.elements[i] = exact((*values)[i]);
    out.push_back(std::move(storage));
  }
  if (next != inputs.size())
    return fail(ErrorKind::kInvalidArgument, "{} inputs are given, {} are needed", inputs.size(),
                next);
  return out;
}

double random_value(Dtype dtype, Rng& rng) {
  const double sign = rng.chance(0.5) ? 1 : -1;
  switch (dtype) {
    case Dtype::kBool: return rng.chance(0.5) ? 1 : 0;
    case Dtype::kU8: return static_cast<double>(rng.between(1, 16));
    case Dtype::kU16:
    case Dtype::kU32: return static_cast<double>(rng.between(1, 100));
    case Dtype::kI16:
    case Dtype::kI8: return sign * static_cast<double>(rng.between(1, 8));
    case Dtype::kI32:
    case Dtype::kI64: return sign * static_cast<double>(rng.between(1, 100));
    default: break;
  }
  std::uint64_t bits = 0;
  store_element(dtype, &bits, sign * (0.1 + 0.9 * rng.uniform()));
  return load_element(dtype, &bits);
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const te::Workload& workload,
                                     const std::vector<Tensor>& inputs) {
  LATHE_TRY_STATUS(te::validate(workload));
  std::vector<StoredTensor> tensors = LATHE_TRY(load(workload, inputs));
  const std::vector<te::Recurrence> recurrences = te::recurrences_of(workload);
  for (std::size_t s = 0; s < workload.stages.size(); ++s) {
    const auto in = std::ranges::find_if(
        recurrences, [&](const te::Recurrence& each) { return each.has(static_cast<int>(s)); });
    if (in == recurrences.end()) StageRun(workload, workload.stages[s], tensors).run();
    else if (std::cmp_equal(in->stages.front(), s)) run_steps(workload, *in, tensors);
  }
  std::vector<Tensor> out;
  for (const int t : workload.outputs()) {
    const StoredTensor& storage = tensors[static_cast<std::size_t>(t)];
    Tensor tensor{storage.tensor->dtype, storage.tensor->shape, {}, {}};
    for (const Value& v : storage.elements) {
      tensor.values.push_back(v.value);
      tensor.bounds.push_back(v.bound);
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

Tensor random_input(const te::Tensor& tensor, Rng& rng) {
  Tensor out{tensor.dtype, tensor.shape, {}, {}};
  const auto count = static_cast<std::size_t>(count_of(tensor.shape));
  out.values.reserve(count);
  // Places in other tensors keep what they promise.
  const bool within = tensor.range.has_value() && !is_float(tensor.dtype);
  for (std::size_t i = 0; i < count; ++i)
    out.values.push_back(
        within ? static_cast<double>(rng.between(static_cast<std::int64_t>(tensor.range->low),
                                                 static_cast<std::int64_t>(tensor.range->high)))
               : random_value(tensor.dtype, rng));
  return out;
}

std::vector<Tensor> random_inputs(const te::Workload& workload, Rng& rng) {
  std::vector<Tensor> out;
  for (const int t : workload.inputs())
    out.push_back(random_input(workload.tensors[static_cast<std::size_t>(t)], rng));
  return out;
}

std::string compare(const Tensor& want, const std::vector<double>& got, double factor) {
  if (got.size() != want.values.size())
    return fmt::format("{} elements instead of {}", got.size(), want.values.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double w = want.values[i], g = got[i];
    if (w == g || (std::isnan(w) && std::isnan(g))) continue;
    // A number agrees only with a number: NaN fails every comparison. Where nothing is known,
    // everything is right.
    if (std::abs(w - g) <= factor * want.bounds[i] || std::isinf(want.bounds[i])) continue;
    std::vector<std::size_t> index(want.shape.size());
    std::size_t rest = i;
    for (std::size_t d = index.size(); d-- > 0;) {
      index[d] = rest % static_cast<std::size_t>(want.shape[d]);
      rest /= static_cast<std::size_t>(want.shape[d]);
    }
    return fmt::format(
        "element [{}] is {:.9g} instead of {:.9g}, {:.3g} apart where {:.3g} is allowed",
        fmt::join(index, ","), g, w, std::abs(w - g), factor * want.bounds[i]);
  }
  return {};
}

}  // namespace lathe::interp
