#include "support/onnx_cases.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace lathe::test {
namespace {

namespace fs = std::filesystem;

// Results of the files are computed in f32 and by other formulas.
double tolerance(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16: return 2e-3;
    case Dtype::kBF16: return 2e-2;
    case Dtype::kF32: return 2e-4;
    case Dtype::kF64: return 1e-7;
    default: return 0;
  }
}

// The files have the bits of bf16 as uint16.
onnx::Tensor typed_as(onnx::Tensor tensor, const onnx::ValueInfo& info) {
  if (onnx::dtype_of(info.type) == Dtype::kBF16) tensor.type = info.type;
  return tensor;
}

Result<std::vector<onnx::Tensor>> tensors(const fs::path& folder, const std::string& kind) {
  std::vector<onnx::Tensor> all;
  for (int k = 0; fs::exists(folder / fmt::format("{}_{}.pb", kind, k)); ++k)
    all.push_back(LATHE_TRY(onnx::parse_tensor(
        LATHE_TRY(read_file((folder / fmt::format("{}_{}.pb", kind, k)).string())))));
  return all;
}

using Compute = std::function<std::string(const OnnxCase&, const graph::Graph&)>;

// Empty: it passes.
std::string problem(const fs::path& folder, const Compute& compute) {
  const auto files = read_case(folder);
  if (!files) return files.error().text();
  const auto model = imported(*files);
  if (!model) return model.error().text();
  if (!model->unsupported.empty()) return graph::print(model->unsupported);
  return compute(*files, model->graph);
}

}  // namespace

fs::path onnx_folder() {
  const char* other = std::getenv("LATHE_ONNX_TESTS");
  return other ? other : "/usr/share/libonnx-testdata/data/node";
}

std::set<std::string> listed_cases(const std::string& file) {
  std::ifstream lines(file);
  EXPECT_TRUE(lines) << file;
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) EXPECT_TRUE(names.insert(word).second) << word;
  }
  return names;
}

std::vector<double> numbers_of(const onnx::Tensor& tensor) {
  return graph::numbers_of({"", *onnx::dtype_of(tensor.type), tensor.shape, tensor.data, {}});
}

const onnx::Tensor* OnnxCase::input(const std::string& named) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (model.inputs[i].name == named) return &inputs[i];
  return nullptr;
}

std::string OnnxCase::difference(std::size_t output, const graph::Value& value,
                                 const std::vector<double>& got) const {
  const onnx::Tensor& want = outputs[output];
  const auto dtype = onnx::dtype_of(want.type);
  if (dtype != value.dtype || want.shape != value.shape)
    return fmt::format("the output is {} and not {}", graph::typed(value.dtype, value.shape),
                       graph::typed(dtype.value_or(Dtype::kBool), want.shape));
  // How far a whole number may be off, where roundings decide it.
  const double slack = is_float(*dtype) || name.find("quantizelinear") == std::string::npos ? 0 : 1;
  const std::vector<double> wanted = numbers_of(want);
  double largest = 0;
  for (const double x : wanted)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (got.size() != wanted.size()) return fmt::format("it has {} elements", got.size());
  for (std::size_t e = 0; e < wanted.size(); ++e) {
    if (wanted[e] == got[e] || (std::isnan(wanted[e]) && std::isnan(got[e]))) continue;
    if (!(std::abs(wanted[e] - got[e]) <=
          tolerance(*dtype) * (std::abs(wanted[e]) + largest) / 2 + slack))
      return fmt::format("element {} of output {} is {} and not {}", e, output, got[e], wanted[e]);
  }
  return "";
}

Result<OnnxCase> read_case(const fs::path& folder) {
  OnnxCase out{folder.filename().string().substr(5),
               LATHE_TRY(onnx::read_model((folder / "model.onnx").string())),
               {},
               {}};
  out.inputs = LATHE_TRY(tensors(folder / "test_data_set_0", "input"));
  out.outputs = LATHE_TRY(tensors(folder / "test_data_set_0", "output"));
  if (out.inputs.size() != out.model.inputs.size() ||
      out.outputs.size() != out.model.outputs.size())
    return fail(ErrorKind::kUnsupported, "it has optional inputs");
  for (std::size_t i = 0; i < out.inputs.size(); ++i)
    out.inputs[i] = typed_as(std::move(out.inputs[i]), out.model.inputs[i]);
  for (std::size_t o = 0; o < out.outputs.size(); ++o)
    out.outputs[o] = typed_as(std::move(out.outputs[o]), out.model.outputs[o]);
  return out;
}

Result<graph::Imported> imported(const OnnxCase& files) {
  Result<graph::Imported> open = graph::import(files.model);
  if (open && open->unsupported.empty()) return open;
  graph::ImportOptions options;
  for (std::size_t i = 1; i < files.inputs.size(); ++i)
    options.constants[files.model.inputs[i].name] = files.inputs[i];
  Result<graph::Imported> bound = graph::import(files.model, options);
  if (bound && bound->unsupported.empty()) return bound;
  if (!files.inputs.empty()) options.constants[files.model.inputs[0].name] = files.inputs[0];
  return graph::import(files.model, options);
}

void check_cases(const std::string& list, const Compute& compute) {
  const std::set<std::string> unsupported = listed_cases(list);
  std::set<std::string> seen;
  int passed = 0, all = 0;
  const bool report = std::getenv("LATHE_NODES_REPORT") != nullptr;
  for (const auto& entry : fs::directory_iterator(onnx_folder())) {
    const std::string name = entry.path().filename().string().substr(5);
    const std::string text = problem(entry.path(), compute);
    seen.insert(name);
    ++all;
    passed += text.empty() ? 1 : 0;
    if (report) fmt::print("{}\t{}\n", name, text);
    EXPECT_EQ(text.find("WRONG"), std::string::npos) << name << ": " << text;
    if (unsupported.contains(name)) EXPECT_FALSE(text.empty()) << name << " passes: unlist it";
    else EXPECT_EQ(text, "") << name;
  }
  for (const auto& name : unsupported)
    EXPECT_TRUE(seen.contains(name) || all != kOnnxCases) << name << " is no test";
  fmt::print("{} of {} node tests pass\n", passed, all);
}

}  // namespace lathe::test
