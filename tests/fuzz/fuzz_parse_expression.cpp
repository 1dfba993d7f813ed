// Any text either is a program, which then is valid, prints and parses to itself, has a key that is
// its own key, and a nest that keeps the nest's rules; or it is refused with a sentence. Text that
// starts with '@' is parsed with shapes given from outside, as the command line does.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace {

using namespace lathe;

te::Declarations declarations() {
  te::Declarations out;
  out.shapes = {{"A", {7, 5}}, {"B", {5, 3}}, {"X", {1, 3, 9, 8}}, {"W", {4, 3, 3, 3}}};
  out.dtypes = {{"A", Dtype::kF16}};
  return out;
}

void check(const te::Workload& workload) {
  LATHE_CHECK(te::validate(workload).has_value());
  const std::string text = te::print_workload(workload);
  const auto again = te::parse_workload(text);
  LATHE_CHECK(again.has_value(), "{}\n{}", again ? "" : again.error().text(), text);
  LATHE_CHECK(te::equal(workload, *again), "{}\n{}", text, te::print_workload(*again));
  const std::string key = te::workload_key(workload);
  const auto keyed = te::parse_workload(key);
  LATHE_CHECK(keyed.has_value(), "{}\n{}", keyed ? "" : keyed.error().text(), key);
  LATHE_CHECK(te::workload_key(*keyed) == key && te::equal(*keyed, te::canonical(workload)), "{}",
              key);
  LATHE_CHECK(te::flops(workload) >= 0 && std::isfinite(te::io_bytes(workload)));
  const auto nest = te::naive_nest(workload);
  const auto verified = ir::verify(nest);
  LATHE_CHECK(verified.has_value(), "{}\n{}", verified ? "" : verified.error().text(), text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool shapes_given = text.starts_with('@');
  if (shapes_given) text.remove_prefix(1);
  const auto workload =
      te::parse_workload(text, shapes_given ? declarations() : te::Declarations{});
  if (workload) check(*workload);
  else LATHE_CHECK(!workload.error().message.empty());
  return 0;
}
