#include "compiler/ops/index_texts.h"
#include "compiler/ops/rows.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct Norm {
  Dtype dtype;
  IndexTexts texts;                  // of X as the expression has it
  std::vector<std::int64_t> border;  // of X, as callers see it; empty: the same
  std::string index;                 // of scale and shift
  std::vector<std::int64_t> affine;  // their shape
  std::vector<std::int64_t> affine_border;
  bool scale = true, shift = true, statistics = false;
  double eps = 0;

  Dtype wide() const { return te::accumulator_of(dtype); }
  // Reads an element in the type that is computed in.
  std::string read(const std::string& name, const std::string& at) const {
    return te::is_narrow(dtype) ? fmt::format("{}({}[{}])", name_of(wide()), name, at)
                                : fmt::format("{}[{}]", name, at);
  }
  // Writes " * scale[i1] + shift[i1]", or what of it there is.
  std::string tail() const {
    return (scale ? " * " + read("scale", index) : "") +
           (shift ? " + " + read("shift", index) : "");
  }
  std::string declarations() const {
    std::string out = typed(shaped("X", texts.shape(), border), dtype) + "\n";
    for (const auto& [name, there] : {std::pair("scale", scale), std::pair("shift", shift)})
      if (there) out += "const " + typed(shaped(name, affine, affine_border), dtype) + "\n";
    return out;
  }
  // Declares the output where its type or its border does not follow.
  std::string output() const {
    if (border.empty() && !te::is_narrow(dtype) && !statistics) return "";
    return "output " + typed(shaped("Y", texts.shape(), border), dtype) + "\n";
  }
  std::string statistic(const std::string& name) const {
    return te::is_narrow(dtype) ? typed(shaped(name, texts.kept_shape()), wide()) + "\n" : "";
  }
  // Of mean and reciprocal deviation, where these are outputs, too; `first`: the row's element from
  // which M counts.
  std::string statistics_stages(const std::string& first) const {
    if (!statistics) return "";
    std::string out;
    for (const auto& [name, value] :
         {std::pair("mean", fmt::format("M[{}] + {}", texts.kept(), first)),
          std::pair("deviation", fmt::format("rsqrt(V[{}] + {})", texts.kept(), eps))})
      out += "output " + typed(shaped(name, texts.kept_shape()), wide()) +
             fmt::format("\n{}[{}] = {}\n", name, texts.kept_iters(), value);
    return out;
  }
};

Result<Norm> norm_of(const Values& values, const std::vector<std::int64_t>& shape,
                     const std::vector<std::size_t>& over) {
  const Dtype dtype = LATHE_TRY(float_of(values));
  Norm out{dtype, IndexTexts(shape, over), {}, "", {}, {}};
  out.index = out.texts.along();
  out.affine = out.texts.along_shape();
  out.eps = values.real("eps");
  if (!(out.eps >= 0)) return Values::error("eps", "0 or more is needed, not {}", out.eps);
  out.scale = !values.flag("no-scale");
  out.shift = values.has("no-shift") && !values.flag("no-shift");
  return out;
}

// Of mean and variance: layer_norm and group_norm. All is counted from the first element of the
// row: rows of one value become 0 in any order of the sums, and where the mean is large beside the
// deviation, the digits are kept that tell the elements apart.
Result<std::vector<Algorithm>> centred(const char* name, const Norm& norm) {
  const IndexTexts& a = norm.texts;
  const std::string over = a.over(), kept = a.kept(), first = norm.read("X", a.first()),
                    term = fmt::format("({} - {})", norm.read("X", a.term()), first),
                    whole = fmt::format("({} - {})", norm.read("X", a.whole()), first);
  return direct(parsed(
      name, norm.declarations() + norm.output() + norm.statistic("M") + norm.statistic("V") +
                fmt::format("M[{}] = (sum({}) {}) / {}\n", a.kept_iters(), over, term, a.terms()) +
                fmt::format("V[{0}] = (sum({1}) ({2} - M[{3}]) * ({2} - M[{3}])) / {4}\n",
                            a.kept_iters(), over, term, kept, a.terms()) +
                fmt::format("Y[{}] = ({} - M[{}]) * rsqrt(V[{}] + {}){}\n", a.whole(), whole, kept,
                            kept, norm.eps, norm.tail()) +
                norm.statistics_stages(first)));
}

Result<std::vector<Algorithm>> build_layer_norm(const Values& values) {
  const auto& shape = values.numbers("input");
  Norm norm = LATHE_TRY(norm_of(values, shape, LATHE_TRY(values.axes("axes", shape))));
  norm.statistics = values.flag("statistics");
  return centred("layer_norm", norm);
}

Result<std::vector<Algorithm>> build_rms_norm(const Values& values) {
  const auto& shape = values.numbers("input");
  const Norm norm = LATHE_TRY(norm_of(values, shape, LATHE_TRY(values.axes("axes", shape))));
  const IndexTexts& a = norm.texts;
  return direct(parsed("rms_norm",
                       norm.declarations() + norm.output() +
                           fmt::format("Y[{0}] = X[{0}] * rsqrt((sum({1}) X[{2}] * X[{2}]) / {3} + "
                                       "{4}){5}\n",
                                       a.whole(), a.over(), a.term(), a.terms(), norm.eps,
                                       norm.scale ? fmt::format(" * scale[{}]", norm.index) : "")));
}

