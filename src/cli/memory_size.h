// Sizes of memory as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace lathe::cli {

// "100MB", "1.5GiB": bytes. The error's place is the flag.
Result<std::int64_t> memory_size(const std::string& flag, const std::string& text);

}  // namespace lathe::cli
