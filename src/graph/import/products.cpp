// Products of matrices.
#include <algorithm>

#include <fmt/ranges.h>

#include "base/split.h"
#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

ops::Arguments product(const Site& site, const Sizes& sizes) {
  return {{"m", std::to_string(sizes.m)},
          {"n", std::to_string(sizes.n)},
          {"k", std::to_string(sizes.k)},
          {"dtype", std::string(name_of(site.dtype(0)))}};
}

Status check_product_types(const Site& site) {
  for (std::size_t i = 0; i < site.inputs(); ++i)
    if (site.has(i) && site.dtype(i) != site.dtype(0))
      return site.wrong("its inputs '{}' and '{}' are {} and {}", site.at(0).name, site.at(i).name,
                        name_of(site.dtype(0)), name_of(site.dtype(i)));
  const Dtype dtype = site.dtype(0);
  if (!is_float(dtype) && dtype != Dtype::kI32 && dtype != Dtype::kU32 && dtype != Dtype::kI64)
    return site.unsupported("its inputs are {}", name_of(dtype));
  return {};
}

// A * B, scaled, with a scaled C of any shape that fits.
Made scaled_gemm(Site& site, const Sizes& sizes, bool ta, bool tb, double alpha, double beta) {
  const Shape shape{sizes.m, sizes.n};
  std::string text = declared("A", site.dtype(0), site.shape(0)) + "\n" +
                     declared("B", site.dtype(1), site.shape(1)) + "\n";
  std::vector<int> ids{site.input(0), site.input(1)};
  std::string value =
      fmt::format("(sum(k) {} * {})", ta ? "A[k,i0]" : "A[i0,k]", tb ? "B[i1,k]" : "B[k,i1]");
  if (alpha != 1) value = fmt::format("{} * {}", number_text(alpha), value);
  if (site.has(2) && beta != 0) {
    text += declared("C", site.dtype(2), site.shape(2)) + "\n";
    ids.push_back(site.input(2));
    value += fmt::format(" + {}C[{}]", beta == 1 ? "" : number_text(beta) + " * ",
                         read_indices(site.shape(2), shape));
  }
  return site.write(fmt::format("{}output {}\nY[{}] = {}\n", text,
                                declared("Y", site.dtype(0), shape), iterators(shape), value),
                    ids);
}

Made gemm(Site& site) {
  LATHE_TRY_STATUS(check_product_types(site));
  const Shape &a = site.shape(0), &b = site.shape(1);
  const bool ta = LATHE_TRY(site.integer("transA", 0)) != 0,
             tb = LATHE_TRY(site.integer("transB", 0)) != 0;
  if (a.size() != 2 || b.size() != 2 || a[ta ? 0 : 1] != b[tb ? 1 : 0])
    return site.wrong("its inputs are {} and {}, which have no product{}", typed(site.dtype(0), a),
                      typed(site.dtype(1), b), ta || tb ? " as they are transposed" : "");
  const Sizes sizes{a[ta ? 1 : 0], b[tb ? 0 : 1], a[ta ? 0 : 1]};
  const double alpha = LATHE_TRY(site.real("alpha", 1)), beta = LATHE_TRY(site.real("beta", 1));
  if (site.has(2)) {
    const Shape& c = site.shape(2);
    bool fits = c.size() <= 2;
    for (std::size_t d = 0; fits && d < c.size(); ++d)
      fits = c[d] == 1 || c[d] == (2 - c.size() + d == 0 ? sizes.m : sizes.n);
    if (!fits)
      return site.wrong("its input C is {}, and the product [{},{}]", typed(site.dtype(2), c),
                        sizes.m, sizes.n);
  }
  const bool bias = site.has(2) && beta == 1 && site.at(2).elements() == sizes.n &&
                    (site.shape(2).empty() || site.shape(2).back() == sizes.n);
  if (alpha != 1 || (site.has(2) && !bias)) return scaled_gemm(site, sizes, ta, tb, alpha, beta);
  ops::Arguments arguments = product(site, sizes);
  if (ta) arguments["trans-a"] = "true";
  if (tb) arguments["trans-b"] = "true";
  std::vector<int> ids{site.input(0), site.input(1)};
  if (bias) {
    arguments["epilogue"] = "bias";
    ids.push_back(site.input(2));
  }
  return site.call("matmul", arguments, ids);
}

