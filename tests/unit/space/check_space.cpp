#include "unit/space/check_space.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/sanitized.h"
#include "tuner/model/prior.h"
#include "tuner/space/impl.h"
#include "tuner/space/rules/cpu.h"

namespace lathe::space {
namespace {

// Empty if the configuration computes the program.
std::string what_is_wrong(const Space& space, const Config& config, const Target& target,
                          std::uint64_t seed) {
  const te::Workload& workload = space.workload();
  if (!space.valid(config)) return "not valid";
  ir::Nest nest = te::naive_nest(workload);
  const schedule::Trace trace = space.trace(config);
  const auto applied = schedule::apply(nest, trace, workload.contract.free_layout);
  if (!applied) return "its trace does not apply: " + applied.error().text();
  const auto flat = lower::lower(ir::SizedNest(nest, {}), target);
  if (!flat) return "it does not lower: " + flat.error().text();
  const bool direct = std::ranges::none_of(trace, [](const schedule::Step& step) {
    return std::holds_alternative<schedule::CookToom>(step) ||
           std::holds_alternative<schedule::Strassen>(step);
  });
  const std::string wrong =
      check_flat(workload, *flat, seed, direct ? 0 : workload.contract.max_error);
  return wrong.empty()
             ? ""
             : wrong + "\n" + schedule::print(trace) + ir::print(nest) + flat::print(*flat);
}

constexpr int kShareOfRounds = test::kSanitized ? 6 : 1;
constexpr int kShareOfConfigurations = test::kSanitized ? 3 : 1;
constexpr int kScored = test::kSanitized ? 12 : 64;

}  // namespace

te::Workload parsed(const std::string& text) {
  auto workload = te::parse_workload(text);
  if (!workload) throw std::runtime_error(workload.error().text());
  return *workload;
}

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  if (value) return std::strtoull(value, nullptr, 10);
  return std::string_view(variable) == "LATHE_RANDOM_ROUNDS" ? otherwise / kShareOfRounds
                                                             : otherwise;
}

Config predicted(const Space& space, const Target& target, Rng& rng) {
  std::vector<Config> configs{space.default_config()};
  while (configs.size() < kScored) configs.push_back(space.random(rng));
  std::vector<double> scores(configs.size());
  model::make_prior(space, target, {})->score(configs, scores);
  return configs[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())];
}

namespace {

// Tries blocks of rows of the group with this knob: each with the first values of the other knobs,
// and with random ones.
int check_each_block(const Space& space, std::size_t rows, const Target& target,
                     std::uint64_t seed) {
  constexpr int kOthers = 2;
  const std::vector<Knob>& knobs = space.knob_list();
  Rng rng(seed);
  int checked = 0;
  for (std::size_t v = 1; v < knobs[rows].values.size(); ++v) {
    bool any = false;
    for (int i = 0; i <= kOthers; ++i) {
      Config config = i == 0 ? Config(knobs.size(), 0) : space.draw(rng);
      config[rows] = static_cast<std::uint16_t>(v);
      if (!space.valid(config)) continue;
      any = any || i == 0;
      EXPECT_EQ(what_is_wrong(space, config, target, seed), "") << space.describe(config);
      EXPECT_EQ(what_is_wrong(space, space.canonical(config), target, seed), "")
          << "the form of " << space.describe(config);
    }
    checked += any ? 1 : 0;
  }
  return checked;
}

}  // namespace

int check_rows(const te::Workload& workload, const Target& target, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), te::print_workload(workload)));
  try {
    const auto space = derive_space(workload, target, Flavour::kWide);
    if (!space) ADD_FAILURE() << space.error().text();
    int checked = 0;
    for (std::size_t k = 0; space && k < (*space)->knob_list().size(); ++k)
      if (const std::string& name = (*space)->knob_list()[k].name;
          name == "rows" || name == "row.parts" ||
          (name.ends_with(".rows") && !name.starts_with("again.")))
        checked += check_each_block(**space, k, target, seed);
    return checked;
  } catch (const std::exception& broken) {
    ADD_FAILURE() << broken.what();
  }
  return 0;
}

namespace {

// The first start of the space that reads operands as matrices, then others.
std::vector<Config> with_matrices(const Space& space, int wanted, std::uint64_t seed) {
  const std::vector<Knob>& knobs = space.knob_list();
  const auto operands = std::ranges::find(knobs, "operands", &Knob::name);
  std::vector<Config> out;
  if (operands == knobs.end()) return out;
  const auto at = static_cast<std::size_t>(operands - knobs.begin());
  for (Config& config : space.starts())
    if (config[at] == 1) out.push_back(std::move(config));
  EXPECT_EQ(out.size(), 1U);
  Rng rng(seed);
  for (int tries = 0; tries < 20 * wanted && std::ssize(out) < wanted; ++tries)
    if (Config config = space.random(rng); config[at] == 1) out.push_back(std::move(config));
  return out;
}

}  // namespace

