// card-rows ARCHITECTURE [FLOPS [CONFIGURATIONS]]: for each line `NAME<tab>EXPRESSION` of standard
// input a line with the name, and of the default program for cards of that architecture:
// milliseconds of the processor from flat program to PTX; kernels; the most registers of a thread;
// bytes of spills; loads from memory of the card in the PTX, of 16 bytes and of less; "-", or the
// tensors that are read by less than 16 bytes where 16 are possible; how many times as long as the
// least it takes, by the model of a card. With FLOPS, programs of at most so many operations are
// executed by this processor, and some elements compared: the last word is "right", "left" for
// larger ones, or else what is wrong. With CONFIGURATIONS, as many lines of random configurations
// of its default space follow; what is wrong with one is its whole line.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/ranges.h>

#include "bench/card_program.h"
#include "bench/narrow_reads.h"
#include "compiler/codegen/nvptx/cards.h"
#include "compiler/driver/driver.h"
#include "compiler/te/parse.h"
#include "support/ptxas.h"
#include "tuner/model/prior.h"
#include "tuner/space/card_cost.h"

namespace {

using namespace lathe;

// Lines of the PTX that load from memory of the card.
std::pair<int, int> loads(const std::string& ptx) {
  int wide = 0, narrow = 0;
  for (auto at = ptx.find("ld.global"); at != std::string::npos; at = ptx.find("ld.global", at + 1))
    (ptx.substr(at, 24).find(".v4.") != std::string::npos ? wide : narrow) += 1;
  return {wide, narrow};
}

// What multiply-adds of all processors, or the bytes of inputs and outputs, take at the least
// behind a launch: from the second cache, or where they do not fit there from memory.
double least_cycles(const te::Workload& workload, const CudaTarget& card) {
  constexpr double kLanes = 128;  // multiply-adds of a multiprocessor in a cycle
  const double bytes = te::io_bytes(workload);
  const double cached = space::card::kStagedRate * card.multiprocessors;
  const double stored = space::memory_rate(card);
  const double rate = bytes <= static_cast<double>(card.l2_bytes) ? cached : stored;
  const double multiplying = te::flops(workload) / 2 / (kLanes * card.multiprocessors);
  return space::kLaunchCycles + std::max(multiplying, bytes / rate);
}

double over_least(const space::Space& space, const space::Config& config, const Target& target,
                  const te::Workload& workload) {
  double score = 0;
  model::make_prior(space, target, {})->score({&config, 1}, {&score, 1});
  return std::exp2(-score) / least_cycles(workload, target.as_cuda());
}

Result<std::string> line_of(const space::Space& space, const space::Config& config,
                            const Target& target, double most_flops) {
  const testing::CardProgram made = LATHE_TRY(testing::card_program(space, config, target));
  const auto kernels = LATHE_TRY(
      testing::assemble(made.image.ptx, fmt::format("sm_{}", target.as_cuda().architecture)));
  int registers = 0, spilled = 0;
  for (const auto& kernel : kernels) {
    registers = std::max(registers, kernel.registers);
    spilled += kernel.spilled_bytes;
  }
  const auto [wide, narrow] = loads(made.image.ptx);
  const auto beside = testing::narrow_reads(made.program);
  std::string out = fmt::format("{:.1f} {} {} {} {} {} {} {:.2f}", made.milliseconds,
                                kernels.size(), registers, spilled, wide, narrow,
                                beside.empty() ? "-" : fmt::format("{}", fmt::join(beside, ",")),
                                over_least(space, config, target, made.workload));
  if (most_flops == 0) return out;
  if (te::flops(made.workload) > most_flops) return out + " left";
  return out + " " + LATHE_TRY(testing::compared(made, target));
}

// A broken invariant is what is wrong with a row, too.
Status print_lines(const std::string& name, const std::string& expression, const Target& target,
                   double most_flops, int configurations) try {
  const auto space = LATHE_TRY(space::derive_space(
      te::canonical(LATHE_TRY(te::parse_workload(expression))), target, space::Flavour::kDefault));
  Rng rng(3);
  for (int i = 0; i <= configurations; ++i) {
    const auto text = line_of(*space, i == 0 ? space->default_config() : space->random(rng), target,
                              i == 0 ? most_flops : 0);
    std::cout << name << ' ' << (text ? *text : text.error().text()) << std::endl;
  }
  return {};
} catch (const InvariantError& broken) {
  return driver::compiler_bug(broken);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto card = codegen::cuda_card(argv[1]);
  if (!card) {
    std::cerr << card.error().text() << '\n';
    return 2;
  }
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    const Status done =
        print_lines(name, line.substr(tab + 1), Target{*card}, argc > 2 ? std::atof(argv[2]) : 0,
                    argc > 3 ? std::atoi(argv[3]) : 0);
    if (!done) std::cout << name << ' ' << done.error().text() << std::endl;
    failed |= done ? 0 : 1;
  }
  return failed;
}
