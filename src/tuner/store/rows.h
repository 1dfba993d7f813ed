// Records and runs as rows: the one place that knows the order of columns. Internal to this room.
#pragma once

#include <string>

#include "tuner/store/database.h"
#include "tuner/store/store.h"

namespace lathe::store {

// The standing of a record that is added.
double first_standing(const Record& record);
std::string insert_record_sql();
// A SELECT of all members of records and the texts they name; `rest` follows (WHERE, ORDER BY ...)
// and may use `r`. A summary leaves traces and visits empty.
std::string select_records_sql(const std::string& rest, bool summary = false);

// Ids of the texts a record names, in `names`.
struct NameIds {
  std::int64_t workload, target, cache_mode, fingerprint, cpu;
};
void bind_record(Statement& insert, const Record& record, const NameIds& names);
// The error names the record and what is wrong with it: "record 7 (not valid JSON at byte 3)".
Result<Record> read_record(const Statement& row);

Json visits_to_json(const std::vector<Visit>& visits);
Result<std::vector<Visit>> visits_from_json(const Json& json);

}  // namespace lathe::store
