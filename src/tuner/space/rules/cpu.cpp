#include "tuner/space/rules/cpu.h"

#include <algorithm>

#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/cook_toom/cook_toom.h"
#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/matrices/matrix_space.h"
#include "tuner/space/rules/rows/row_parts.h"
#include "tuner/space/rules/rows/row_space.h"
#include "tuner/space/rules/strassen/strassen.h"
#include "tuner/space/rules/tile/tile_space.h"

namespace lathe::space {
namespace {

constexpr Rule<CpuContext> kRules[] = {
    {Place::kMainSum, offer_strassen, strassen_meanings},
    {Place::kMainSum, offer_cook_toom, cook_toom_meanings},
    {Place::kMainSum, offer_matrices, matrix_meanings},
    {Place::kDirect, offer_rows, row_meanings},
    {Place::kDirectAlone, offer_row_parts, row_part_meanings},
    {Place::kWhole, offer_stores, store_meanings},
};

}  // namespace

Result<Derived> derive_for_cpu(const te::Workload& workload, const CpuTarget& target,
                               Flavour flavour, double streamed) {
  CpuContext context{workload, target, flavour, nullptr, streamed};
  Derived direct = LATHE_TRY(derive_tiles(context));
  return compose(std::move(direct), std::span<const Rule<CpuContext>>(kRules), context);
}

std::string_view cpu_meaning(std::string_view knob) {
  const auto in = [&](std::span<const Meaning> meanings) -> std::string_view {
    const auto found = std::ranges::find(meanings, knob, &Meaning::knob);
    return found == meanings.end() ? "" : found->text;
  };
  if (const auto own = in(tile_meanings()); !own.empty()) return own;
  for (const Rule<CpuContext>& rule : kRules)
    if (const auto own = in(rule.meanings()); !own.empty()) return own;
  return "";
}

}  // namespace lathe::space
