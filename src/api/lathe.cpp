// include/lathe/lathe.h, implemented with the rooms.
#include "lathe/lathe.h"

#include <cmath>
#include <filesystem>
#include <sstream>
#include <utility>

#include "api/artifact.h"
#include "api/learning.h"
#include "api/loaded_program.h"
#include "api/outward.h"
#include "api/schedules.h"
#include "api/session.h"
#include "api/targets.h"
#include "api/tuning.h"
#include "api/workload.h"
#include "base/processors.h"
#include "compiler/backends/backends.h"
#include "compiler/te/compose.h"
#include "tuner/store/store.h"

namespace lathe {

struct Program::Impl {
  std::unique_ptr<api::LoadedProgram> loaded;
  bool prepared = false;
};

namespace {

api::WorkloadRequest request_of(const std::string& text, const Inputs& inputs) {
  api::WorkloadRequest request;
  request.text = text;
  for (const auto& [name, shape] : inputs.shapes) {
    std::string sizes;
    for (const auto size : shape) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    request.shapes.push_back(name + "=" + sizes);
  }
  for (const auto& [name, dtype] : inputs.dtypes) request.dtypes.push_back(name + "=" + dtype);
  request.constants = inputs.constants;
  if (inputs.free_layout) request.layout = "free";
  request.max_error = inputs.max_error;
  request.algorithm = inputs.algorithm;
  request.numerics = inputs.numerics;
  for (const auto& [name, range] : inputs.ranges)
    request.ranges.push_back(fmt::format("{}={}..{}", name, range.first, range.second));
  return request;
}

Expected<Workload> workload_of(const api::WorkloadRequest& request) {
  auto made = api::make_workload(request);
  if (!made) return failure(made.error());
  return workload_from(std::move(made->definition));
}

std::vector<TensorInfo> infos(const te::Workload& workload, const std::vector<int>& tensors) {
  std::vector<TensorInfo> out;
  for (const int t : tensors) {
    const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(t)];
    out.push_back({tensor.name, std::string(name_of(tensor.dtype)), tensor.shape_at_border(),
                   tensor.constant, tensor.shape});
  }
  return out;
}

Schedule schedule_of(const store::Record& record, double flops) {
  const double seconds = record.raced ? record.race_seconds : record.seconds;
  const auto target = parse_target(record.target);
  return {seconds, flops / seconds / 1e9, record.trace.dump(), record.config.dump(),
          target ? target->threads() : 1};
}

Result<TuneResult> run_tune(const Workload& workload, const TuneOptions& options,
                            const std::function<void(const TuneProgress&)>& listener,
                            const std::function<bool()>& stop) {
  api::TuneRequest request;
  request.task.workload = workload.impl().definition;
  request.target = LATHE_TRY(api::make_target(options.machine.target, options.machine.threads));
  request.database = database_of(options.machine);
  request.options = LATHE_TRY(options_of(options));
  request.global_model = options.global_model;
  std::unique_lock<std::mutex> at_work;
  if (options.session) {
    Session::Impl& session = *options.session->impl();
    at_work = std::unique_lock(session.at_work, std::try_to_lock);
    if (!at_work)
      return fail(ErrorKind::kInvalidArgument,
                  "the session is at work on another workload; wait for it, or give another one");
    request.open_session = [&](const Target& target, const measure::Options& measuring) {
      return session.open(target, measuring);
    };
  }
  const auto hear = [&](const tune::Progress& p, double) {
    if (listener)
      listener({p.trials, p.failed, p.best_seconds, p.elapsed_seconds, p.left_seconds, p.shown()});
  };
  const auto tuned = LATHE_TRY(api::run_tuning(request, hear, stop));
  const auto& summary = tuned.summary;
  TuneResult result{summary.trials,      summary.failed,    summary.seconds,
                    summary.interrupted, summary.exhausted, {},
                    summary.unverified};
  if (summary.best.ok()) result.best = schedule_of(summary.best, summary.flops);
  return result;
}

Result<api::Chosen> chosen_of(const te::Workload& workload, const std::string& which,
                              const Machine& machine) {
  const Target target = LATHE_TRY(api::make_target(machine.target, machine.threads));
  if (which.starts_with("["))
    return api::Chosen{LATHE_TRY(schedule::trace_from_json(LATHE_TRY(parse_json(which)))), target};
  const auto source =
      LATHE_TRY(api::schedule_source({which, database_of(machine), cache_of(machine)}));
  return source(workload, target);
}

Result<std::string> trace_text(const te::Workload& workload, const std::string& which,
                               const Machine& machine) {
  return schedule::to_json(LATHE_TRY(chosen_of(workload, which, machine)).trace).dump();
}

Result<std::unique_ptr<api::LoadedProgram>> load_program(const te::Workload& workload,
                                                         const std::string& which,
                                                         const Machine& machine, Check check) {
  const auto chosen = LATHE_TRY(chosen_of(workload, which, machine));
  return api::LoadedProgram::make(workload, chosen.trace, chosen.target, checking_of(check));
}

Status write_files(const te::Workload& workload, const std::string& path, const std::string& which,
                   const Machine& machine, Check check) {
  const auto chosen = LATHE_TRY(chosen_of(workload, which, machine));
  const api::ArtifactRequest request{path, "", checking_of(check)};
  LATHE_TRY(api::write_artifact(workload, chosen, request));
  return {};
}

Result<std::vector<std::byte>> make_module(const te::Workload& workload, const std::string& which,
                                           const Machine& machine, Check check) {
  const auto chosen = LATHE_TRY(chosen_of(workload, which, machine));
  auto built =
      LATHE_TRY(driver::build(te::canonical(workload), chosen.trace, chosen.target, backends()));
  for (const auto* borders : {&built.program.inputs, &built.program.outputs})
    for (const auto& border : *borders)
      if (!tensor::is_plain(border))
        return fail(ErrorKind::kUnsupported,
                    "the tensor {} is stored in a layout of its own, which only a library's header "
                    "tells of; leave out `layout free`",
                    border.name);
  LATHE_TRY(api::check_library(workload, chosen.trace, chosen.target, built.code.library,
                               checking_of(check)));
  return std::move(built.code.library);
}

Result<std::string> record_lines(const Workload& workload, const Machine& machine) {
  const std::string database = database_of(machine);
  if (!std::filesystem::exists(database)) return std::string();
  const auto store = LATHE_TRY(api::open_existing(database));
  store::Query query;
  query.workload = workload.key();
  query.target = LATHE_TRY(api::make_target(machine.target, machine.threads)).text();
  query.cache_mode = cache_of(machine);
  std::ostringstream lines;
  LATHE_TRY_STATUS(store::export_lines(*store, query, lines));
  return lines.str();
}

Result<std::optional<Schedule>> best_schedule(const te::Workload& workload,
                                              const Machine& machine) {
  const Target target = LATHE_TRY(api::make_target(machine.target, machine.threads));
  const std::string database = database_of(machine);
  if (machine.database.empty() && !std::filesystem::exists(database)) return std::nullopt;
  const auto store = LATHE_TRY(api::open_existing(database));
  const auto best = LATHE_TRY(api::best_record(workload, target, *store, cache_of(machine)));
  if (!best) return std::nullopt;
  return schedule_of(*best->record, te::flops(workload));
}

te::PartTensor inner(const PartTensor& place) { return {place.part, place.tensor}; }

Result<Composed> composed(const Composition& whole) {
  te::Composition within;
  for (const Workload& part : whole.parts) within.parts.push_back(part.impl().definition);
  for (const auto& [output, input] : whole.edges)
    within.edges.push_back({inner(output), inner(input)});
  for (const auto& [one, other] : whole.alike) within.alike.push_back({inner(one), inner(other)});
  for (const PartTensor& output : whole.outputs) within.outputs.push_back(inner(output));
  te::Composed made = LATHE_TRY(te::compose(within));
  Composed out{workload_from(std::move(made.workload)), {}};
  for (std::size_t p = 0; p < whole.parts.size(); ++p) {
    auto& names = out.names.emplace_back();
    for (std::size_t t = 0; t < within.parts[p].tensors.size(); ++t)
      names[within.parts[p].tensors[t].name] = made.names[p][t];
  }
  return out;
}

Failure count_failure(const char* what, std::size_t wanted, std::size_t given) {
  return {"invalid-argument",
          fmt::format("the program has {} {}, {} are given", wanted, what, given), ""};
}

}  // namespace

