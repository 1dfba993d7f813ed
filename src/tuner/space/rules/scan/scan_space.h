// The schedules of workloads in which a scan has the most to do: a knob for how many rows or
// columns go along its axis together. Other stages have plain loops.
#pragma once

#include <span>

#include "tuner/space/rules/cpu_context.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

// True if this rule derives the space, instead of that of tiles.
bool is_led_by_scan(const CpuContext& context);
Result<Derived> derive_scans(const CpuContext& context);
std::span<const Meaning> scan_meanings();

}  // namespace lathe::space
