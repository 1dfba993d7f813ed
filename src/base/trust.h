// Who but this user can change what is at a path: nothing of somebody else's is run, loaded or
// believed.
#pragma once

#include <string>

#include "base/result.h"

namespace lathe {

// Fails where another user could change or replace the file or folder: it, a folder on the way to
// it or a link there belongs to somebody else, or others may write to it. The error's place is what
// is open to them, and its sentence has the command that mends it. kNotFound: it is not there.
//
// Root and the owner of this program count as this user, and so does a group that only the owner is
// in. A folder on the way may have the sticky bit, as /tmp: nobody replaces what is another's
// there. It may also be one that this program lies in, for who can change that can change the
// program.
Status check_unshared(const std::string& path);

// Makes the folder, and those above it that are missing, for this user alone. Fails as
// check_unshared does where the folder is not this user's alone.
Status make_private_folder(const std::string& path);

// The folder for caches (environment.h), made where it is missing; empty where there is none that
// is this user's alone, for what stands in one is believed.
std::string own_cache_folder();

}  // namespace lathe
