#include "support/check_flat.h"

#include <algorithm>
#include <cmath>

#include "oracle/flat_eval.h"
#include "oracle/te_eval.h"

namespace lathe {

namespace {

void allow(interp::Tensor& want, double max_error) {
  double largest = 0;
  for (const double value : want.values) largest = std::max(largest, std::abs(value));
  for (double& bound : want.bounds) bound = std::max(bound, max_error * largest);
}

}  // namespace

std::string check_flat(const te::Workload& workload, const flat::Program& flat, std::uint64_t seed,
                       double max_error) {
  if (const auto verified = flat::verify(flat); !verified)
    return "not well formed: " + verified.error().text();
  Rng rng(seed);
  const auto inputs = interp::random_inputs(workload, rng);
  auto want = interp::evaluate(workload, inputs);
  if (!want) return "cannot be evaluated: " + want.error().text();
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(flat.inputs[i], inputs[i].values));
  const auto got = interp::eval_flat(flat, stored, {.seed = seed});
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < want->size(); ++o) {
    allow((*want)[o], max_error);
    const std::string wrong =
        interp::compare((*want)[o], interp::from_storage(flat.outputs[o], (*got)[o]));
    if (!wrong.empty()) return flat.outputs[o].name + ": " + wrong;
  }
  return "";
}

}  // namespace lathe
