#include "compiler/ops/rope.h"

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

// Element e of pair p.
Result<std::vector<Algorithm>> build_rope(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const std::int64_t heads = LATHE_TRY(values.size("heads")),
                     tokens = LATHE_TRY(values.size("tokens")),
                     width = LATHE_TRY(values.size("width"));
  if (width % 2 != 0)
    return Values::error("width", "pairs of elements are turned, and {} is odd", width);
  const bool interleaved = values.flag("interleaved");
  std::vector<std::int64_t> shape = {heads, tokens, 2, width / 2};
  if (interleaved) std::swap(shape[2], shape[3]);
  std::string text;
  for (const char* declared : {"X", "output Y"})
    text += typed(shaped(declared, shape, {heads, tokens, width}), dtype) + "\n";
  for (const char* name : {"cosine", "sine"})
    text += typed(shaped(name, {tokens, width / 2}), dtype) + "\n";
  const auto read = [&](const std::string& element) {
    return te::is_narrow(dtype) ? fmt::format("{}({})", name_of(te::accumulator_of(dtype)), element)
                                : element;
  };
  // Both elements are read by their place: where they are neighbours, p is the loop of vectors.
  const std::string first = read(interleaved ? "X[h,t,p,0]" : "X[h,t,0,p]"),
                    second = read(interleaved ? "X[h,t,p,1]" : "X[h,t,1,p]"),
                    cosine = read("cosine[t,p]"), sine = read("sine[t,p]");
  text += fmt::format("Y[{0}] = select(e == 0, {1} * {3} - {2} * {4}, {2} * {3} + {1} * {4})\n",
                      interleaved ? "h,t,p,e" : "h,t,e,p", first, second, cosine, sine);
  return direct(parsed("rope", text));
}

}  // namespace

Operator rope() {
  return {"rope",
          "pairs of elements of X[heads,tokens,width], turned by angles (rotary embedding)",
          {{Kind::kInt, "heads", "", "heads; those of several sequences count together"},
           {Kind::kInt, "tokens", "", "rows in each head, and of the tables of cosines and sines"},
           {Kind::kInt, "width", "", "elements of a row; the tables' rows have half of it"},
           {Kind::kFlag, "interleaved", "false",
            "pairs are neighbours; else the halves of a row are side by side"},
           float_parameter()},
          build_rope};
}

}  // namespace lathe::ops
