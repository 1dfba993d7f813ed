// Any text either is a line of exported trials that is written and read back to the same, or is
// refused with a sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "tuner/store/store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lathe;
  const auto json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const auto read = store::from_json(*json);
  if (!read) {
    LATHE_CHECK(!read.error().message.empty());
    return 0;
  }
  const Json written = store::to_json(read->first, read->second);
  const auto again = store::from_json(written);
  LATHE_CHECK(again.has_value(), "{}", again ? "" : again.error().text());
  LATHE_CHECK(store::to_json(again->first, again->second) == written);
  return 0;
}
