// Bytes in a Zstandard frame with its checksum: `zstd -d` reads them too. Internal to this room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe::recorded {

std::string compress(std::string_view bytes);

// Fails with kDataLoss if `bytes` are no such frame, are cut short or damaged, or become more than
// `most` bytes.
Result<std::string> decompress(std::string_view bytes, std::size_t most);

}  // namespace lathe::recorded
