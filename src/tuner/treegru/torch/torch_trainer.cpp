// TreeGRU's network (weights.h) on libtorch, which finds the slopes of the weights; on a GPU, where
// libtorch has one.
//
// On the CPU one thread works on each batch from start to end, and the slopes of the batches are
// added up in order. So results do not depend on the number of threads, and no thread of a library
// spins beside what is being measured.
#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <exception>
#include <thread>

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/optim/adam.h>
#include <torch/types.h>

#include "tuner/treegru/trainer.h"

namespace lathe::treegru {
namespace {

using torch::Tensor;

// In the order of Weights::trained().
enum Parameter { kEmbedding, kInput, kHidden, kBias, kScatter, kReadout, kOffset };

torch::Device device_to_use() {
  if (!torch::cuda::is_available()) return torch::kCPU;
  // With this, sums on a GPU come out the same every time.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setDeterministicAlgorithms(true, false);
  return torch::kCUDA;
}

void keep_libraries_single_threaded() {
  at::set_num_threads(1);
  // The BLAS below libtorch has threads of its own; the system decides which BLAS that is.
  if (void* set = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set)(1);
}

// Calls work(0) to work(count - 1) on up to `threads` threads; throws what the first of them threw.
template <class Work>
void on_threads(int threads, std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(count, static_cast<std::size_t>(threads)); ++t)
      others.emplace_back(take);
    take();
  }
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// libtorch throws, but no exception may leave the plug-in.
template <class Work>
Status guarded(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& e) {
    const std::string_view text = e.what();
    return fail(ErrorKind::kInternal, "libtorch failed: {}", text.substr(0, text.find('\n')));
  }
}

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(const Weights& start, int threads) : shape_(start.shape), device_(device_to_use()) {
    keep_libraries_single_threaded();
    threads_ = device_.is_cpu() ? std::max(threads, 1) : 1;
    std::vector<Tensor> learnt;
    for (const Matrix* matrix : start.trained()) {
      parameters_.push_back(tensor_of(*matrix).requires_grad_());
      if (!matrix->values.empty()) learnt.push_back(parameters_.back());
    }
    adam_ = std::make_unique<torch::optim::Adam>(std::move(learnt));
  }

  Status forward(std::span<const PackedTrees> parts, std::span<float> scores) override {
    return guarded([&] {
      scores_.assign(parts.size(), Tensor());
      on_threads(threads_, parts.size(), [&](std::size_t i) { scores_[i] = scores_of(parts[i]); });
      float* out = scores.data();
      for (const Tensor& part : scores_) {
        const Tensor values = part.detach().to(torch::kCPU).contiguous();
        out = std::copy_n(values.data_ptr<float>(), values.numel(), out);
      }
    });
  }

  Status step(std::span<const float> slopes, double learning_rate) override {
    return guarded([&] {
      std::vector<std::vector<Tensor>> gradients(scores_.size());
      std::vector<Tensor> at_scores;
      for (const Tensor& part : scores_) {
        at_scores.push_back(tensor_of(slopes.first(static_cast<std::size_t>(part.numel()))));
        slopes = slopes.subspan(static_cast<std::size_t>(part.numel()));
      }
      on_threads(threads_, scores_.size(), [&](std::size_t i) {
        gradients[i] =
            torch::autograd::grad({scores_[i]}, parameters_, {at_scores[i]}, false, false, true);
      });
      for (std::size_t p = 0; p < parameters_.size(); ++p)
        parameters_[p].mutable_grad() = sum_of(gradients, p);
      static_cast<torch::optim::AdamOptions&>(adam_->param_groups()[0].options()).lr(learning_rate);
      adam_->step();
      scores_.clear();
    });
  }

  Status read(Weights& weights) const override {
    return guarded([&] {
      const auto matrices = weights.trained();
      for (std::size_t p = 0; p < matrices.size(); ++p) {
        const Tensor values = parameters_[p].detach().to(torch::kCPU).contiguous();
        matrices[p]->values.assign(values.data_ptr<float>(),
                                   values.data_ptr<float>() + values.numel());
      }
    });
  }

 private:
  Tensor tensor_of(std::span<const float> values) const {
    Tensor tensor = torch::empty({static_cast<std::int64_t>(values.size())}, torch::kFloat32);
    std::ranges::copy(values, tensor.data_ptr<float>());
    return tensor.to(device_);
  }
  Tensor tensor_of(const Matrix& matrix) const {
    return tensor_of(std::span(matrix.values)).reshape({matrix.rows, matrix.columns});
  }
  Tensor tensor_of(const std::vector<int>& numbers) const {
    return torch::tensor(at::IntArrayRef(std::vector<std::int64_t>(numbers.begin(), numbers.end())),
                         torch::kInt64)
        .to(device_);
  }

  const Tensor& parameter(Parameter which) const { return parameters_[which]; }

  // Computes x W + b for the loops of all levels in one product.
  std::vector<Tensor> gates_of(const PackedTrees& trees) const {
    std::vector<float> inputs;
    std::vector<int> variables;
    std::vector<std::int64_t> counts;
    for (const Level& level : trees.levels) {
      inputs.insert(inputs.end(), level.inputs.begin(), level.inputs.end());
      variables.insert(variables.end(), level.variable.begin(), level.variable.end());
      counts.push_back(level.count());
    }
    Tensor x = tensor_of(std::span<const float>(inputs))
                   .reshape({static_cast<std::int64_t>(variables.size()), -1});
    if (shape_.variant == Variant::kVanilla)
      x = torch::cat({parameter(kEmbedding).index_select(0, tensor_of(variables)), x}, 1);
    return torch::addmm(parameter(kBias), x, parameter(kInput)).split_with_sizes(counts);
  }

  // The states of a level's loops. `inside` are the sums of the states inside them; it is undefined
  // if nothing is inside.
  Tensor states_of(const Tensor& gates, const Tensor& inside) const {
    const std::vector<Tensor> x = gates.chunk(3, 1);
    if (!inside.defined()) {
      const Tensor c = torch::tanh(x[2]);
      return c - torch::sigmoid(x[1]) * c;
    }
    const std::vector<Tensor> h = torch::mm(inside, parameter(kHidden)).chunk(3, 1);
    const Tensor c = torch::tanh(torch::addcmul(x[2], torch::sigmoid(x[0] + h[0]), h[2]));
    return torch::lerp(c, inside, torch::sigmoid(x[1] + h[1]));
  }

  Tensor scores_of(const PackedTrees& trees) const {
    const Tensor start = parameter(kOffset).reshape({1}).expand({trees.programs});
    if (trees.levels.empty()) return start;
    const std::vector<Tensor> gates = gates_of(trees);
    std::vector<Tensor> states;
    std::vector<int> programs;
    Tensor inside;
    for (std::size_t l = trees.levels.size(); l-- > 0;) {
      const Level& level = trees.levels[l];
      const Tensor h = states_of(gates[l], inside);
      if (l > 0)
        inside = torch::zeros({trees.levels[l - 1].count(), shape_.hidden}, h.options())
                     .index_add(0, tensor_of(level.parent), h);
      if (l > 0 && shape_.variant == Variant::kVanilla) continue;
      states.push_back(h);
      programs.insert(programs.end(), level.program.begin(), level.program.end());
    }
    return start.index_add(0, tensor_of(programs), read_out(torch::cat(states)));
  }

  // How much each loop adds to the score of its program.
  Tensor read_out(const Tensor& states) const {
    const Tensor read = torch::mm(states, parameter(kReadout).t());
    if (shape_.variant == Variant::kVanilla) return read.reshape({-1});
    return (torch::softmax(torch::mm(states, parameter(kScatter)), 1) * read).sum(1);
  }

  static Tensor sum_of(const std::vector<std::vector<Tensor>>& gradients, std::size_t parameter) {
    Tensor sum;
    for (const auto& of_batch : gradients)
      if (of_batch[parameter].defined())
        sum = sum.defined() ? sum + of_batch[parameter] : of_batch[parameter];
    return sum;
  }

  Shape shape_;
  torch::Device device_;
  int threads_ = 1;
  std::vector<Tensor> parameters_;
  std::unique_ptr<torch::optim::Adam> adam_;
  std::vector<Tensor> scores_;  // of the last forward()
};

}  // namespace
}  // namespace lathe::treegru

extern "C" [[gnu::visibility("default")]] lathe::treegru::Trainer* lathe_make_trainer_1(
    const lathe::treegru::Weights& start, int threads, std::string& error) {
  try {
    return new lathe::treegru::TorchTrainer(start, threads);
  } catch (const std::exception& e) {
    error = e.what();
    return nullptr;
  }
}
