#include "runtime/artifact/check.h"

#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lathe::artifact {
namespace {

Message& start(const lathe_artifact_tensor& want, Message& message) {
  message.clear();
  return message.add("tensor \"").add(want.name).add("\" ");
}

bool check_shape(const lathe_artifact_tensor& want, const DLTensor& tensor, Message& message) {
  if (tensor.ndim != want.ndim) {
    start(want, message).add("has ").add(tensor.ndim).add(" dimensions, not ").add(want.ndim);
    return false;
  }
  for (std::int64_t i = 0; i < want.ndim; ++i)
    if (tensor.shape == nullptr || tensor.shape[i] != want.shape[i]) {
      start(want, message)
          .add("has extent ")
          .add(tensor.shape == nullptr ? 0 : tensor.shape[i])
          .add(" in dimension ");
      message.add(i).add(", not ").add(want.shape[i]);
      return false;
    }
  return true;
}

bool is_row_major(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t stride = 1;
  for (std::int64_t i = tensor.ndim; i-- > 0; stride *= tensor.shape[i])
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) return false;
  return true;
}

bool check_type(const lathe_artifact_tensor& want, DLDataType type, Message& message) {
  constexpr int kBoolCode = 6;  // newer versions of DLPack have it; older ones say unsigned, 8 bits
  const bool is_bool = want.type_code == kBoolCode && type.code == kDLUInt && type.bits == 8;
  if (type.lanes == 1 && (is_bool || (type.code == want.type_code && type.bits == want.type_bits)))
    return true;
  start(want, message)
      .add("has element type (code ")
      .add(type.code)
      .add(", bits ")
      .add(type.bits)
      .add(", lanes ");
  message.add(type.lanes)
      .add("), not (code ")
      .add(want.type_code)
      .add(", bits ")
      .add(want.type_bits)
      .add(", lanes 1)");
  return false;
}

}  // namespace

bool check_tensor(const lathe_artifact_tensor& want, const DLTensor* tensor, Message& message) {
  const auto refuse = [&](const char* why) {
    start(want, message).add(why);
    return false;
  };
  if (tensor == nullptr) return refuse("is missing");
  if (!check_type(want, tensor->dtype, message) || !check_shape(want, *tensor, message))
    return false;
  if (tensor->device.device_type != kDLCPU && tensor->device.device_type != kDLCUDAHost)
    return refuse("is not in the processor's memory");
  if (want.plain ? !is_row_major(*tensor) : tensor->strides != nullptr)
    return refuse(want.plain ? "is not row-major without gaps"
                             : "must have no strides: its storage is as the header says");
  if (want.bytes == 0) return true;
  if (tensor->data == nullptr) return refuse("has no data");
  const auto size = static_cast<std::uint64_t>(want.type_bits / 8);
  if (reinterpret_cast<std::uintptr_t>(address_of(*tensor)) % size != 0)
    return refuse("does not begin at a multiple of its element size");
  return true;
}

#if defined(__x86_64__)

namespace {

std::uint64_t enabled_state() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

// A bit of the answer to CPUID: its register is that, counted from EAX.
struct Feature {
  std::int64_t needed;
  const char* name;
  unsigned leaf, subleaf, reg, bit;
  bool masks;  // of AVX-512
};
constexpr Feature kFeatures[] = {
    {LATHE_CPU_BMI, "BMI", 7, 0, 1, 3, false},
    {LATHE_CPU_BMI2, "BMI2", 7, 0, 1, 8, false},
    {LATHE_CPU_LZCNT, "LZCNT", 0x80000001, 0, 2, 5, false},
    {LATHE_CPU_MOVBE, "MOVBE", 1, 0, 2, 22, false},
    {LATHE_CPU_AVX512_IFMA, "AVX-512 IFMA", 7, 0, 1, 21, true},
    {LATHE_CPU_AVX512_VBMI, "AVX-512 VBMI", 7, 0, 2, 1, true},
    {LATHE_CPU_AVX512_VBMI2, "AVX-512 VBMI2", 7, 0, 2, 6, true},
    {LATHE_CPU_AVX512_VNNI, "AVX-512 VNNI", 7, 0, 2, 11, true},
    {LATHE_CPU_AVX512_BITALG, "AVX-512 BITALG", 7, 0, 2, 12, true},
    {LATHE_CPU_AVX512_VPOPCNTDQ, "AVX-512 VPOPCNTDQ", 7, 0, 2, 14, true},
    {LATHE_CPU_AVX512_FP16, "AVX-512 FP16", 7, 0, 3, 23, true},
    {LATHE_CPU_AVX512_BF16, "AVX-512 BF16", 7, 1, 0, 5, true},
};

bool has(const Feature& feature) {
  unsigned answer[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &answer[0], &answer[1], &answer[2],
                           &answer[3]) != 0 &&
         (answer[feature.reg] >> feature.bit & 1) != 0;
}

std::int64_t other_features(bool masks) {
  std::int64_t out = 0;
  for (const Feature& feature : kFeatures)
    if (feature.masks == masks && has(feature)) out |= feature.needed;
  return out;
}

std::int64_t vector_features() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  constexpr std::uint64_t kVectorState = 0x6, kMaskState = 0xe6;
  const std::uint64_t state = enabled_state();
  if ((state & kVectorState) != kVectorState) return 0;
  std::int64_t out = 0;
  if (c & bit_AVX) out |= LATHE_CPU_AVX;
  if (c & bit_FMA) out |= LATHE_CPU_FMA;
  if (c & bit_F16C) out |= LATHE_CPU_F16C;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return out;
  if (b & bit_AVX2) out |= LATHE_CPU_AVX2;
  if ((state & kMaskState) != kMaskState || !(b & bit_AVX512F)) return out;
  out |= LATHE_CPU_AVX512 | other_features(true);
  if ((b & bit_AVX512VL) && (b & bit_AVX512BW) && (b & bit_AVX512DQ)) out |= LATHE_CPU_AVX512_SKX;
  return out;
}

}  // namespace

bool check_cpu(std::int64_t needed, Message& message) {
  const std::int64_t absent = needed & ~(vector_features() | other_features(false));
  if (absent == 0) return true;
  static constexpr const char* kNames[] = {"AVX",  "AVX2",     "FMA",
                                           "F16C", "AVX-512F", "AVX-512VL, BW and DQ"};
  unsigned first = 0;
  while ((absent >> first & 1) == 0) ++first;
  const char* name = first < std::size(kNames) ? kNames[first] : nullptr;
  for (const Feature& feature : kFeatures)
    if (feature.needed == std::int64_t{1} << first) name = feature.name;
  message.clear();
  message.add("this processor lacks ").add(name).add("; run lathe compile for it");
  return false;
}

#else

bool check_cpu(std::int64_t, Message&) { return true; }

#endif

}  // namespace lathe::artifact
