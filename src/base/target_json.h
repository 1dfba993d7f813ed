// Targets and fingerprints as JSON, with what their back end derived: a reader needs no back end.
#pragma once

#include "base/json.h"
#include "base/target.h"

namespace lathe {

Json to_json(const Target& target);
Json to_json(const Fingerprint& fingerprint);
Result<Target> target_from_json(const Json& json);
Result<Fingerprint> fingerprint_from_json(const Json& json);

}  // namespace lathe
