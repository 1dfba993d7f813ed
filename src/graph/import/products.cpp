// Products of matrices.
#include <algorithm>

#include <fmt/ranges.h>

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

Made matmul(Site& site) {
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

Made einsum(Site& site) {
  std::string subscripts = LATHE_TRY(site.text("equation", ""));
  std::erase(subscripts, ' ');
  if (subscripts.find('.') != std::string::npos)
    return site.unsupported("its equation '{}' has an ellipsis", subscripts);
  std::vector<int> ids;
  std::vector<std::string> sizes;
  std::string seen;
  std::size_t at = 0;
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    if (!site.has(i)) return site.wrong("its input {} is left out", i);
    if (site.dtype(i) != site.dtype(0)) return site.wrong("its inputs have several types");
    const std::size_t end = std::min(subscripts.find_first_of(",-", at), subscripts.size());
    const std::string letters = subscripts.substr(at, end - at);
    if (letters.size() != site.shape(i).size() || letters.empty())
      return site.wrong("its equation '{}' has '{}' for an input with {} dimensions", subscripts,
                        letters, site.shape(i).size());
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const std::string size = fmt::format("{}={}", letters[d], site.shape(i)[d]);
      if (seen.find(letters[d]) == std::string::npos) sizes.push_back(size);
      else if (std::ranges::find(sizes, size) == sizes.end())
        return site.wrong("its equation '{}' gives '{}' two sizes", subscripts, letters[d]);
      seen += letters[d];
    }
    ids.push_back(site.input(i));
    at = std::min(end + 1, subscripts.size());
  }
  const std::size_t arrow = subscripts.find("->");
  if (arrow != std::string::npos && arrow + 2 == subscripts.size())
    subscripts.erase(arrow);  // nothing is left where each letter is there twice
  const bool scalar = (arrow != std::string::npos && subscripts.size() == arrow) ||
                      (arrow == std::string::npos && std::ranges::all_of(seen, [&](char letter) {
                         return std::ranges::count(seen, letter) > 1;
                       }));
  if (scalar &&
      std::ranges::any_of(seen, [&](char letter) { return std::ranges::count(seen, letter) < 2; }))
    return site.unsupported("its equation has no letter left");
  return site.call("einsum",
                   {{"subscripts", subscripts},
                    {"sizes", fmt::format("{}", fmt::join(sizes, ","))},
                    {"dtype", std::string(name_of(site.dtype(0)))}},
                   ids, scalar ? std::optional<Shape>(Shape{}) : std::nullopt);
}

}  // namespace

std::vector<Row> product_rows() {
  return {{"Gemm", 7, 2, gemm}, {"MatMul", 1, 2, matmul}, {"Einsum", 12, 1, einsum}};
}

}  // namespace lathe::graph
