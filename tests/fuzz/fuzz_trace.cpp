// Any JSON is either a trace, which then writes back the same, or is refused with a sentence;
// applying it to a small program changes the nest into a sound one or not at all.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lathe;
  const auto json = parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const auto trace = schedule::trace_from_json(*json);
  if (!trace) {
    LATHE_CHECK(!trace.error().message.empty());
    return 0;
  }
  const Json written = schedule::to_json(*trace);
  const auto again = schedule::trace_from_json(written);
  LATHE_CHECK(again.has_value() && schedule::to_json(*again) == written, "{}", written.dump());
  (void)schedule::print(*trace);
  const auto workload = te::parse_workload(
      "A: f32[10, 8]; const B: f32[8, 24]; C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = max(C[i,j], "
      "0.0)\n"
      "E[i:9,j] = D[i+1,j] + A[i,j-3 else 0]");
  LATHE_CHECK(workload.has_value());
  ir::Nest nest = te::naive_nest(*workload);
  for (const schedule::Step& step : *trace) {
    if (nest.loops.size() > 200) break;
    const auto done = schedule::apply(nest, step, size % 2 == 0);
    if (!done) LATHE_CHECK(!done.error().text().empty());
    const Status sound = ir::verify(nest);
    LATHE_CHECK(sound.has_value(), "after {}: {}", schedule::print(step), sound.error().message);
  }
  return 0;
}