Expected<Workload> Workload::parse(const std::string& expression, const Inputs& inputs) {
  return guarded([&] { return workload_of(request_of(expression, inputs)); });
}
Expected<Workload> Workload::named(const std::string& name,
                                   const std::map<std::string, std::string>& flags,
                                   const Inputs& inputs) {
  return guarded([&] {
    auto request = request_of(name, inputs);
    request.flags = flags;
    return workload_of(request);
  });
}
Expected<Composed> Workload::compose(const Composition& whole) {
  return guarded([&] { return outward(composed(whole)); });
}
Expected<Workload> Workload::with_constants(const std::vector<std::string>& names) const {
  return guarded([&]() -> Expected<Workload> {
    auto made = api::with_constants(impl_->definition, names);
    if (!made) return failure(made.error());
    return workload_from(std::move(*made));
  });
}
const std::string& Workload::key() const { return impl_->key; }
std::string Workload::numerics() const {
  return std::string(te::name_of(impl_->definition.contract.level()));
}
double Workload::flops() const { return te::flops(impl_->definition); }
std::vector<TensorInfo> Workload::inputs() const {
  return infos(impl_->definition, impl_->definition.inputs());
}
std::vector<TensorInfo> Workload::outputs() const {
  return infos(impl_->definition, impl_->definition.outputs());
}

