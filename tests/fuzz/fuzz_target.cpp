// Any text either is a target whose canonical text parses to itself, or is refused with a sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lathe;
  const auto target = parse_target({reinterpret_cast<const char*>(data), size});
  if (!target) {
    LATHE_CHECK(!target.error().message.empty());
    return 0;
  }
  const auto again = parse_target(target->text());
  LATHE_CHECK(again.has_value() && again->text() == target->text(), "{}", target->text());
  return 0;
}
