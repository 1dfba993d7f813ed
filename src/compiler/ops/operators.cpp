#include "compiler/ops/operators.h"

#include <algorithm>

#include "base/known_names.h"
#include "compiler/ops/adaptive_pool.h"
#include "compiler/ops/attention.h"
#include "compiler/ops/cells.h"
#include "compiler/ops/conv.h"
#include "compiler/ops/conv_transpose.h"
#include "compiler/ops/einsum.h"
#include "compiler/ops/gather.h"
#include "compiler/ops/grid_sample.h"
#include "compiler/ops/map.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/one_hot.h"
#include "compiler/ops/pad.h"
#include "compiler/ops/pieces.h"
#include "compiler/ops/pool.h"
#include "compiler/ops/reduce.h"
#include "compiler/ops/resize.h"
#include "compiler/ops/rope.h"
#include "compiler/ops/rows.h"
#include "compiler/ops/scan.h"
#include "compiler/ops/scatter.h"
#include "compiler/ops/sequences.h"
#include "compiler/ops/top_k.h"
#include "compiler/ops/values.h"

namespace lathe::ops {

// A new operator needs its file, and its line here.
std::vector<Operator> operators() {
  return {matmul(),
          dense(),
          batch_matmul(),
          einsum(),
          conv1d(),
          conv2d(),
          conv3d(),
          conv_transpose1d(),
          conv_transpose2d(),
          conv_transpose3d(),
          max_pool1d(),
          max_pool2d(),
          max_pool3d(),
          avg_pool1d(),
          avg_pool2d(),
          avg_pool3d(),
          adaptive_avg_pool2d(),
          adaptive_max_pool2d(),
          global_avg_pool(),
          resize(),
          grid_sample(),
          softmax(),
          log_softmax(),
          logsumexp(),
          layer_norm(),
          rms_norm(),
          batch_norm(),
          group_norm(),
          attention(),
          rope(),
          lstm_cell(),
          gru_cell(),
          lstm(),
          gru(),
          rnn(),
          reduce(),
          argmax(),
          argmin(),
          top_k(),
          cumsum(),
          cumprod(),
          cummax(),
          cummin(),
          transpose(),
          pad(),
          slice(),
          concat(),
          one_hot(),
          gather(),
          gather_elements(),
          gather_nd(),
          embedding(),
          scatter_elements(),
          scatter_nd(),
          map()};
}

Result<Operator> find_operator(std::string_view name) {
  std::vector<std::string> names;
  for (Operator& op : operators()) {
    if (op.name == name) return std::move(op);
    names.push_back(op.name);
  }
  return fail(ErrorKind::kNotFound, "there is no operator '{}'; known are {}", name,
              known_names(names, name));
}

Result<std::vector<Algorithm>> build(std::string_view name, const Arguments& arguments,
                                     te::Numerics level) {
  return build(LATHE_TRY(find_operator(name)), arguments, level);
}

Result<std::vector<Algorithm>> build(const Operator& op, const Arguments& arguments,
                                     te::Numerics level) {
  Values values = LATHE_TRY(Values::check(op, arguments));
  values.set_numerics(level);
  return op.build(values);
}

}  // namespace lathe::ops
