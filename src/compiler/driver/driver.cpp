#include "compiler/driver/driver.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "compiler/lower/lower.h"
#include "compiler/te/algorithms.h"
#include "compiler/te/naive_nest.h"
#include "runtime/tensor/layout.h"

namespace lathe::driver {
Result<const codegen::Backend*> backend_for(const Target& target, Backends backends) {
  for (const codegen::Backend* backend : backends)
    if (backend->accepts(target)) return backend;
  return fail(ErrorKind::kUnsupported, "this build of lathe generates no code for {}",
              target.text());
}

Result<Target> resolve_target(const Target& target, Backends backends) {
  return LATHE_TRY(backend_for(target, backends))->resolve_target(target);
}

namespace {

te::Numerics numerics_of(const schedule::Step& step) {
  const te::Algorithm* algorithm = te::algorithm_of_step(schedule::name_of(step));
  return algorithm == nullptr ? te::Numerics::kComponentwise : algorithm->level;
}

// Refuses an intrinsic that rounds factors more than the workload's max_error allows.
Status check_rounding(const te::Contract& contract, const schedule::Step& step) {
  const auto* tensorize = std::get_if<schedule::Tensorize>(&step);
  if (tensorize == nullptr) return {};
  const ir::Intrinsic& intrinsic = row_of(tensorize->intrinsic);
  const double error = intrinsic.product_error();
  if (error <= contract.max_error) return {};
  return fail(ErrorKind::kIllegalSchedule,
              "{} rounds the factors of a product, which makes an error of up to {:.3g} of it, and "
              "max_error {:.3g} does not allow that; take another schedule, or ask for a max_error "
              "of {}",
              intrinsic.name, error, contract.max_error, te::max_error_from(error));
}

// Refuses algorithms and roundings that need more than the workload allows.
Status check_numerics(const te::Contract& contract, const schedule::Trace& trace) {
  for (std::size_t s = 0; s < trace.size(); ++s) {
    const te::Numerics needed = numerics_of(trace[s]);
    if (Status fine = check_rounding(contract, trace[s]); !fine) {
      fine.error().place = fmt::format("step {}", s);
      return fine;
    }
    if (needed <= contract.level()) continue;
    return fail_at(fmt::format("step {}", s), ErrorKind::kIllegalSchedule,
                   "{} is {}, and numerics {} does not allow it; take another schedule, or ask "
                   "for numerics {}",
                   te::algorithm_of_step(schedule::name_of(trace[s]))->word, te::name_of(needed),
                   te::name_of(contract.level()), te::name_of(needed));
  }
  return {};
}

}  // namespace

te::Numerics numerics_of(const schedule::Trace& trace) {
  te::Numerics most = te::Numerics::kComponentwise;
  for (const schedule::Step& step : trace) most = std::max(most, numerics_of(step));
  return most;
}

Result<ir::Nest> scheduled(const te::Workload& workload, const schedule::Trace& trace) {
  LATHE_TRY_STATUS(check_numerics(workload.contract, trace));
  ir::Nest nest = te::naive_nest(workload);
  auto applied = schedule::apply(nest, trace, workload.contract.free_layout);
  if (applied) return nest;
  schedule::StepError error = std::move(applied).error();
  const std::string place = fmt::format("step {}", std::exchange(error.step, -1));
  return fail_at(place, ErrorKind::kIllegalSchedule, "{}", error.text());
}

namespace {

// Gives borders that a step has merged the dimensions of the workload again.
void restore_shapes(const te::Workload& workload, std::vector<flat::Border>& borders) {
  for (flat::Border& border : borders) {
    const te::Tensor& tensor =
        workload.tensors[static_cast<std::size_t>(workload.find(border.name))];
    if (border.shape == tensor.shape) continue;
    LATHE_CHECK(tensor::is_plain(border), "{} has merged dimensions and is not row-major",
                border.name);
    border = tensor::plain_border(border.name, border.dtype, tensor.shape, border.constant);
  }
}

}  // namespace

Result<flat::Program> lowered(const te::Workload& workload, const schedule::Trace& trace,
                              const Target& target) {
  const ir::Nest nest = LATHE_TRY(scheduled(workload, trace));
  flat::Program program = LATHE_TRY(lower::lower(ir::SizedNest(nest, {}), target));
  restore_shapes(workload, program.inputs);
  restore_shapes(workload, program.outputs);
  return program;
}

Result<Code> compile(const flat::Program& program, const Target& target, Backends backends) {
  const codegen::Backend& backend = *LATHE_TRY(backend_for(target, backends));
  Code code;
  const double start = seconds_now();
  code.object = LATHE_TRY(backend.generate(program, target, {}));
  const double generated = seconds_now();
  code.library = LATHE_TRY(backend.link(code.object, target, {}));
  code.generate_seconds = generated - start;
  code.link_seconds = seconds_now() - generated;
  return code;
}

Result<Compiled> build(const te::Workload& workload, const schedule::Trace& trace,
                       const Target& target, Backends backends) try {
  Compiled compiled;
  compiled.program = LATHE_TRY(lowered(workload, trace, target));
  compiled.code = LATHE_TRY(compile(compiled.program, target, backends));
  return compiled;
} catch (const InvariantError& broken) {
  return compiler_bug(broken);
}

std::unexpected<Error> compiler_bug(const InvariantError& broken) {
  return fail(ErrorKind::kBuild, "a bug of Lathe's compiler: {}", broken.what());
}

}  // namespace lathe::driver
