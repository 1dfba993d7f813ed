// Bytes in a Zstandard frame with its checksum: `zstd -d` reads them too. Internal to this room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe::recorded {

std::string compress(std::string_view bytes);

// kDataLoss where `bytes` are no such frame, cut short, damaged, or become more than `most`.
Result<std::string> decompress(std::string_view bytes, std::size_t most);

}  // namespace lathe::recorded
