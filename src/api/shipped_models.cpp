#include "api/shipped_models.h"

#include "base/embed.h"

LATHE_EMBED(lathe_model_x86_avx512, LATHE_MODELS "/x86-avx512.model")
LATHE_EMBED(lathe_model_x86_avx2, LATHE_MODELS "/x86-avx2.model")

namespace lathe::api {
namespace {

std::string_view text(const std::byte* begin, const std::byte* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view shipped_model(std::string_view target_class) {
  if (target_class == "x86, 512-bit vectors")
    return text(lathe_model_x86_avx512_begin, lathe_model_x86_avx512_end);
  if (target_class == "x86, 256-bit vectors")
    return text(lathe_model_x86_avx2_begin, lathe_model_x86_avx2_end);
  return {};
}

}  // namespace lathe::api
