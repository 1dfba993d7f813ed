// Random schedules for devices with grids: outer loops are bound to work groups and items.
#pragma once

#include "base/rng.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "support/random_trace.h"

namespace lathe {

// Takes from a schedule what such devices refuse (parallel loops, streaming stores), then binds
// loops of each item at the top of the nest at random: from the outermost inwards, as long as each
// holds all blocks of its item. `chance` is that of each loop; groups have at most 64 items.
RandomSchedule with_bound_loops(const te::Workload& workload, const RandomSchedule& schedule,
                                Rng& rng, double chance = 0.8);

// Puts some of what blocks in bound loops read into memory of the group: copies, or results that
// are computed there, in one or several stages. Their loops are shared out among the items at
// random. Counts those that were possible.
int add_group_memory(RandomSchedule& schedule, Rng& rng);

// The resolved target opencl:generic.
Target generic_opencl();

}  // namespace lathe