// Matrices at the end of any dimensions, which fit together by NumPy's rules.
Made broadcast_matmul(Site& site, const Shape& a, const Shape& b, const Shape& shape,
                      const Shape& result) {
  const std::size_t rank = shape.size();
  const auto read = [&](const char* name, Shape matrix, std::size_t row_or_column) {
    const std::size_t at = matrix.size() - 1 - row_or_column;
    const std::int64_t size = matrix[at];
    matrix[at] = 1;  // so that only the others follow the output
    std::vector<std::string> indices;
    for (std::size_t d = 0; d < matrix.size(); ++d)
      indices.push_back(d == at          ? fmt::format("k:{}", size)
                        : matrix[d] == 1 ? "0"
                                         : fmt::format("i{}", rank - matrix.size() + d));
    indices[at] = "k";
    return fmt::format("{}[{}]", name, fmt::join(indices, ","));
  };
  return site.write(
      fmt::format("{}\n{}\noutput {}\nY[{}] = sum(k) {} * {}\n", declared("A", site.dtype(0), a),
                  declared("B", site.dtype(1), b), declared("Y", site.dtype(0), shape),
                  iterators(shape), read("A", a, 0), read("B", b, 1)),
      {site.input(0), site.input(1)}, result);
}

// An equation by its parts, and the values that they are for.
struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> output;
  std::vector<int> ids;

  std::string text() const {
    const std::string left = fmt::format("{}", fmt::join(operands, ","));
    return output ? left + "->" + *output : left;
  }
};

Result<Equation> equation_of(const Site& site) {
  std::string text = LATHE_TRY(site.text("equation", ""));
  std::erase(text, ' ');
  Equation out;
  const std::size_t arrow = text.find("->");
  if (arrow != std::string::npos) out.output = text.substr(arrow + 2);
  out.operands = lathe::split(text.substr(0, arrow), ',');
  if (out.operands.size() != site.inputs())
    return site.wrong("its equation '{}' has {} operands, and it has {} inputs", text,
                      out.operands.size(), site.inputs());
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    if (!site.has(i)) return site.wrong("its input {} is left out", i);
    if (site.dtype(i) != site.dtype(0)) return site.wrong("its inputs have several types");
    out.ids.push_back(site.input(i));
  }
  return out;
}

// The dimensions of the ellipses of an equation, counted from the last one: letters of their own,
// and their sizes.
struct Ellipsis {
  std::string letters;
  std::vector<std::int64_t> sizes;

  std::string first(std::size_t count) const {
    return {letters.rend() - static_cast<std::ptrdiff_t>(count), letters.rend()};
  }
};
constexpr std::string_view kDots = "...";

// How many dimensions of an operand its ellipsis is for.
std::int64_t covered(const std::string& operand, const Shape& shape) {
  return operand.find(kDots) == std::string::npos ? 0 : std::ssize(shape) - std::ssize(operand) + 3;
}

Result<Ellipsis> ellipsis_of(const Site& site, const Equation& equation) {
  const std::string all = equation.text();
  Ellipsis out;
  for (char letter = 'A'; letter <= 'Z'; ++letter)
    if (all.find(letter) == std::string::npos) out.letters += letter;
  for (std::size_t i = 0; i < equation.ids.size(); ++i) {
    const Shape& shape = site.value(equation.ids[i]).shape;
    const std::int64_t count = covered(equation.operands[i], shape);
    if (count < 0 || count > std::ssize(out.letters))
      return site.wrong("its equation '{}' does not fit an input of {} dimensions", all,
                        shape.size());
    const auto end = static_cast<std::int64_t>(equation.operands[i].find(kDots)) + count;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t size = shape[static_cast<std::size_t>(end - 1 - n)];
      if (n == std::ssize(out.sizes)) out.sizes.push_back(1);
      std::int64_t& known = out.sizes[static_cast<std::size_t>(n)];
      if (size != 1 && known != 1 && size != known)
        return site.wrong("its equation '{}' has dimensions of {} and {} elements for one", all,
                          known, size);
      known = std::max(known, size);
    }
  }
  return out;
}

// Where an operand has one element along a dimension of the ellipsis and others have more, it is
// seen without it.
void spell_operand(Site& site, const Ellipsis& ellipsis, std::string& operand, int& id) {
  Shape shape = site.value(id).shape;
  const std::size_t dots = operand.find(kDots);
  if (dots == std::string::npos) return;
  operand.replace(dots, kDots.size(),
                  ellipsis.first(static_cast<std::size_t>(covered(operand, shape))));
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::size_t n = ellipsis.letters.find(operand[d]);
    if (n == std::string::npos || shape[d] == ellipsis.sizes[n]) continue;
    operand.erase(d, 1);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  }
  id = site.view(id, shape);
}

