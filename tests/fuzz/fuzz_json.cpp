// Any bytes either parse, and then print and parse again to the same value, or are refused with a
// sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lathe;
  const auto parsed = parse_json({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    LATHE_CHECK(!parsed.error().message.empty());
    return 0;
  }
  const auto again = parse_json(parsed->dump());
  LATHE_CHECK(again.has_value() && *again == *parsed, "{}", parsed->dump());
  (void)json_int(*parsed, "n");
  (void)json_array(*parsed, "a");
  return 0;
}
