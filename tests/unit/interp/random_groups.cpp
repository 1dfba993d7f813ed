#include "unit/interp/random_groups.h"

#include "unit/interp/group_families.h"

namespace lathe::testing {

GroupProgram random_groups(std::uint64_t seed, const RandomGroupsOptions& options,
                           std::optional<std::size_t> planted) {
  GroupBuilder builder(seed, options, planted);
  switch (builder.rng.below(5)) {
    case 0: return random_transpose(builder);
    case 1: return random_rows(builder);
    case 2: return random_columns(builder);
    default: return random_product(builder);
  }
}

}  // namespace lathe::testing
