// Who may change a database.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace lathe::store {

// True if the user may write to the file: who holds a run of it may then be at work on it. None is
// somebody unknown.
bool may_write(const std::string& path, std::optional<uid_t> user);

// Refuses what another user put in the way of a database, where the folder is for all: a link under
// its name, or a journal, from which SQLite would write to it.
Status check_owners(const std::string& path);

}  // namespace lathe::store