Result<std::vector<Algorithm>> build_group_norm(const Values& values) {
  const auto& input = values.numbers("input");
  const std::int64_t groups = LATHE_TRY(values.size("groups"));
  if (input.size() < 2)
    return Values::error("input", "2 dimensions or more are needed, [{}] has {}",
                         fmt::join(input, ","), input.size());
  if (input[1] % groups != 0)
    return Values::error("groups", "the {} channels do not divide into {} groups", input[1],
                         groups);
  std::vector<std::int64_t> shape = {input[0], groups, input[1] / groups};
  shape.insert(shape.end(), input.begin() + 2, input.end());
  std::vector<std::size_t> over;
  for (std::size_t d = 2; d < shape.size(); ++d) over.push_back(d);
  Norm norm = LATHE_TRY(norm_of(values, shape, over));
  norm.border = input;
  norm.index = "i1,i2";
  norm.affine = {shape[1], shape[2]};
  norm.affine_border = {input[1]};
  return centred("group_norm", norm);
}

// The factor of a channel is a stage of its own: a square root a channel, not one an element. No
// variance is negative but those at random with which programs are checked, so it takes abs.
Result<std::vector<Algorithm>> build_batch_norm(const Values& values) {
  const auto& shape = values.numbers("input");
  const auto axis = LATHE_TRY(values.axes("axis", shape));
  if (axis.size() != 1)
    return Values::error("axis", "the dimension of the channels is needed, {} are given",
                         axis.size());
  const Norm norm = LATHE_TRY(norm_of(values, shape, axis));
  const std::string at = norm.index, channels = fmt::format("{}:{}", at, norm.affine[0]);
  std::string text = norm.declarations();
  for (const char* name : {"mean", "variance"})
    text += "const " + typed(shaped(name, norm.affine), norm.dtype) + "\n";
  text += norm.output();
  text += fmt::format("factor[{}] = rsqrt(abs({}) + {}){}\n", channels, norm.read("variance", at),
                      norm.eps, norm.scale ? " * " + norm.read("scale", at) : "");
  std::string value =
      fmt::format("({} - {}) * factor[{}]{}", norm.read("X", norm.texts.whole()),
                  norm.read("mean", at), at, norm.shift ? " + " + norm.read("shift", at) : "");
  if (values.flag("relu")) value = "relu(" + value + ")";
  text += fmt::format("Y[{}] = {}\n", norm.texts.whole(), value);
  return direct(parsed("batch_norm", text));
}

Parameter input_parameter(const char* help) { return {Kind::kDims, "input", "", help}; }
Parameter eps_parameter(const char* fallback, const char* what) {
  return {Kind::kReal, "eps", fallback, std::string("added to the ") + what};
}
Parameter no_scale() { return {Kind::kFlag, "no-scale", "false", "without the constant factors"}; }
Parameter no_shift() { return {Kind::kFlag, "no-shift", "false", "without the constant summands"}; }
Parameter axes_parameter() {
  return {Kind::kAxes, "axes", "-1", "dimensions that make a row: 0 is the first, -1 the last"};
}

}  // namespace

Operator layer_norm() {
  return {"layer_norm",
          "rows of X with mean 0 and variance 1, times scale plus shift, which are constant",
          {input_parameter("shape of the input"),
           axes_parameter(),
           eps_parameter("1e-5", "variance"),
           no_scale(),
           no_shift(),
           {Kind::kFlag, "statistics", "false",
            "with further outputs: the mean of each row and 1 over its deviation"},
           float_parameter()},
          build_layer_norm};
}

Operator rms_norm() {
  return {"rms_norm",
          "rows of X with root mean square 1, times scale, which is constant",
          {input_parameter("shape of the input"), axes_parameter(),
           eps_parameter("1e-6", "mean square"), no_scale(), float_parameter()},
          build_rms_norm};
}

Operator batch_norm() {
  return {"batch_norm",
          "(X - mean) / sqrt(variance) * scale + shift, all constant and one for each channel",
          {input_parameter("shape of the input, n,c,h,w or any other"),
           {Kind::kAxes, "axis", "1", "the dimension of the channels"},
           eps_parameter("1e-5", "variance"),
           no_scale(),
           no_shift(),
           {Kind::kFlag, "relu", "false", "what is below 0 becomes 0"},
           float_parameter()},
          build_batch_norm};
}

Operator group_norm() {
  return {"group_norm",
          "groups of channels of X[n,c,...] with mean 0 and variance 1, times scale plus shift",
          {input_parameter("shape of the input: n,c,h,w or any that begins with n,c"),
           {Kind::kInt, "groups", "", "the channels are in that many groups"},
           eps_parameter("1e-5", "variance"),
           no_scale(),
           no_shift(),
           float_parameter()},
          build_group_norm};
}

}  // namespace lathe::ops
