// What `lathe show` prints of a workload, at every level from expression to machine code.
#pragma once

#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/flat/flat.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "tuner/space/space.h"

namespace lathe::api {

struct ViewRequest {
  std::string what;  // a name of known_views()
  te::Workload workload;
  Target target;
  schedule::Trace trace;  // for views that come after scheduling
  space::Flavour flavour = space::Flavour::kDefault;
  bool json = false;  // for views that are more than a text
};

// Lowers the program under a trace.
Result<flat::Program> flat_program(const te::Workload& workload, const schedule::Trace& trace,
                                   const Target& target);

Result<std::string> view(const ViewRequest& request);
// True if the view is of the scheduled program, so that a trace is needed.
bool needs_schedule(const std::string& what);
// True if it can be had as JSON.
bool has_json(const std::string& what);
std::string known_views();

}  // namespace lathe::api
