// The version of the feature rows.
#pragma once

namespace lathe::feature {

// It is stored with every model; a model of another version is refused.
inline constexpr int kVersion = 1;

}  // namespace lathe::feature
