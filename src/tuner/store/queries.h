// Turns a Query into SQL. Internal to this room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/store/database.h"
#include "tuner/store/store.h"

namespace lathe::store {

// A WHERE clause over `records r` and what to bind to it, in order.
struct Where {
  std::string sql;
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;  // bound after the texts
};

Where where_of(const Query& query);
void bind(Statement& statement, const Where& where);
// Selects those, the fastest first. With workload, target and cache mode (and cpu) given, they are
// rows of an index, in its order.
std::string by_standing_sql(const Where& where);

}  // namespace lathe::store
