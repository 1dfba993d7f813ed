#include "compiler/ops/attention.h"

#include <cmath>

#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

Result<std::vector<Algorithm>> build_attention(const Values& values) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  const std::int64_t heads = LATHE_TRY(values.size("heads")),
                     tokens = LATHE_TRY(values.size("tokens")),
                     width = LATHE_TRY(values.size("width"));
  const std::int64_t kv = values.has("kv-tokens") ? LATHE_TRY(values.size("kv-tokens")) : tokens;
  const std::int64_t kv_heads = values.has("kv-heads") ? LATHE_TRY(values.size("kv-heads")) : heads;
  if (heads % kv_heads != 0)
    return Values::error("kv-heads", "the {} heads of Q do not divide among {} of K and V", heads,
                         kv_heads);
  const double scale =
      values.has("scale") ? values.real("scale") : 1 / std::sqrt(static_cast<double>(width));
  // Heads of Q that meet one head of K and V are a loop of their own.
  const bool grouped = kv_heads < heads;
  const std::string q = grouped ? "h,g" : "h";
  const auto rows = [&](std::int64_t of, std::int64_t last) {
    std::vector<std::int64_t> shape = {kv_heads, of, last};
    if (grouped) shape.insert(shape.begin() + 1, heads / kv_heads);
    return shape;
  };
  std::vector<std::int64_t> border;
  if (grouped) border = {heads, tokens, width};
  std::string text = typed(shaped("Q", rows(tokens, width), border), dtype) + "\n";
  for (const char* name : {"K", "V"})
    text += typed(shaped(name, {kv_heads, kv, width}), dtype) + "\n";
  if (te::is_narrow(dtype))
    for (const char* name : {"S", "E"})
      text += typed(shaped(name, rows(tokens, kv)), te::accumulator_of(dtype)) + "\n";
  if (te::is_narrow(dtype) || grouped)
    text += "output " + typed(shaped("Y", rows(tokens, width), border), dtype) + "\n";
  const std::string score = fmt::format("(sum(d) Q[{},i,d] * K[h,j,d]) * {}", q, scale);
  text += fmt::format(
      "S[{0},i,j] = {1}\n"
      "E[{0},i,j] = exp(S[{0},i,j] - (max(k) S[{0},i,k]))\n"
      "Y[{0},i,d] = (sum(j) E[{0},i,j] * V[h,j,d]) / (sum(k) E[{0},i,k])\n",
      q, values.flag("causal") ? fmt::format("select(j <= i, {}, -inf)", score) : score);
  return direct(parsed("attention", text));
}

}  // namespace

Operator attention() {
  return {"attention",
          "softmax(scale * Q K^T) V for each head, with Q, K and V of [heads,tokens,width]",
          {{Kind::kInt, "heads", "", "heads; those of several sequences count together"},
           {Kind::kInt, "tokens", "", "rows of Q and of the output in each head"},
           {Kind::kInt, "width", "", "elements of a row"},
           {Kind::kInt, "kv-tokens", "tokens", "rows of K and V in each head"},
           {Kind::kInt, "kv-heads", "heads",
            "heads of K and V: as many that follow each other of Q share one of them"},
           {Kind::kReal, "scale", "width^-0.5", "factor of the products"},
           {Kind::kFlag, "causal", "false", "row i of Q meets rows 0 to i of K and V only"},
           float_parameter()},
          build_attention};
}

}  // namespace lathe::ops
