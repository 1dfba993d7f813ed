// space-hashes: for each line `NAME<tab>EXPRESSION` of standard input and each target, a line with
// the name, the target, the hash of the derived space, and one of the schedules with which a search
// begins and of a few random ones.
#include <iostream>

#include "base/hash.h"
#include "base/rng.h"
#include "compiler/schedule/step.h"
#include "compiler/te/parse.h"
#include "support/targets.h"
#include "tuner/space/space.h"

namespace {

using namespace lathe;

constexpr int kRandom = 4;

std::uint64_t schedules_of(const space::Space& space) {
  Hasher hasher;
  Rng rng(7);
  std::vector<space::Config> configs = space.starts();
  for (int i = 0; i < kRandom; ++i) configs.push_back(space.random(rng));
  for (const space::Config& config : configs)
    hasher.add(space.describe(config)).add(schedule::print(space.trace(config)));
  return hasher.value();
}

int print_hashes(const std::string& name, const std::string& expression) {
  const auto workload = te::parse_workload(expression);
  if (!workload) {
    std::cerr << name << ": " << workload.error().text() << '\n';
    return 1;
  }
  for (const int threads : {1, 2})
    for (const Target& target : {test::avx2(threads), test::avx512(threads)})
      for (const space::Flavour flavour : space::kFlavours) {
        const auto space = space::derive_space(*workload, target, flavour);
        std::cout << name << ' ' << target.text() << ' ' << name_of(flavour) << ' ';
        if (!space) std::cout << space.error().text() << '\n';
        else
          std::cout << fmt::format("{:08x} {:08x}\n", (*space)->hash() >> 32,
                                   schedules_of(**space) >> 32);
      }
  return 0;
}

}  // namespace

int main() {
  int failed = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const auto tab = line.find('\t');
    failed |= print_hashes(line.substr(0, tab), line.substr(tab + 1));
  }
  return failed;
}
