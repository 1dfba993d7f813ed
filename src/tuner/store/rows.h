// Records and runs as rows, by the lists of their fields. Internal to this room.
#pragma once

#include <string>

#include "tuner/store/database.h"
#include "tuner/store/packed.h"
#include "tuner/store/store.h"

namespace lathe::store {

// The standing of a record that is added: the one that it brings from another store, or its own.
double first_standing(const Record& record);
// What its times alone say: that of its race, or its measured one with a penalty.
double own_standing(const Record& record);
std::string insert_record_sql();
Status bind_record(Statement& insert, const Record& record, const NameId& id_of);
// A SELECT of all members of records and the texts they name; `rest` follows (WHERE, ORDER BY ...)
// and may use `r`. A summary leaves traces and visits empty.
std::string select_records_sql(const std::string& rest, bool summary = false);
// The error names the record and what is wrong with it: "record 7 (not valid JSON at byte 3)".
Result<Record> read_record(const Statement& row, const PartOf& part_of);

// Sets what a race tells of record ?1: its time ?2, where it stands by that, and the note from ?4
// on. A faster time of an earlier race stays, unless that was disturbed and ?3 is 1, for a quiet
// race, or ?3 is 2, for a failure in one: that is a failure, whatever it did before. ?3 is 0 for a
// disturbed race. Who won over faster times in a quiet race stands before them still.
std::string set_race_sql();
// `note` with the record's spread.
void bind_race(Statement& update, const RaceResult& result, const RaceNote& note);

std::string insert_run_sql();  // nothing happens where the run is there
std::string find_run_sql();    // its id
Status bind_run(Statement& statement, const Run& run, const NameId& id_of);
std::string select_runs_sql();
Result<Run> read_run(const Statement& row);  // the error names the run

}  // namespace lathe::store
