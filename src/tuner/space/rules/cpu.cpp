#include "tuner/space/rules/cpu.h"

#include "compiler/te/recurrence.h"
#include "tuner/space/rules/again/again_space.h"
#include "tuner/space/rules/compose.h"
#include "tuner/space/rules/cook_toom/cook_toom.h"
#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/matrices/matrix_space.h"
#include "tuner/space/rules/rows/row_parts.h"
#include "tuner/space/rules/rows/row_space.h"
#include "tuner/space/rules/scan/scan_space.h"
#include "tuner/space/rules/strassen/strassen.h"
#include "tuner/space/rules/strips/strip_space.h"
#include "tuner/space/rules/tile/tile_space.h"

namespace lathe::space {
namespace {

constexpr Rule<CpuContext> kCpuRules[] = {
    {Place::kMainSum, offer_strassen, strassen_meanings},
    {Place::kMainSum, offer_cook_toom, cook_toom_meanings},
    {Place::kMainSum, offer_matrices, matrix_meanings},
    {Place::kDirect, offer_rows, row_meanings},
    {Place::kDirectAlone, offer_row_parts, row_part_meanings},
    {Place::kDirect, offer_strips, strip_meanings},
    {Place::kWhole, offer_stores, store_meanings},
    {Place::kWhole, offer_again, again_meanings},
};

// Where a scan has the most to do, and where stages need each other step by step.
constexpr Rule<CpuContext> kScanRules[] = {
    {Place::kWhole, offer_stores, store_meanings},
    {Place::kWhole, offer_again, again_meanings},
};

}  // namespace

Result<Derived> derive_for_cpu(const te::Workload& workload, const CpuTarget& target,
                               Flavour flavour, double streamed) {
  return derive_for_cpu({workload, target, flavour, nullptr, streamed});
}

Result<Derived> derive_for_cpu(CpuContext context) {
  if (is_led_by_scan(context))
    return compose(LATHE_TRY(derive_scans(context)), std::span<const Rule<CpuContext>>(kScanRules),
                   context);
  Derived direct = LATHE_TRY(derive_tiles(context));
  if (te::has_recurrence(context.workload))
    return compose(std::move(direct), std::span<const Rule<CpuContext>>(kScanRules), context);
  return compose(std::move(direct), std::span<const Rule<CpuContext>>(kCpuRules), context);
}

std::string_view cpu_meaning(std::string_view knob) {
  for (const Meaning& meaning : scan_meanings())
    if (meaning.knob == knob) return meaning.text;
  return meaning_in(tile_meanings(), std::span<const Rule<CpuContext>>(kCpuRules), knob);
}

}  // namespace lathe::space