int check_matrices(const te::Workload& workload, const Target& target, Flavour flavour,
                   int configurations, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {} {} {}\n{}", seed, target.text(), name_of(flavour),
                           te::print_workload(workload)));
  try {
    const auto space = derive_space(workload, target, flavour);
    if (!space) ADD_FAILURE() << space.error().text();
    if (!space) return 0;
    const std::vector<Config> configs = with_matrices(**space, configurations, seed);
    for (const Config& config : configs)
      EXPECT_EQ(what_is_wrong(**space, config, target, seed), "") << (*space)->describe(config);
    return static_cast<int>(configs.size());
  } catch (const std::exception& broken) {
    ADD_FAILURE() << broken.what();
  }
  return 0;
}

namespace {

// The default with this value of the knob, then random configurations, as far as they are valid.
std::vector<Config> with_value(const Space& space, std::size_t knob, std::uint16_t value,
                               int wanted, Rng& rng) {
  std::vector<Config> out;
  for (int tries = 0; tries < 1000 * wanted && std::ssize(out) < wanted; ++tries) {
    Config config = tries == 0 ? space.default_config() : space.random(rng);
    if (!space.to_json(config).contains(space.knob_list()[knob].name)) continue;
    config[knob] = value;
    if (space.valid(config)) out.push_back(std::move(config));
  }
  return out;
}

std::unique_ptr<Space> space_of_stores(const te::Workload& workload, const Target& target) {
  auto derived = derive_for_cpu(workload, target.as_cpu(), Flavour::kDefault, 1);
  if (!derived) throw std::runtime_error(derived.error().text());
  auto impl = std::make_unique<Space::Impl>();
  impl->workload = workload;
  impl->derived = std::move(*derived);
  return finish_space(std::move(impl));
}

}  // namespace

std::map<std::string, int> check_choices(const te::Workload& workload, const Target& target,
                                         const std::string& knob, int configurations,
                                         std::uint64_t seed, const std::string& only) {
  SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), te::print_workload(workload)));
  std::map<std::string, int> found;
  try {
    const auto space = derive_space(workload, target, Flavour::kDefault);
    if (!space) ADD_FAILURE() << space.error().text();
    if (!space) return found;
    const std::vector<Knob>& knobs = (*space)->knob_list();
    const auto own = std::ranges::find(knobs, knob, &Knob::name);
    Rng rng(seed);
    for (std::size_t v = 0; own != knobs.end() && v < own->values.size(); ++v) {
      if (!only.empty() && own->labels[v] != only) continue;
      for (const Config& config : with_value(**space, static_cast<std::size_t>(own - knobs.begin()),
                                             static_cast<std::uint16_t>(v), configurations, rng)) {
        EXPECT_EQ(what_is_wrong(**space, config, target, seed), "") << (*space)->describe(config);
        ++found[own->labels[v]];
      }
    }
  } catch (const std::exception& broken) {
    ADD_FAILURE() << broken.what();
  }
  return found;
}

int check_stores(const te::Workload& workload, const Target& target, int configurations,
                 std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {} {}\n{}", seed, target.text(), te::print_workload(workload)));
  int streaming = 0;
  try {
    const std::unique_ptr<Space> space = space_of_stores(workload, target);
    if (space->knob_list().back().name != "stores") return 0;  // its outputs are read again
    std::vector<Config> configs = space->starts();
    Rng rng(seed);
    for (int i = 0; i < configurations; ++i) configs.push_back(space->random(rng));
    for (Config& config : configs) {
      config.back() = 1;
      const schedule::Trace trace = space->trace(config);
      streaming += std::ranges::any_of(trace, [](const schedule::Step& step) {
        return std::holds_alternative<schedule::Stream>(step);
      });
      EXPECT_EQ(what_is_wrong(*space, config, target, seed), "") << space->describe(config);
    }
  } catch (const std::exception& broken) {
    ADD_FAILURE() << broken.what();
  }
  return streaming;
}

void check_space(const te::Workload& workload, const Target& target, Flavour flavour,
                 int configurations, std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {} {} {}\n{}", seed, target.text(), name_of(flavour),
                           te::print_workload(workload)));
  try {
    // Tuning derives spaces of canonical workloads, whose letters are others.
    const auto space =
        derive_space(seed % 2 == 1 ? te::canonical(workload) : workload, target, flavour);
    ASSERT_TRUE(space) << space.error().text();
    Rng rng(seed);
    const int tried =
        std::max(std::min(2, configurations), configurations / kShareOfConfigurations);
    for (int i = 0; i < tried; ++i) {
      const Config config = i == 0   ? (*space)->default_config()
                            : i == 1 ? predicted(**space, target, rng)
                                     : (*space)->random(rng);
      ASSERT_EQ(what_is_wrong(**space, config, target, seed), "") << (*space)->describe(config);
    }
  } catch (const std::exception& broken) {
    FAIL() << broken.what();
  }
}

}  // namespace lathe::space
