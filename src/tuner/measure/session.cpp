#include "tuner/measure/session.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler/te/parse.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {
namespace {

constexpr double kReferenceSeconds = 600;        // a limit against hanging, not an expectation

void set_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

// Program, inputs and outputs to run for the reference, and what came of it.
struct ReferenceRun {
  te::Program program;
  Built built;
  runner::Fd inputs, outputs;
  Status status{};
};

void build_and_run(Session& session, ReferenceRun& run) {
  const auto note = [&run](const Error& error) { run.status = std::unexpected(error); };
  session.builders[0]->build_program(te::print_program(run.program), kReferenceSeconds, [&, note](Result<Built> built) {
    if (!built) return note(built.error());
    run.built = std::move(*built);
    session.runner->execute(run.built, run.inputs, run.outputs, 1, kReferenceSeconds,
                            [note](Result<runner::Executed> executed) {
                              if (!executed) note(executed.error());
                            });
  });
  EventLoop loop = session.loop();
  while (session.builders[0]->busy() || session.runner->busy()) loop.wait(1);
}

Result<std::vector<double>> read_output(const ReferenceRun& run, const std::string& name) {
  const auto offsets = runner::file_offsets(run.built.outputs);
  for (std::size_t o = 0; o < run.built.outputs.size(); ++o) {
    const tensor::Border& border = run.built.outputs[o];
    if (border.name != name) continue;
    const auto step = static_cast<std::size_t>(size_of(border.dtype));
    std::vector<std::byte> raw(static_cast<std::size_t>(border.elements()) * step);
    if (::pread(run.outputs.get(), raw.data(), raw.size(), offsets[o]) != static_cast<ssize_t>(raw.size()))
      return fail(ErrorKind::kInternal, "the reference of {} is incomplete", name);
    std::vector<double> values(raw.size() / step);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_element(border.dtype, raw.data() + i * step);
    return values;
  }
  return fail(ErrorKind::kInternal, "the reference program has no output {}", name);
}

Result<Reference> compute_reference(Session& session) {
  ReferenceRun run{.program = reference_program(session.program)};
  const auto inputs = plain_inputs(run.program), outputs = plain_outputs(run.program);
  run.inputs = LATHE_TRY(inputs_file(inputs, session.inputs));
  run.outputs = LATHE_TRY(runner::make_memory_file("lathe-outputs", runner::file_offsets(outputs).back()));
  build_and_run(session, run);
  if (!run.status) return std::unexpected(run.status.error());
  Reference reference;
  const double factor = error_factor(session.program);
  for (const ReferenceNames& names : reference_names(session.program)) {
    reference.values.push_back(LATHE_TRY(read_output(run, names.value)));
    std::vector<double> bounds(reference.values.back().size(), 0);
    if (!names.magnitude.empty()) bounds = LATHE_TRY(read_output(run, names.magnitude));
    for (double& bound : bounds) bound *= factor;
    reference.bounds.push_back(std::move(bounds));
  }
  return reference;
}

}  // namespace

std::vector<Helper*> Session::helpers() const {
  std::vector<Helper*> all{&runner->helper()};
  for (const auto& builder : builders) all.push_back(&builder->helper());
  return all;
}

Status ensure_reference(Session& session) {
  if (session.runner->has_reference()) return {};
  const ReferenceCache cache(session.options.cache_folder);
  auto reference = cache.load(session.program, session.options.seed);
  if (!reference) {
    auto computed = compute_reference(session);
    if (!computed) {
      Error error = computed.error();
      error.message = "the reference could not be computed: " + error.message;
      return std::unexpected(error);
    }
    cache.save(session.program, session.options.seed, *computed);
    reference = std::move(*computed);
  }
  session.runner->set_reference(LATHE_TRY(reference_file(*reference)), allowed_error(session.program));
  session.inputs = {};
  return {};
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

KeepOff::KeepOff(const Session& session) {
  if (!session.overlap || session.other_cpus.empty()) return;
  before_ = allowed_cpus();
  set_cpus(session.other_cpus);
}
KeepOff::~KeepOff() { set_cpus(before_); }

}  // namespace lathe::measure
