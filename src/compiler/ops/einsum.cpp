#include "compiler/ops/einsum.h"

#include <algorithm>
#include <cctype>

#include "base/split.h"
#include "compiler/ops/text.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

struct Contraction {
  std::vector<std::string> operands;  // "abc"
  std::string output, summed;
};

Status check_letters(const std::string& text, const char* what) {
  if (text.empty()) return Values::error("subscripts", "{} has no letters", what);
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)) == 0)
      return Values::error("subscripts",
                           "'{}' is no letter; write the letters of each operand, as in "
                           "ac,abc->cb",
                           c);
  return {};
}

// What NumPy takes where no output is written: the letters that are there once, in their order.
std::string implied_output(const std::string& inputs) {
  std::string out;
  for (const char c : inputs)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && std::ranges::count(inputs, c) == 1)
      out += c;
  std::ranges::sort(out);
  return out;
}

Result<Contraction> contraction_of(std::string text) {
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  Contraction out;
  out.operands = split(inputs, ',');
  for (const std::string& operand : out.operands)
    LATHE_TRY_STATUS(check_letters(operand, "an operand"));
  out.output = arrow == std::string::npos ? implied_output(inputs) : text.substr(arrow + 2);
  if (!out.output.empty()) LATHE_TRY_STATUS(check_letters(out.output, "the output"));
  for (const char c : out.output) {
    if (inputs.find(c) == std::string::npos)
      return Values::error("subscripts",
                           "the output has '{}', but no operand has; leave it out there, or add "
                           "it to an operand",
                           c);
    if (std::ranges::count(out.output, c) > 1)
      return Values::error("subscripts", "the output has '{}' twice; once is possible", c);
  }
  for (const char c : inputs)
    if (c != ',' && out.output.find(c) == std::string::npos &&
        out.summed.find(c) == std::string::npos)
      out.summed += c;
  return out;
}

// The size of each letter, of "a=32,b=16".
Result<std::map<char, std::int64_t>> sizes_of(const std::string& text,
                                              const Contraction& contraction) {
  std::map<char, std::int64_t> out;
  const std::string known = contraction.output + contraction.summed;
  for (const std::string& part : split(text, ',')) {
    if (part.size() < 3 || part[1] != '=')
      return Values::error("sizes", "'{}' is no size of a letter; write for example {}", part,
                           fmt::format("{}=32", known.front()));
    auto size = parse_integer(part.substr(2), 1);
    if (!size) return Values::error("sizes", "{}", size.error().message);
    if (known.find(part[0]) == std::string::npos)
      return Values::error("sizes", "no operand has the letter '{}'", part[0]);
    if (!out.emplace(part[0], *size).second)
      return Values::error("sizes", "'{}' is there twice", part[0]);
  }
  for (const char c : known)
    if (!out.contains(c))
      return Values::error("sizes", "the size of '{}' is needed; add {}=SIZE", c, c);
  return out;
}

std::string listed(const std::string& letters) {
  return fmt::format("{}", fmt::join(std::vector<char>(letters.begin(), letters.end()), ","));
}

Result<std::vector<Algorithm>> build_einsum(const Values& values) {
  const Dtype dtype = LATHE_TRY(dtype_of(values));
  if (values.text("subscripts").empty())
    return Values::error("subscripts", "einsum needs it, as in ac,abc->cb");
  const Contraction c = LATHE_TRY(contraction_of(values.text("subscripts")));
  const auto sizes = LATHE_TRY(sizes_of(values.text("sizes"), c));
  std::string text;
  std::vector<std::string> factors, iters;
  for (const std::string& operand : c.operands) {
    std::vector<std::int64_t> shape;
    for (const char letter : operand) shape.push_back(sizes.at(letter));
    const std::string name = fmt::format("in{}", factors.size() + 1);
    text += typed(shaped(name, shape), dtype) + "\n";
    factors.push_back(fmt::format("{}[{}]", name, listed(operand)));
  }
  for (const char letter : c.output)
    iters.push_back(fmt::format("{}:{}", letter, sizes.at(letter)));
  std::vector<std::string> over;
  for (const char letter : c.summed) over.push_back(fmt::format("{}:{}", letter, sizes.at(letter)));
  text += fmt::format(
      "out[{}] = {}{}\n", iters.empty() ? "one:1" : fmt::to_string(fmt::join(iters, ",")),
      over.empty() ? "" : fmt::format("sum({}) ", fmt::join(over, ",")), fmt::join(factors, " * "));
  return direct(parsed("einsum", text));
}

}  // namespace

Operator einsum() {
  return {"einsum",
          "products of operands, summed up over the letters that the output does not have",
          {{Kind::kText, "subscripts", "",
            "the letters of each operand and of the output, ac,abc->cb; needed"},
           {Kind::kText, "sizes", "", "the size of each letter, a=32,b=16,c=64; needed"},
           dtype_parameter()},
          build_einsum};
}

}  // namespace lathe::ops
