// What is said of the times that a record has.
#pragma once

#include <string>

#include "tuner/store/record.h"

namespace lathe::api {

// What callers get that do not call again at once, and what the scheduler took of a race; empty:
// that was not measured.
std::string called_text(const store::Record& record);
// A sentence for those who call the program of this record: how long a call took, where, and after
// pauses.
std::string timed_sentence(const store::Record& record);

}  // namespace lathe::api
