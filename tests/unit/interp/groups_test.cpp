// Grids whose items share memory: what the evaluator computes, one small case for each fault, right
// random programs, and faults that are planted in them.
#include <algorithm>
#include <cstdlib>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "unit/interp/planted_faults.h"
#include "unit/interp/random_groups.h"

namespace lathe::interp {
namespace {

using namespace flat;
using enum flat::BinaryOp;
using testing::GroupProgram;
using testing::Planted;
using testing::random_groups;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
// Ten times as many where tests may take long.
std::uint64_t longer(std::uint64_t plain) {
  return std::getenv("LATHE_TEST_LONG") != nullptr ? 10 * plain : plain;
}

std::string text_of(const FlatFault& fault) {
  return fmt::format("{} in `{}`: {}", name_of(fault.kind), fault.place, fault.message);
}

// Nothing where the program computes what it should.
std::string wrong(const GroupProgram& g, std::uint64_t seed) {
  FlatFault fault;
  const auto out = eval_flat(g.program, g.inputs, {.seed = seed, .aligned_vectors = true}, &fault);
  if (!out) return out.error().text() + "\n" + text_of(fault) + "\n" + print(g.program);
  for (std::size_t o = 0; o < out->size(); ++o)
    if (from_storage(g.program.outputs[o], (*out)[o]) != g.want[o])
      return "another result\n" + print(g.program);
  return "";
}

TEST(Groups, RandomProgramsAreRight) {
  const std::uint64_t first = number_from("LATHE_RANDOM_FIRST", 1);
  const std::uint64_t rounds = number_from("LATHE_RANDOM_ROUNDS", longer(1000));
  for (std::uint64_t seed = first; seed < first + rounds; ++seed)
    ASSERT_EQ(wrong(random_groups(seed), seed), "") << "seed " << seed;
}

// Whether the statement is one of those of the program that touch the buffer.
bool touches(const Program& program, const std::string& place, const std::string& buffer) {
  const std::string text = print(program);
  return text.find(place) != std::string::npos && place.find(buffer + "[") != std::string::npos;
}

struct Draw {
  std::uint64_t seed;
  std::size_t place;
};

// The kind of a fault first, then its place among those of the kind.
std::optional<Draw> draw(Rng& rng) {
  const Draw drawn{.seed = rng.next(), .place = 0};
  const GroupProgram right = random_groups(drawn.seed);
  std::map<Planted, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < right.places.size(); ++i) places[right.places[i].fault].push_back(i);
  if (places.empty()) return std::nullopt;
  const auto& of_kind = *std::next(places.begin(), static_cast<int>(rng.below(places.size())));
  return Draw{drawn.seed, of_kind.second[rng.below(of_kind.second.size())]};
}

// What is wrong with what is said of a planted fault.
std::string misjudged(const Draw& drawn, std::uint64_t seed) {
  const GroupProgram g = random_groups(drawn.seed, {}, drawn.place);
  const testing::FaultPlace& place = g.places[drawn.place];
  const auto& kinds = testing::planted_kinds();
  const auto kind = std::ranges::find(kinds, place.fault, &testing::PlantedKind::fault);
  const std::string about =
      fmt::format("{} at place {} of seed {}\n", kind->name, drawn.place, drawn.seed);
  FlatFault fault;
  if (eval_flat(g.program, g.inputs, {.seed = seed, .aligned_vectors = true}, &fault))
    return about + "is not reported\n" + print(g.program);
  const std::string said = about + "is reported as " + text_of(fault) + "\n" + print(g.program);
  if (!std::ranges::count(kind->right, fault.kind) || !place.buffers.contains(fault.buffer))
    return said;
  return touches(g.program, fault.place, fault.buffer) ? "" : said;
}

TEST(Groups, PlantedFaultsAreReported) {
  Rng rng(testing::kPlantedSeed);
  std::map<Planted, int> found;
  const std::uint64_t faults = longer(testing::kPlantedFaults);
  for (std::uint64_t planted = 0; planted < faults;) {
    const auto drawn = draw(rng);
    if (!drawn) continue;
    ASSERT_EQ(misjudged(*drawn, planted), "");
    ++found[random_groups(drawn->seed, {}, drawn->place).places[drawn->place].fault];
    ++planted;
  }
  for (const testing::PlantedKind& kind : testing::planted_kinds())
    EXPECT_GE(found[kind.fault], 10) << kind.name;
}

}  // namespace
}  // namespace lathe::interp
