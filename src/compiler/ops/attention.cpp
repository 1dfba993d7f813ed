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
  const double scale =
      values.has("scale") ? values.real("scale") : 1 / std::sqrt(static_cast<double>(width));
  const std::string score = fmt::format("(sum(d) Q[h,i,d] * K[h,j,d]) * {}", scale);
  std::string text;
  for (const auto& [name, rows] : {std::pair("Q", tokens), std::pair("K", kv), std::pair("V", kv)})
    text += typed(shaped(name, {heads, rows, width}), dtype) + "\n";
  if (te::is_narrow(dtype)) {
    for (const char* name : {"S", "E"})
      text += typed(shaped(name, {heads, tokens, kv}), te::accumulator_of(dtype)) + "\n";
    text += typed(shaped("Y", {heads, tokens, width}), dtype) + "\n";
  }
  text +=
      fmt::format("S[h,i,j] = {}\n",
                  values.flag("causal") ? fmt::format("select(j <= i, {}, -inf)", score) : score);
  text +=
      "E[h,i,j] = exp(S[h,i,j] - (max(k) S[h,i,k]))\n"
      "Y[h,i,d] = (sum(j) E[h,i,j] * V[h,j,d]) / (sum(k) E[h,i,k])\n";
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
           {Kind::kReal, "scale", "width^-0.5", "factor of the products"},
           {Kind::kFlag, "causal", "false", "row i of Q meets rows 0 to i of K and V only"},
           float_parameter()},
          build_attention};
}

}  // namespace lathe::ops
