// ONNX's own tests of its operators, from the files of Debian's libonnx-testdata: each model is
// imported, its expressions are evaluated, and the results are compared with the files'. What is
// not supported stands in a list; what stands there and passes is an error.
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "base/file.h"
#include "graph/import/import.h"
#include "support/graph_run.h"

namespace lathe::graph {
namespace {

namespace fs = std::filesystem;

// LATHE_ONNX_TESTS names another folder of the same form, whose tests must all pass.
fs::path folder_of_tests() {
  const char* other = std::getenv("LATHE_ONNX_TESTS");
  return other ? other : "/usr/share/libonnx-testdata/data/node";
}

std::set<std::string> listed() {
  std::ifstream file(LATHE_UNSUPPORTED_NODES);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) EXPECT_TRUE(names.insert(word).second) << word;
  }
  return names;
}

std::vector<double> numbers(const onnx::Tensor& tensor) {
  return numbers_of({"", *onnx::dtype_of(tensor.type), tensor.shape, tensor.data, {}});
}

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

// `slack`: how far a whole number may be off, where roundings decide it.
std::string difference(const onnx::Tensor& want, const Value& value, const std::vector<double>& got,
                       double slack) {
  const auto dtype = onnx::dtype_of(want.type);
  if (dtype != value.dtype || want.shape != value.shape)
    return fmt::format("the output is {} and not {}", typed(value.dtype, value.shape),
                       typed(dtype.value_or(Dtype::kBool), want.shape));
  const std::vector<double> wanted = numbers(want);
  double largest = 0;
  for (const double x : wanted)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (std::size_t e = 0; e < wanted.size(); ++e) {
    if (wanted[e] == got[e] || (std::isnan(wanted[e]) && std::isnan(got[e]))) continue;
    if (!(std::abs(wanted[e] - got[e]) <=
          tolerance(*dtype) * (std::abs(wanted[e]) + largest) / 2 + (is_float(*dtype) ? 0 : slack)))
      return fmt::format("element {} is {} and not {}", e, got[e], wanted[e]);
  }
  return "";
}

struct Case {
  onnx::Model model;
  std::vector<onnx::Tensor> inputs, outputs;
};

Result<std::vector<onnx::Tensor>> tensors(const fs::path& folder, const std::string& kind) {
  std::vector<onnx::Tensor> all;
  for (int k = 0; fs::exists(folder / fmt::format("{}_{}.pb", kind, k)); ++k)
    all.push_back(LATHE_TRY(onnx::parse_tensor(
        LATHE_TRY(read_file((folder / fmt::format("{}_{}.pb", kind, k)).string())))));
  return all;
}

Result<Case> read_case(const fs::path& folder) {
  Case out{LATHE_TRY(onnx::read_model((folder / "model.onnx").string()))};
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

// Why it is not supported; shapes and the like are inputs in these files, and may have to be known.
Result<Imported> imported(const Case& files) {
  Result<Imported> open = import(files.model);
  if (open && open->unsupported.empty()) return open;
  ImportOptions options;
  for (std::size_t i = 1; i < files.inputs.size(); ++i)
    options.constants[files.model.inputs[i].name] = files.inputs[i];
  Result<Imported> bound = import(files.model, options);
  if (bound && bound->unsupported.empty()) return bound;
  if (!files.inputs.empty()) options.constants[files.model.inputs[0].name] = files.inputs[0];
  return import(files.model, options);
}

// Empty: it passes.
std::string problem(const fs::path& folder) {
  const auto files = read_case(folder);
  if (!files) return files.error().text();
  const auto model = imported(*files);
  if (!model) return model.error().text();
  if (!model->unsupported.empty()) return print(model->unsupported);
  std::map<std::string, std::vector<double>> inputs;
  for (std::size_t i = 0; i < files->inputs.size(); ++i)
    if (onnx::dtype_of(files->inputs[i].type))
      inputs[files->model.inputs[i].name] = numbers(files->inputs[i]);
  const auto got = test::run(model->graph, inputs);
  if (!got) return "it takes too long to evaluate";
  for (std::size_t o = 0; o < got->size(); ++o) {
    const std::string text =
        difference(files->outputs[o], model->graph.value(model->graph.outputs[o]), (*got)[o],
                   folder.string().find("quantizelinear") == std::string::npos ? 0 : 1);
    if (!text.empty()) return "WRONG: " + text;
  }
  return "";
}

TEST(OnnxNodes, AreRightOrListed) {
  const fs::path folder = folder_of_tests();
  if (!fs::exists(folder)) GTEST_SKIP() << "libonnx-testdata is not installed";
  const std::set<std::string> unsupported = listed();
  std::set<std::string> seen;
  int passed = 0, all = 0;
  const char* report = std::getenv("LATHE_NODES_REPORT");  // prints why each is not supported
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string().substr(5);
    const std::string text = problem(entry.path());
    seen.insert(name);
    ++all;
    passed += text.empty() ? 1 : 0;
    if (report) fmt::print("{}\t{}\n", name, text);
    EXPECT_EQ(text.find("WRONG"), std::string::npos) << name << ": " << text;
    if (unsupported.contains(name)) EXPECT_FALSE(text.empty()) << name << " passes: unlist it";
    else EXPECT_EQ(text, "") << name;
  }
  for (const auto& name : unsupported)
    EXPECT_TRUE(seen.contains(name) || all != 932) << name << " is no test";
  fmt::print("{} of {} node tests pass\n", passed, all);
}

}  // namespace
}  // namespace lathe::graph
