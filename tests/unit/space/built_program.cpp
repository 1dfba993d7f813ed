#include "unit/space/built_program.h"

#include <stdexcept>

#include "compiler/lower/lower.h"

namespace lathe::space {

Result<std::vector<interp::Bytes>> run_built(const Space& space, const Config& config,
                                             const Target& target,
                                             const std::vector<interp::Tensor>& inputs,
                                             flat::Program& flat) {
  std::vector<std::int64_t> values;
  space.knob_values(config, values);
  flat = LATHE_TRY(lower::lower(ir::SizedNest(space.sketch(config).nest, values), target));
  const auto module = LATHE_TRY(testing::compile(flat, target));
  std::vector<interp::Bytes> stored;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    stored.push_back(interp::to_storage(flat.inputs[i], inputs[i].values));
  return testing::run_module(*module, flat, stored);
}

Candidate::Candidate(const te::Workload& workload, Rng& rng)
    : inputs_(interp::random_inputs(workload, rng)) {
  const auto evaluated = interp::evaluate(workload, inputs_);
  if (!evaluated) throw std::runtime_error(evaluated.error().text());
  want_ = *evaluated;
}

std::string Candidate::what_is_wrong(const Space& space, const Config& config,
                                     const Target& target) const {
  constexpr double kUnits = 64;
  flat::Program flat;
  const auto got = run_built(space, config, target, inputs_, flat);
  if (!got) return got.error().text();
  for (std::size_t o = 0; o < want_.size(); ++o) {
    const std::string wrong =
        interp::compare(want_[o], interp::from_storage(flat.outputs[o], (*got)[o]), kUnits);
    if (!wrong.empty()) return flat.outputs[o].name + ": " + wrong;
  }
  return "";
}

}  // namespace lathe::space
