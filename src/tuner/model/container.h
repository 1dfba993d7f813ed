// Wraps the bytes of a saved cost model: magic, format and feature version, kind, length, payload,
// checksum. Little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace lathe::model {

std::string pack(std::string_view kind, std::string_view payload);
// Takes the payload out. The error tells whether the bytes are no model at all, cut short, damaged,
// of another kind, or made for other features.
Result<std::string> unpack(std::string_view bytes, std::string_view kind);

}  // namespace lathe::model
