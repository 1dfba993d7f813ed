#include "compiler/ops/matmul.h"

#include "compiler/ops/epilogue.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;

Parameter size_parameter(const char* name, const char* help) {
  return {Kind::kInt, name, "", help};
}
Parameter flag(const char* name, const std::string& help) {
  return {Kind::kFlag, name, "false", help};
}

Status check_sizes(const Values& values, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (values.integer(name) < 1) return Values::error(name, "at least 1 is needed");
  return {};
}

struct Operand {
  std::string declaration, read;
};

// A matrix of rows x columns, read at [row, column]; a transposed one is stored the other way
// round.
Operand operand(const std::string& name, bool transposed, std::int64_t rows, std::int64_t columns,
                const char* row, const char* column, std::int64_t batch) {
  if (transposed) {
    std::swap(rows, columns);
    std::swap(row, column);
  }
  std::vector<std::int64_t> shape = {rows, columns};
  if (batch > 0) shape.insert(shape.begin(), batch);
  return {shaped(name, shape),
          fmt::format("{}[{}{},{}]", name, batch > 0 ? "b," : "", row, column)};
}

// batch 0 makes plain matrices.
Result<std::vector<Algorithm>> build_product(const Values& values, const char* name,
                                             std::int64_t batch) {
  LATHE_TRY_STATUS(check_sizes(values, {"m", "n", "k"}));
  const std::int64_t m = values.integer("m"), n = values.integer("n"), k = values.integer("k");
  Operand a = operand("A", values.flag("trans-a"), m, k, "i", "k", batch);
  Operand b = operand("B", values.flag("trans-b"), k, n, "k", "j", batch);
  if (values.flag("const-a")) a.declaration = "const " + a.declaration;
  if (values.flag("const-b")) b.declaration = "const " + b.declaration;
  Output output{"C", {"i", "j"}, {m, n}, "j", n};
  if (batch > 0) {
    output.iters.insert(output.iters.begin(), "b");
    output.shape.insert(output.shape.begin(), batch);
  }
  return direct(workload_with_epilogue(values, name, {a.declaration, b.declaration}, output,
                                       fmt::format("sum(k) {} * {}", a.read, b.read)));
}

Result<std::vector<Algorithm>> build_matmul(const Values& values) {
  return build_product(values, "matmul", 0);
}

Result<std::vector<Algorithm>> build_batch_matmul(const Values& values) {
  LATHE_TRY_STATUS(check_sizes(values, {"batch"}));
  return build_product(values, "batch_matmul", values.integer("batch"));
}

Result<std::vector<Algorithm>> build_dense(const Values& values) {
  const auto input = LATHE_TRY(values.dims("input", 2));
  const auto weight = LATHE_TRY(values.dims("weight", 2));
  if (input[1] != weight[1])
    return Values::error("weight", "the input {} has {} features, the weight {} takes {}",
                         shaped("X", input), input[1], shaped("W", weight), weight[1]);
  return direct(workload_with_epilogue(
      values, "dense", {shaped("X", input), "const " + shaped("W", weight)},
      {"Y", {"b", "o"}, {input[0], weight[0]}, "o", weight[0]}, "sum(i) X[b,i] * W[o,i]"));
}

// `batch` stands before the two dimensions of a matrix: "b,".
std::vector<Parameter> product_parameters(const std::string& batch) {
  return {size_parameter("m", "rows of C"),
          size_parameter("n", "columns of C"),
          size_parameter("k", "length of the sums"),
          flag("trans-a", "A is stored transposed: [" + batch + "k,m]"),
          flag("trans-b", "B is stored transposed: [" + batch + "n,k]"),
          flag("const-a", "A is constant: it may be packed beforehand"),
          flag("const-b", "B is constant: it may be packed beforehand"),
          dtype_parameter(),
          epilogue_parameter()};
}

}  // namespace

Operator matmul() {
  return {"matmul", "C[m,n] = A[m,k] * B[k,n]", product_parameters(""), build_matmul};
}

Operator batch_matmul() {
  std::vector<Parameter> parameters = product_parameters("b,");
  parameters.insert(parameters.begin(), size_parameter("batch", "number of products"));
  return {"batch_matmul", "C[b,m,n] = A[b,m,k] * B[b,k,n] for every b", std::move(parameters),
          build_batch_matmul};
}

Operator dense() {
  return {"dense",
          "Y[batch,out] = X[batch,in] * W[out,in] transposed, W constant",
          {{Kind::kDims, "input", "", "shape of the input: batch,in"},
           {Kind::kDims, "weight", "", "shape of the constant weight: out,in"},
           dtype_parameter(),
           epilogue_parameter()},
          build_dense};
}

}  // namespace lathe::ops
