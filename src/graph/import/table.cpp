#include "graph/import/element_wise.h"

namespace lathe::graph {

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> joined;
    for (const auto& family :
         {element_wise_rows, shape_rows, movement_rows, lookup_rows, window_rows, product_rows,
          reduction_rows, norm_rows, resize_rows, quantized_rows, loss_rows, selection_rows,
          recurrent_rows, control_rows, signal_rows, sample_rows}) {
      const std::vector<Row> some = family();
      joined.insert(joined.end(), some.begin(), some.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace lathe::graph
