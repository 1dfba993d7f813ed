// Random expressions for cards: half of them of any kind, half of the kinds that have structures of
// their own there, with sizes that are awkward or multiples of a vector's elements.
#pragma once

#include <cstdint>

#include "base/target.h"
#include "compiler/te/workload.h"

namespace lathe::test {

// A card as large as an A100, of sm_75, sm_80 or sm_90.
Target card_of_architecture(int architecture);

struct RandomCard {
  te::Workload workload;
  Target target;
  bool wide = false;  // the space whose configurations are to be tried
};
// A few thousand iterations; the same for equal seeds.
RandomCard random_card(std::uint64_t seed);

}  // namespace lathe::test