Status spell_ellipses(Site& site, Equation& equation) {
  const std::string all = equation.text();
  if (all.find('.') == std::string::npos) return {};
  const Ellipsis ellipsis = LATHE_TRY(ellipsis_of(site, equation));
  for (std::size_t i = 0; i < equation.ids.size(); ++i)
    spell_operand(site, ellipsis, equation.operands[i], equation.ids[i]);
  if (!equation.output) {
    // NumPy's order: those of the ellipsis, then the letters that are there once.
    equation.output = std::string(kDots);
    for (char letter = 'A'; letter <= 'z'; ++letter)
      if (std::ranges::count(all, letter) == 1) *equation.output += letter;
  }
  if (const std::size_t dots = equation.output->find(kDots); dots != std::string::npos)
    equation.output->replace(dots, kDots.size(), ellipsis.first(ellipsis.sizes.size()));
  return {};
}

Made einsum(Site& site) {
  Equation equation = LATHE_TRY(equation_of(site));
  LATHE_TRY_STATUS(spell_ellipses(site, equation));
  std::vector<std::string> sizes;
  std::string seen;
  for (std::size_t i = 0; i < equation.ids.size(); ++i) {
    const std::string& letters = equation.operands[i];
    const Shape& shape = site.value(equation.ids[i]).shape;
    if (letters.size() != shape.size() || letters.empty())
      return site.wrong("its equation '{}' has '{}' for an input with {} dimensions",
                        equation.text(), letters, shape.size());
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const std::string size = fmt::format("{}={}", letters[d], shape[d]);
      if (seen.find(letters[d]) == std::string::npos) sizes.push_back(size);
      else if (std::ranges::find(sizes, size) == sizes.end())
        return site.wrong("its equation '{}' gives '{}' two sizes", equation.text(), letters[d]);
      seen += letters[d];
    }
  }
  const bool each_twice =
      std::ranges::all_of(seen, [&](char letter) { return std::ranges::count(seen, letter) > 1; });
  const bool scalar = equation.output ? equation.output->empty() : each_twice;
  // Nothing is left where each letter is there twice.
  if (scalar) equation.output.reset();
  if (scalar && !each_twice) return site.unsupported("its equation has no letter left");
  return site.call("einsum",
                   {{"subscripts", equation.text()},
                    {"sizes", fmt::format("{}", fmt::join(sizes, ","))},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   equation.ids, scalar ? std::optional<Shape>(Shape{}) : std::nullopt);
}

}  // namespace

Made product_of_matrices(Site& site) {
  LATHE_TRY_STATUS(check_product_types(site));
  Shape a = site.shape(0), b = site.shape(1);
  if (a.empty() || b.empty()) return site.wrong("an input has no dimensions");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const Sizes sizes{a[a.size() - 2], b.back(), a.back()};
  const std::string misfit =
      fmt::format("its inputs are {} and {}, which have no product",
                  typed(site.dtype(0), site.shape(0)), typed(site.dtype(1), site.shape(1)));
  if (b[b.size() - 2] != sizes.k) return site.wrong("{}", misfit);
  Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2), shape;
  const std::size_t batches = std::max(batch_a.size(), batch_b.size());
  Shape wide_a = batch_a, wide_b = batch_b;
  wide_a.insert(wide_a.begin(), batches - batch_a.size(), 1);
  wide_b.insert(wide_b.begin(), batches - batch_b.size(), 1);
  for (std::size_t d = 0; d < batches; ++d) {
    if (wide_a[d] != wide_b[d] && wide_a[d] != 1 && wide_b[d] != 1) return site.wrong("{}", misfit);
    shape.push_back(std::max(wide_a[d], wide_b[d]));
  }
  const std::int64_t batch = elements_of(shape);
  shape.push_back(sizes.m);
  shape.push_back(sizes.n);
  Shape result(shape.begin(), shape.end() - 2);
  if (!row) result.push_back(sizes.m);
  if (!column) result.push_back(sizes.n);
  const std::vector<int> ids{site.input(0), site.input(1)};
  // One matrix B for all: the rows of all matrices A are one matrix.
  if (elements_of(batch_b) == 1 && elements_of(batch_a) == batch)
    return site.call("matmul", product(site, {elements_of({batch, sizes.m}), sizes.n, sizes.k}),
                     ids, result);
  if (wide_a == wide_b) {
    ops::Arguments arguments = product(site, sizes);
    arguments["batch"] = std::to_string(batch);
    return site.call("batch_matmul", arguments, ids, result);
  }
  return broadcast_matmul(site, a, b, shape, result);
}

std::vector<Row> product_rows() {
  return {{"Gemm", 7, 2, gemm}, {"MatMul", 1, 2, product_of_matrices}, {"Einsum", 12, 1, einsum}};
}

}  // namespace lathe::graph
