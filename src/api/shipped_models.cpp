#include "api/shipped_models.h"

#include <cstddef>

#include "base/embed.h"

LATHE_EMBED(lathe_model_x86_avx512, LATHE_MODELS "/x86-avx512.model")
LATHE_EMBED(lathe_model_x86_avx2, LATHE_MODELS "/x86-avx2.model")

namespace lathe::api {
namespace {

struct Shipped {
  model::CpuClass target_class;
  const std::byte *begin, *end;
};
const Shipped kShipped[] = {
    {{Isa::kX86, 512}, lathe_model_x86_avx512_begin, lathe_model_x86_avx512_end},
    {{Isa::kX86, 256}, lathe_model_x86_avx2_begin, lathe_model_x86_avx2_end}};

}  // namespace

std::string_view shipped_model(const model::TargetClass& target_class) {
  for (const auto& [known, begin, end] : kShipped)
    if (target_class == model::TargetClass{known})
      return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
  return {};
}

}  // namespace lathe::api
