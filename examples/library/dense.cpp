// Lathe as a library: tunes a dense layer, compiles the best program on record, runs it, and
// compares what it computes with three loops.
//
// Usage: dense [ROWS INPUTS OUTPUTS [TRIALS]]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <lathe/lathe.h>

namespace {

int failed(const lathe::Failure& failure) {
  std::fprintf(stderr, "dense: %s\n", failure.text().c_str());
  return 1;
}

// The largest difference over the largest output.
double error_of(const std::vector<float>& y, const std::vector<float>& x,
                const std::vector<float>& w, int rows, int inputs, int outputs) {
  double worst = 0, largest = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < outputs; ++j) {
      double sum = 0;
      for (int k = 0; k < inputs; ++k) sum += double{x[i * inputs + k]} * w[j * inputs + k];
      largest = std::fmax(largest, std::fabs(sum));
      worst = std::fmax(worst, std::fabs(sum - y[i * outputs + j]));
    }
  return worst / largest;
}

}  // namespace

int main(int argc, char** argv) {
  const int rows = argc > 3 ? std::atoi(argv[1]) : 64;
  const int inputs = argc > 3 ? std::atoi(argv[2]) : 256;
  const int outputs = argc > 3 ? std::atoi(argv[3]) : 100;
  const int trials = argc > 4 ? std::atoi(argv[4]) : 64;

  const auto workload = lathe::Workload::parse(
      "Y[i,j] = sum(k) X[i,k] * W[j,k]",
      {.shapes = {{"X", {rows, inputs}}, {"W", {outputs, inputs}}}, .constants = {"W"}});
  if (!workload) return failed(workload.error());
  const auto found = workload->tune({.trials = trials});
  if (!found) return failed(found.error());
  auto program = workload->compile();
  if (!program) return failed(program.error());

  std::vector<float> x(rows * inputs), w(outputs * inputs), y(rows * outputs);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2.5F;
  const void* in[] = {x.data(), w.data()};
  void* out[] = {y.data()};
  if (const auto prepared = program->prepare(in); !prepared) return failed(prepared.error());
  if (const auto ran = program->run(in, out); !ran) return failed(ran.error());

  const double error = error_of(y, x, w, rows, inputs, outputs);
  std::printf("%d trials, %.1f GFLOP/s, error %.2g of the largest output\n", found->trials,
              found->best ? found->best->gflops : 0.0, error);
  return error < 2e-5 ? 0 : 1;
}
