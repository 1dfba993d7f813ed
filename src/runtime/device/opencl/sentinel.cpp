#include "runtime/device/opencl/sentinel.h"

#include <algorithm>
#include <limits>

#include "runtime/device/opencl/timed.h"

namespace lathe::opencl {
namespace {

constexpr int kGroups = 4, kItems = 8;
constexpr int kRuns = 3;
// Eight chains of products of four: a processor's vectors are busy, too.
constexpr const char* kSentinelSource = R"(
__kernel void sentinel(__global float4* out) {
  float4 a[8];
  for (int c = 0; c < 8; ++c) a[c] = (float4)(c + (int)get_global_id(0));
  for (int i = 0; i < 2048; ++i)
    for (int c = 0; c < 8; ++c) a[c] = a[c] * 0.5f + 1.0f;
  float4 sum = (float4)(0);
  for (int c = 0; c < 8; ++c) sum += a[c];
  out[get_global_id(0)] = sum;
}
)";

}  // namespace

Result<std::unique_ptr<DeviceSentinel>> DeviceSentinel::make(Device& device,
                                                             const BinaryCache& cache) {
  constexpr std::int64_t kBytes = std::int64_t{16} * kGroups * kItems;
  Image image;
  image.source = kSentinelSource;
  image.options = "-cl-std=CL1.2";
  image.outputs = {kBytes};
  image.run = {{"sentinel", {{Area::kOutput, 0}}, {kGroups, 1, 1}, {kItems, 1, 1}}};
  std::unique_ptr<DeviceSentinel> sentinel(new DeviceSentinel(device));
  sentinel->program_ = LATHE_TRY(Program::build(device, image, cache));
  LATHE_TRY_STATUS(sentinel->memory_.resize(device, "the sentinel's sums", kBytes));
  sentinel->launches_ = LATHE_TRY(sentinel->program_->bind(
      image.run, [&](const Argument&) { return sentinel->memory_.part(); }));
  LATHE_TRY(sentinel->run());  // brings clocks up and the code into the device
  return sentinel;
}

Result<double> DeviceSentinel::run() {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i)
    shortest = std::min(shortest, LATHE_TRY(run_timed(device_, launches_, 1)).spans);
  return shortest;
}

}  // namespace lathe::opencl
