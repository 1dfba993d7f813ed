// The tables, versioned. Internal to this room.
#pragma once

#include <algorithm>

#include "tuner/store/database.h"
#include "tuner/store/record.h"

namespace lathe::store {

// From this version on, records have traces, configurations and visits in their compact form
// (packed.h). What an older Lathe wrote stays as it was, as JSON in the same columns.
inline constexpr int kPackedSince = 3;

// The version of the tables that this build reads and writes. Older files are brought up to it,
// newer ones are refused.
inline constexpr int kSchemaVersion =
    std::max(std::ranges::max_element(kRecordFields, {}, &RecordField::since)->since, kPackedSince);

// Makes or upgrades the tables, once, also where two programs open a new file at the same time;
// sets the journal mode.
Status prepare_schema(Database& database, double busy_seconds);

}  // namespace lathe::store
