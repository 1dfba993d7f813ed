#include "api/shipped_models.h"

#include <cstddef>

#include "base/embed.h"

LATHE_EMBED(lathe_model_x86_avx512, LATHE_MODELS "/x86-avx512.model")
LATHE_EMBED(lathe_model_cuda_sm_90, LATHE_MODELS "/cuda-sm_90.model")
LATHE_EMBED(lathe_model_x86_avx2, LATHE_MODELS "/x86-avx2.model")

namespace lathe::api {
namespace {

struct Shipped {
  model::TargetClass target_class;
  const std::byte *begin, *end;
};
const Shipped kShipped[] = {
    {{model::CudaClass{90}}, lathe_model_cuda_sm_90_begin, lathe_model_cuda_sm_90_end},
    {{model::CpuClass{Isa::kX86, 512}}, lathe_model_x86_avx512_begin, lathe_model_x86_avx512_end},
    {{model::CpuClass{Isa::kX86, 256}}, lathe_model_x86_avx2_begin, lathe_model_x86_avx2_end}};

}  // namespace

std::string_view shipped_model(const model::TargetClass& target_class) {
  for (const auto& [known, begin, end] : kShipped)
    if (target_class == known)
      return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
  return {};
}

}  // namespace lathe::api
