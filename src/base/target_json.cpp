#include "base/target_json.h"

#include "base/cuda/cuda_json.h"
#include "base/opencl_json.h"

namespace lathe {
namespace {

Json derived(const CpuTarget& cpu) {
  return {{"vector_bits", cpu.vector_bits},
          {"vector_registers", cpu.vector_registers},
          {"fma", cpu.has_fma},
          {"f16c", cpu.has_f16c},
          {"avx512_masks", cpu.has_avx512_masks}};
}

Status read_derived(const Json& json, CpuTarget& cpu) {
  cpu.vector_bits = static_cast<int>(LATHE_TRY(json_int(json, "vector_bits")));
  cpu.vector_registers = static_cast<int>(LATHE_TRY(json_int(json, "vector_registers")));
  cpu.has_fma = LATHE_TRY(json_bool(json, "fma"));
  cpu.has_f16c = LATHE_TRY(json_bool(json, "f16c"));
  cpu.has_avx512_masks = LATHE_TRY(json_bool(json, "avx512_masks"));
  return {};
}

Json derived(const OpenClTarget& device) { return opencl_members(device); }

Status read_derived(const Json& json, OpenClTarget& device) {
  return read_opencl_members(json, device);
}

Json derived(const CudaTarget& card) { return cuda_members(card); }

Status read_derived(const Json& json, CudaTarget& card) { return read_cuda_members(json, card); }

Json members(const CudaFingerprint& card) {
  return {{"card", card.model}, {"driver", card.driver}};
}

Json members(const OpenClFingerprint& device) {
  return {
      {"platform", device.platform}, {"device", device.name_of_device}, {"driver", device.driver}};
}

Json members(const CpuFingerprint& cpu) {
  return {{"cpu_name", cpu.cpu_name}, {"family", cpu.family},       {"model", cpu.model},
          {"stepping", cpu.stepping}, {"l1d_bytes", cpu.l1d_bytes}, {"l2_bytes", cpu.l2_bytes},
          {"l3_bytes", cpu.l3_bytes}, {"cores", cpu.cores}};
}

}  // namespace

Json to_json(const Target& target) {
  Json json = {{"text", target.text()}};
  json.update(std::visit([](const auto& of) { return derived(of); }, target.device));
  return json;
}

Result<Target> target_from_json(const Json& json) {
  Target target = LATHE_TRY(parse_target(LATHE_TRY(json_string(json, "text"))));
  LATHE_TRY_STATUS(
      std::visit([&](auto& of) -> Status { return read_derived(json, of); }, target.device));
  return target;
}

Json to_json(const Fingerprint& fingerprint) {
  return std::visit([](const auto& of) { return members(of); }, fingerprint.device);
}

Result<Fingerprint> fingerprint_from_json(const Json& json) {
  if (json.contains("platform"))
    return Fingerprint{OpenClFingerprint{.platform = LATHE_TRY(json_string(json, "platform")),
                                         .name_of_device = LATHE_TRY(json_string(json, "device")),
                                         .driver = LATHE_TRY(json_string(json, "driver"))}};
  if (json.contains("card"))
    return Fingerprint{CudaFingerprint{.model = LATHE_TRY(json_string(json, "card")),
                                       .driver = LATHE_TRY(json_string(json, "driver"))}};
  const auto number = [&](const char* member) { return json_int(json, member); };
  return Fingerprint{CpuFingerprint{.cpu_name = LATHE_TRY(json_string(json, "cpu_name")),
                                    .family = static_cast<int>(LATHE_TRY(number("family"))),
                                    .model = static_cast<int>(LATHE_TRY(number("model"))),
                                    .stepping = static_cast<int>(LATHE_TRY(number("stepping"))),
                                    .l1d_bytes = LATHE_TRY(number("l1d_bytes")),
                                    .l2_bytes = LATHE_TRY(number("l2_bytes")),
                                    .l3_bytes = LATHE_TRY(number("l3_bytes")),
                                    .cores = static_cast<int>(LATHE_TRY(number("cores")))}};
}

}  // namespace lathe
