// card-winners ARCHITECTURE: each line of standard input is a JSON object, and so is what is said
// of it. {"ptx": TEXT} is assembled. {"expression": TEXT, "config": KNOBS} becomes a program first,
// whose trace is told, its PTX and its launches; "run": true has it executed by this processor.
#include <iostream>

#include "base/json.h"
#include "bench/card_program.h"
#include "compiler/codegen/nvptx/cards.h"
#include "compiler/te/parse.h"
#include "support/ptxas.h"

namespace {

using namespace lathe;

Json launch(const device::Launch& of) {
  return {{"kernel", of.kernel},
          {"blocks", of.groups},
          {"threads", of.items},
          {"shared", of.group_bytes}};
}

Result<Json> assembled(const std::string& ptx, const std::string& architecture) {
  Json out = Json::array();
  for (const auto& kernel : LATHE_TRY(testing::assemble(ptx, architecture)))
    out.push_back({{"kernel", kernel.name},
                   {"registers", kernel.registers},
                   {"spilled", kernel.spilled_bytes}});
  return out;
}

Result<Json> answer(const Json& asked, const CudaTarget& card) {
  const std::string architecture = fmt::format("sm_{}", card.architecture);
  if (asked.contains("ptx"))
    return Json{{"kernels", LATHE_TRY(assembled(asked["ptx"], architecture))}};
  const Target target{card};
  const auto space = LATHE_TRY(space::derive_space(
      te::canonical(LATHE_TRY(te::parse_workload(asked.at("expression").get<std::string>()))),
      target, space::Flavour::kWide));
  const auto config = LATHE_TRY(space->from_json(asked.at("config")));
  const auto made = LATHE_TRY(testing::card_program(*space, config, target));
  Json out{{"launches", Json::array()},
           {"ptx", made.image.ptx},
           {"trace", schedule::to_json(space->trace(config))}};
  for (const device::Launch& of : made.image.run) out["launches"].push_back(launch(of));
  out["kernels"] = LATHE_TRY(assembled(made.image.ptx, architecture));
  if (asked.value("run", false)) out["executed"] = LATHE_TRY(testing::compared(made, target));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const auto card = lathe::codegen::cuda_card(argc > 1 ? argv[1] : "");
  if (!card) {
    std::cerr << card.error().text() << '\n';
    return 2;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto said = answer(lathe::Json::parse(line), *card);
    std::cout << (said ? *said : lathe::Json{{"error", said.error().text()}}).dump() << std::endl;
  }
  return 0;
}
