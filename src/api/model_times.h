// What is known of the times of a model's tasks without timing anything.
#pragma once

#include <optional>
#include <vector>

#include "api/schedules.h"
#include "base/result.h"
#include "base/target.h"
#include "graph/ir/graph.h"

namespace lathe::api {

// By task, as graph::tasks_of() has them: the program on record that the model has; none where its
// task has the default one. The models' ScheduleSource finds it, so `lathe compile` takes the same.
Result<std::vector<std::optional<Chosen>>> recorded_programs(const graph::Graph& graph,
                                                             const ScheduleRequest& request,
                                                             const Target& target);
// Seconds of a call on record.
double recorded_seconds(const Chosen& chosen);

// Of one program, by the analytic model; infinity where the trace does not apply.
double analytic_cycles(const te::Workload& workload, const schedule::Trace& trace,
                       const Target& target);
// Of the default program, and no more than of that without an algorithm: the model compares
// algorithms badly, and the rules take one only where it gains time.
double default_cycles(const te::Workload& workload, const Target& target);
// Of programs that nobody timed; only ratios count.
inline constexpr double kCyclesASecond = 3e9;

// By task, seconds of a call as recorded, else of the default program as the analytic model guesses
// it, with as many cycles a second as the recorded ones have in the median; 0: it cannot.
std::vector<double> recorded_or_guessed(const graph::Graph& graph,
                                        const std::vector<std::optional<Chosen>>& recorded,
                                        const Target& target);

}  // namespace lathe::api
