// Everything takes six times as long under the address sanitizer, so random tests try less there.
#pragma once

namespace lathe::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace lathe::test
