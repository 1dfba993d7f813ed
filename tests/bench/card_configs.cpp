// card-configs ARCHITECTURE COUNT [SEED]: for each line `NAME<tab>EXPRESSION` of standard input a
// line about COUNT random configurations of its default space for cards of that architecture: the
// name; the size of the space; how many lower and assemble, and how many of these spill nothing;
// milliseconds of the processor from flat program to PTX, the median; then, for people, the first
// that failed and why.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/nvptx/cards.h"
#include "compiler/driver/driver.h"
#include "compiler/te/parse.h"
#include "support/ptxas.h"
#include "tuner/space/space.h"

namespace {

using namespace lathe;

struct Tried {
  bool spills = false;
  double milliseconds = 0;
};

Result<Tried> tried(const space::Space& space, const space::Config& config, const Target& target) {
  const auto program = LATHE_TRY(driver::lowered(space.workload(), space.trace(config), target));
  const std::clock_t begin = std::clock();
  const auto image = LATHE_TRY(codegen::cuda_image(program, target.as_cuda()));
  Tried out;
  out.milliseconds = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const std::string architecture = "sm_" + std::to_string(target.as_cuda().architecture);
  for (const auto& kernel : LATHE_TRY(testing::assemble(image.ptx, architecture)))
    out.spills = out.spills || kernel.spilled_bytes > 0;
  return out;
}

Result<std::string> line_of(const std::string& expression, const std::string& architecture,
                            int count, std::uint64_t seed) {
  const Target target{LATHE_TRY(codegen::cuda_card(architecture))};
  const auto workload = LATHE_TRY(te::parse_workload(expression));
  const auto space = LATHE_TRY(space::derive_space(workload, target, space::Flavour::kDefault));
  Rng rng(seed);
  int assembled = 0, unspilled = 0;
  std::vector<double> times;
  std::string first;
  for (int i = 0; i < count; ++i) {
    const space::Config config = space->random(rng);
    const auto made = tried(*space, config, target);
    if (made) {
      ++assembled;
      unspilled += made->spills ? 0 : 1;
      times.push_back(made->milliseconds);
    } else if (first.empty()) {
      first = space->describe(config) + ": " + made.error().text();
    }
  }
  std::ranges::sort(times);
  return fmt::format("{:.3g} {} {} {:.1f} {}", space->size(), assembled, unspilled,
                     times.empty() ? 0.0 : times[times.size() / 2], first);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto tab = line.find('\t');
    const auto text = line_of(line.substr(tab + 1), argv[1], std::atoi(argv[2]), seed);
    failed |= text ? 0 : 1;
    std::cout << line.substr(0, tab) << ' ' << (text ? *text : text.error().text()) << std::endl;
  }
  return failed;
}
