#include "runtime/artifact/check.h"

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

constexpr int kBoolCode = 6;  // newer versions of DLPack have it; older ones say unsigned, 8 bits

// "f32", "bool"; what Lathe has no name for: "type code 5 of 64 bits, 2 lanes".
void add_type(Message& message, std::int64_t code, std::int64_t bits, std::int64_t lanes) {
  const bool brain = code == kDLBfloat && bits == 16;
  if (lanes == 1 && (code == kDLInt || code == kDLUInt || code == kDLFloat || brain)) {
    message.add(code == kDLInt ? "i" : code == kDLUInt ? "u" : brain ? "bf" : "f").add(bits);
  } else if (lanes == 1 && code == kBoolCode && bits == 8) {
    message.add("bool");
  } else {
    message.add("type code ").add(code).add(" of ").add(bits).add(" bits, ");
    message.add(lanes).add(" lanes");
  }
}

bool check_type(const lathe_artifact_tensor& want, DLDataType type, Message& message) {
  const bool is_bool = want.type_code == kBoolCode && type.code == kDLUInt && type.bits == 8;
  if (type.lanes == 1 && (is_bool || (type.code == want.type_code && type.bits == want.type_bits)))
    return true;
  start(want, message).add("has elements of ");
  add_type(message, type.code, type.bits, type.lanes);
  message.add(", not of ");
  add_type(message, want.type_code, want.type_bits, 1);
  return false;
}

bool check_device(const lathe_artifact_tensor& want, const DLDevice& device, const Place& place,
                  Message& message) {
  const char* why = nullptr;
  if (place.device.device_type == kDLCPU) {
    if (is_of_processor(device)) return true;
    why = "is not in the processor's memory";
  } else if (is_of_processor(device)) {
    why = "is in the processor's memory; copy it to the card first, which tensors have to be on";
  } else if (device.device_type != kDLCUDA) {
    why = "is on a device that is no card of NVIDIA (kDLCUDA)";
  }
  if (why == nullptr && device.device_id == place.device.device_id) return true;
  start(want, message).add(why != nullptr ? why : "is on card ");
  if (why == nullptr)
    message.add(device.device_id).add(", and the handle on card ").add(place.device.device_id);
  return false;
}

bool check_alignment(const lathe_artifact_tensor& want, const DLTensor& tensor, const Place& place,
                     Message& message) {
  const auto address = reinterpret_cast<std::uintptr_t>(address_of(tensor));
  const std::int64_t element = want.type_bits / 8;
  if (place.alignment > element) {
    if (address % static_cast<std::uint64_t>(place.alignment) == 0) return true;
    start(want, message).add("does not begin at a multiple of ").add(place.alignment);
    message.add(" bytes");
    return false;
  }
  if (address % static_cast<std::uint64_t>(element) == 0) return true;
  start(want, message).add("does not begin at a multiple of its element size");
  return false;
}

}  // namespace

bool check_tensor(const lathe_artifact_tensor& want, const DLTensor* tensor, Message& message,
                  const Place& place) {
  const auto refuse = [&](const char* why) {
    start(want, message).add(why);
    return false;
  };
  if (tensor == nullptr) return refuse("is missing");
  if (!check_type(want, tensor->dtype, message) || !check_shape(want, *tensor, message))
    return false;
  if (!check_device(want, tensor->device, place, message)) return false;
  if (want.plain ? !is_row_major(*tensor) : tensor->strides != nullptr)
    return refuse(want.plain ? "is not row-major without gaps"
                             : "must have no strides: its storage is as the header says");
  if (want.bytes == 0) return true;
  if (tensor->data == nullptr) return refuse("has no data");
  return check_alignment(want, *tensor, place, message);
}

#if defined(__x86_64__)

namespace {

// Bits of the answer to CPUID, and of the registers that the system must save: those of AVX, and
// with AVX-512 of its masks.
constexpr std::uint64_t kVectorState = 0x6, kMaskState = 0xe6;
struct Feature {
  std::int64_t needed;
  const char* name;
  unsigned leaf, subleaf, reg;  // counted from EAX
  unsigned bits;
  std::uint64_t state;
};
constexpr Feature kFeatures[] = {
    {LATHE_CPU_AVX, "AVX", 1, 0, 2, 1U << 28, kVectorState},
    {LATHE_CPU_AVX2, "AVX2", 7, 0, 1, 1U << 5, kVectorState},
    {LATHE_CPU_FMA, "FMA", 1, 0, 2, 1U << 12, kVectorState},
    {LATHE_CPU_F16C, "F16C", 1, 0, 2, 1U << 29, kVectorState},
    {LATHE_CPU_AVX512, "AVX-512F", 7, 0, 1, 1U << 16, kMaskState},
    {LATHE_CPU_AVX512_SKX, "AVX-512VL, BW and DQ", 7, 0, 1, 1U << 31 | 1U << 30 | 1U << 17,
     kMaskState},
    {LATHE_CPU_BMI, "BMI", 7, 0, 1, 1U << 3, 0},
    {LATHE_CPU_BMI2, "BMI2", 7, 0, 1, 1U << 8, 0},
    {LATHE_CPU_LZCNT, "LZCNT", 0x80000001, 0, 2, 1U << 5, 0},
    {LATHE_CPU_MOVBE, "MOVBE", 1, 0, 2, 1U << 22, 0},
    {LATHE_CPU_AVX512_IFMA, "AVX-512 IFMA", 7, 0, 1, 1U << 21, kMaskState},
    {LATHE_CPU_AVX512_VBMI, "AVX-512 VBMI", 7, 0, 2, 1U << 1, kMaskState},
    {LATHE_CPU_AVX512_VBMI2, "AVX-512 VBMI2", 7, 0, 2, 1U << 6, kMaskState},
    {LATHE_CPU_AVX512_VNNI, "AVX-512 VNNI", 7, 0, 2, 1U << 11, kMaskState},
    {LATHE_CPU_AVX512_BITALG, "AVX-512 BITALG", 7, 0, 2, 1U << 12, kMaskState},
    {LATHE_CPU_AVX512_VPOPCNTDQ, "AVX-512 VPOPCNTDQ", 7, 0, 2, 1U << 14, kMaskState},
    {LATHE_CPU_AVX512_FP16, "AVX-512 FP16", 7, 0, 3, 1U << 23, kMaskState},
    {LATHE_CPU_AVX512_BF16, "AVX-512 BF16", 7, 1, 0, 1U << 5, kMaskState},
};

// The registers that the system saves; 0 where it cannot tell.
std::uint64_t saved_state() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

bool is_present(const Feature& feature, std::uint64_t saved) {
  unsigned answer[4] = {};
  return (saved & feature.state) == feature.state &&
         __get_cpuid_count(feature.leaf, feature.subleaf, &answer[0], &answer[1], &answer[2],
                           &answer[3]) != 0 &&
         (answer[feature.reg] & feature.bits) == feature.bits;
}

}  // namespace

bool check_cpu(std::int64_t needed, Message& message) {
  const std::uint64_t saved = saved_state();
  for (const Feature& feature : kFeatures) {
    if ((needed & feature.needed) == 0 || is_present(feature, saved)) continue;
    message.clear();
    message.add("this processor lacks ").add(feature.name).add("; run lathe compile for it");
    return false;
  }
  return true;
}

#else

bool check_cpu(std::int64_t, Message&) { return true; }

#endif

}  // namespace lathe::artifact
