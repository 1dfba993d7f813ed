#include "tuner/space/rules/kinds.h"

#include "tuner/space/rules/cpu.h"
#include "tuner/space/rules/cuda/cuda.h"
#include "tuner/space/rules/opencl/opencl.h"

namespace lathe::space {
namespace {

constexpr KindRules kKinds[] = {
    {DeviceKind::kCpu,
     [](const te::Workload& workload, const Target& target, Flavour flavour) {
       return derive_for_cpu(workload, target.as_cpu(), flavour);
     },
     cpu_meaning},
    {DeviceKind::kOpenCl,
     [](const te::Workload& workload, const Target& target, Flavour flavour) {
       return derive_for_opencl(workload, target.as_opencl(), flavour);
     },
     opencl_meaning},
    {DeviceKind::kCuda,
     [](const te::Workload& workload, const Target& target, Flavour flavour) {
       return derive_for_cuda(workload, target.as_cuda(), flavour);
     },
     cuda_meaning}};

}  // namespace

std::span<const KindRules> rules_by_kind() { return kKinds; }

}  // namespace lathe::space
