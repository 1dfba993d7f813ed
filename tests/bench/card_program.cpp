#include "bench/card_program.h"

#include <cmath>
#include <ctime>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/driver/driver.h"
#include "compiler/interp/te_elements.h"
#include "host_card/host_card.h"
#include "oracle/te_eval.h"

namespace lathe::testing {

Result<CardProgram> card_program(const space::Space& space, const space::Config& config,
                                 const Target& target) {
  CardProgram made{space.workload(), {}, {}};
  made.program = LATHE_TRY(driver::lowered(made.workload, space.trace(config), target));
  const std::clock_t begin = std::clock();
  made.image = LATHE_TRY(codegen::cuda_image(made.program, target.as_cuda()));
  made.milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return made;
}

Result<std::string> compared(const CardProgram& made, const Target& target) {
  constexpr std::int64_t kElements = 12, kMostTerms = 1'000'000;
  Rng rng(5);
  const auto inputs = interp::random_inputs(made.workload, rng);
  std::vector<std::span<const double>> values;
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.emplace_back(inputs[i].values);
    stored.push_back(interp::to_storage(made.program.inputs[i], inputs[i].values));
  }
  const std::string ir = LATHE_TRY(codegen::cuda_ir(made.program, target));
  const auto got = LATHE_TRY(run_on_host(ir, made.image, stored));
  interp::Elements elements(made.workload, values, kMostTerms);
  const std::vector<int> outputs = made.workload.outputs();
  for (std::size_t o = 0; o < got.size(); ++o) {
    const auto all = interp::from_storage(made.program.outputs[o], got[o]);
    const auto count = static_cast<std::int64_t>(all.size());
    for (std::int64_t i = 0; i < kElements; ++i) {
      const std::int64_t at =
          i == 0   ? 0
          : i == 1 ? count - 1
                   : static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
      const auto want = elements.at(outputs[o], at);
      if (!want) break;
      const double have = all[static_cast<std::size_t>(at)];
      if (!(std::abs(have - want->value) <=
            want->bound + made.workload.contract.max_error * std::abs(want->value)))
        return fmt::format("wrong at {} of output {}: {}, not {} within {}", at, o, have,
                           want->value, want->bound);
    }
  }
  return "right";
}

}  // namespace lathe::testing
