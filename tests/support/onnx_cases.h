// ONNX's own tests of its operators, as files: models of a node each, inputs, and the results.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "graph/import/import.h"

namespace lathe::test {

// Where Debian's libonnx-testdata has them; LATHE_ONNX_TESTS names another folder of the same form.
std::filesystem::path onnx_folder();
constexpr int kOnnxCases = 932;  // of ONNX 1.12

// The names in a list of those that are not supported; lines with # are remarks.
std::set<std::string> listed_cases(const std::string& file);

struct OnnxCase {
  std::string name;
  onnx::Model model;
  std::vector<onnx::Tensor> inputs, outputs;

  // By the name of the model; nullptr where there is none.
  const onnx::Tensor* input(const std::string& named) const;
  // The first difference between an output and what was computed for it, or nothing.
  std::string difference(std::size_t output, const graph::Value& value,
                         const std::vector<double>& got) const;
};

Result<OnnxCase> read_case(const std::filesystem::path& folder);
// Inputs that say shapes and the like are constants, where the model cannot be read otherwise.
Result<graph::Imported> imported(const OnnxCase& files);

std::vector<double> numbers_of(const onnx::Tensor& tensor);

// Reads and imports each case, and calls `compute` of those that can be: it returns what is wrong,
// or nothing. Expects that those of the list fail, and no others; prints how many passed.
// LATHE_NODES_REPORT in the environment: prints a line for each.
void check_cases(const std::string& list,
                 const std::function<std::string(const OnnxCase&, const graph::Graph&)>& compute);

}  // namespace lathe::test
