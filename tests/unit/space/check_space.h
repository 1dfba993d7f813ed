// Whether the configurations of a program's space compute it, as the checked interpreter of lowered
// programs sees it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tuner/space/space.h"

namespace lathe::space {

// Throws where the text is no workload.
te::Workload parsed(const std::string& text);

// What the environment variable asks for. Random tests do more with LATHE_RANDOM_ROUNDS programs,
// from seed LATHE_RANDOM_FIRST on, LATHE_RANDOM_CONFIGS configurations each.
std::uint64_t asked(const char* variable, std::uint64_t otherwise);

// The configuration that the analytic model likes best of many.
Config predicted(const Space& space, const Target& target, Rng& rng);

// Derives the space and tries its default, the predicted and random configurations,
// `configurations` in all: each must be valid, its trace must apply to the naive nest and lower,
// and the outcome be that of the expression on random inputs. Failures are reported to the running
// test.
void check_space(const te::Workload& workload, const Target& target, Flavour flavour,
                 int configurations, std::uint64_t seed);

// The number of its ways to take rows through all stages together that the program has; each must
// compute it, like the configurations above. Blocks of rows that do not go together are left out.
int check_rows(const te::Workload& workload, const Target& target, std::uint64_t seed);

// The same with outputs stored past the caches, however small they are. Returns how many
// configurations do so.
int check_stores(const te::Workload& workload, const Target& target, int configurations,
                 std::uint64_t seed);

// Tries configurations whose contraction reads its operands as matrices, the one that a search
// begins with first. Returns how many there were: 0 if the program has no such choice.
int check_matrices(const te::Workload& workload, const Target& target, Flavour flavour,
                   int configurations, std::uint64_t seed);

// Tries `configurations` of each value of the knob, or of one alone, the default with that value
// first. Returns how many there were of each, by label.
std::map<std::string, int> check_choices(const te::Workload& workload, const Target& target,
                                         const std::string& knob, int configurations,
                                         std::uint64_t seed, const std::string& only = "");

}  // namespace lathe::space