Expected<TuneResult> Workload::tune(const TuneOptions& options,
                                    const std::function<void(const TuneProgress&)>& listener,
                                    const std::function<bool()>& stop) const {
  return guarded([&] { return outward(run_tune(*this, options, listener, stop)); });
}

std::pair<int, std::string> Machine::usual_threads() {
  const ReasonedCount usual = lathe::usual_threads();
  return {usual.number, usual.why};
}

Expected<std::optional<Schedule>> Workload::best(const Machine& machine) const {
  return guarded([&] { return outward(best_schedule(impl_->definition, machine)); });
}

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Expected<void> Program::prepare(std::span<const void* const> inputs) {
  impl_->prepared = false;
  if (inputs.size() != impl_->loaded->inputs().size())
    return std::unexpected(count_failure("inputs", impl_->loaded->inputs().size(), inputs.size()));
  impl_->loaded->set_constants(inputs);
  impl_->prepared = true;
  return {};
}

Expected<void> Program::run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  api::LoadedProgram& loaded = *impl_->loaded;
  if (inputs.size() != loaded.inputs().size())
    return std::unexpected(count_failure("inputs", loaded.inputs().size(), inputs.size()));
  if (outputs.size() != loaded.outputs().size())
    return std::unexpected(count_failure("outputs", loaded.outputs().size(), outputs.size()));
  if (!impl_->prepared) {
    bool constants = false;
    for (const auto& border : loaded.inputs()) constants |= border.constant;
    if (constants)
      return std::unexpected(Failure{
          "invalid-argument", "the program has constant inputs: call prepare() before run()", ""});
    loaded.set_constants(inputs);
    impl_->prepared = true;
  }
  loaded.run(inputs, outputs);
  return {};
}

Expected<std::string> Workload::trace(const std::string& schedule, const Machine& machine) const {
  return guarded([&] { return outward(trace_text(impl_->definition, schedule, machine)); });
}

Expected<Program> Workload::compile(const std::string& schedule, const Machine& machine,
                                    Check check) const {
  return guarded([&]() -> Expected<Program> {
    auto loaded = load_program(impl_->definition, schedule, machine, check);
    if (!loaded) return failure(loaded.error());
    return Program(std::make_unique<Program::Impl>(Program::Impl{std::move(*loaded)}));
  });
}

Expected<void> Workload::write_library(const std::string& path, const std::string& schedule,
                                       const Machine& machine, Check check) const {
  return guarded(
      [&] { return outward(write_files(impl_->definition, path, schedule, machine, check)); });
}

Expected<std::vector<std::byte>> Workload::module(const std::string& schedule,
                                                  const Machine& machine, Check check) const {
  return guarded([&] { return outward(make_module(impl_->definition, schedule, machine, check)); });
}

Expected<std::string> Workload::records(const Machine& machine) const {
  return guarded([&] { return outward(record_lines(*this, machine)); });
}

}  // namespace lathe
