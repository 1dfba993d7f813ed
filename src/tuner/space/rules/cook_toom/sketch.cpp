#include "tuner/space/rules/cook_toom/sketch.h"

#include "tuner/space/rules/cook_toom/builder.h"

namespace lathe::space {

Result<Sketch> build_cook_toom_sketch(const CookToomRule& rule, const std::vector<Knob>& knobs,
                                      std::span<const std::int64_t> values) {
  return built_sketch<CookToomBuilder>(rule, knobs, values);
}

}  // namespace lathe::space
