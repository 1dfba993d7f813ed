// Builds sketches from their traces alone. Internal to this room.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/impl.h"

namespace lathe::space {

// Tells how to read the names of an old space's knobs in the table of a new one.
using Naming = std::function<Result<ir::SizeId>(ir::Sizes& sizes, const std::string& knob)>;

// Reads each name as the knob of that name, which must be among `knobs`.
Naming naming_of(const std::vector<Knob>& knobs);

Result<Sketch> rebuild(const te::Workload& workload, const Json& trace, const Naming& naming);
Result<Constraint> rebuild(ir::Sizes& sizes, const Json& constraint, const Naming& naming);
Json to_json(const ir::Sizes& sizes, const Constraint& constraint);

// Calls visit(values) for every choice of the structural knobs; the other knobs have their first
// value.
void each_choice(const std::vector<Knob>& knobs, const std::function<void(const Config&)>& visit);

}  // namespace lathe::space
