// Any bytes either are a model whose graph keeps the graph's rules and can be printed, or they are
// refused with a sentence, or what of it is not supported is listed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/import/import.h"
#include "graph/ir/print.h"

using namespace lathe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model =
      onnx::parse_model(std::string_view(reinterpret_cast<const char*>(data), size), "");
  if (!model) {
    LATHE_CHECK(!model.error().message.empty());
    return 0;
  }
  graph::ImportOptions options;
  for (const auto& info : model->inputs)
    for (const auto& dim : info.shape.value_or(std::vector<onnx::Dim>()))
      if (!dim.size && !dim.name.empty()) options.shapes[dim.name] = {2};
  const auto imported = graph::import(*model, options);
  if (!imported) {
    LATHE_CHECK(!imported.error().message.empty());
  } else if (!imported->unsupported.empty()) {
    LATHE_CHECK(!graph::print(imported->unsupported).empty());
  } else {
    LATHE_CHECK(graph::verify(imported->graph).has_value());
    LATHE_CHECK(!graph::summary(imported->graph).empty());
    (void)graph::print(imported->graph);
  }
  return 0;
}
