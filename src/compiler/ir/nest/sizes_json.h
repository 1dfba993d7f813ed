// Open sizes as JSON, so that a nest with knobs can be stored and built again elsewhere. A size is
// a number, the name of a knob, or ["mul", a, b].
#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "compiler/ir/nest/sizes.h"

namespace lathe::ir {

Json to_json(const Sizes& sizes, SizeId id);

// What the name of a knob stands for in the table that is filled: a knob, or a constant where its
// value is settled.
using KnobSize = std::function<Result<SizeId>(const std::string& name)>;
Result<SizeId> size_from_json(const Json& json, Sizes& sizes, const KnobSize& knob);

}  // namespace lathe::ir
