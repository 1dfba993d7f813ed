#include "runtime/device/cuda/facts.h"

#include <array>
#include <utility>

namespace lathe::cuda {
namespace {

// The members of one type with their names, once for both ways.
template <class F>
constexpr auto texts_of(F& f) {
  return std::to_array({std::pair{"name", &f.name}, {"uuid", &f.uuid}, {"driver", &f.driver}});
}
template <class F>
constexpr auto numbers_of(F& f) {
  return std::to_array({std::pair{"cuda", &f.cuda},
                        {"architecture", &f.architecture},
                        {"multiprocessors", &f.multiprocessors},
                        {"registers", &f.registers},
                        {"threads", &f.threads},
                        {"blocks", &f.blocks},
                        {"block_threads", &f.block_threads},
                        {"thread_registers", &f.thread_registers},
                        {"clock_khz", &f.clock_khz},
                        {"memory_clock_khz", &f.memory_clock_khz},
                        {"bus_bits", &f.bus_bits}});
}
template <class F>
constexpr auto sizes_of(F& f) {
  return std::to_array({std::pair{"shared_bytes", &f.shared_bytes},
                        {"block_bytes", &f.block_bytes},
                        {"reserved_bytes", &f.reserved_bytes},
                        {"l2_bytes", &f.l2_bytes},
                        {"memory_bytes", &f.memory_bytes}});
}

}  // namespace

Fingerprint fingerprint_of(const Facts& facts) {
  return {CudaFingerprint{.model = facts.name, .driver = facts.driver}};
}

std::string Facts::text() const { return fmt::format("{}; sm_{}; {}", name, architecture, driver); }

Json to_json(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [member, text] : texts_of(facts)) json[member] = *text;
  for (const auto& [member, number] : numbers_of(facts)) json[member] = *number;
  for (const auto& [member, size] : sizes_of(facts)) json[member] = *size;
  return json;
}

Result<Facts> facts_from_json(const Json& json) {
  Facts facts;
  for (const auto& [member, text] : texts_of(facts)) *text = LATHE_TRY(json_string(json, member));
  for (const auto& [member, number] : numbers_of(facts))
    *number = static_cast<int>(LATHE_TRY(json_int(json, member)));
  for (const auto& [member, size] : sizes_of(facts)) *size = LATHE_TRY(json_int(json, member));
  return facts;
}

}  // namespace lathe::cuda
