// Workloads and their tuning.
#include "workload.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "failure.h"
#include "outside.h"
#include "running.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;
using Texts = std::map<std::string, std::string>;

Check check_of(bool check) { return check ? Check::kOnce : Check::kSkip; }

nb::list inner_shapes_of(const std::vector<TensorInfo>& infos) {
  nb::list out;
  for (const TensorInfo& info : infos) out.append(nb::tuple(nb::cast(info.inner_shape)));
  return out;
}

using Places = std::vector<std::pair<int, std::string>>;
using Pairs = std::vector<std::pair<Places::value_type, Places::value_type>>;

PartTensor place_of(const Places::value_type& place) { return {place.first, place.second}; }

std::pair<Workload, std::vector<Texts>> compose(const std::vector<const Workload*>& parts,
                                                const Pairs& edges, const Pairs& alike,
                                                const Places& outputs) {
  Composition whole;
  for (const Workload* part : parts) whole.parts.push_back(*part);
  for (const auto& [output, input] : edges)
    whole.edges.emplace_back(place_of(output), place_of(input));
  for (const auto& [one, other] : alike) whole.alike.emplace_back(place_of(one), place_of(other));
  for (const auto& output : outputs) whole.outputs.push_back(place_of(output));
  Composed made = released([&] { return Workload::compose(whole); });
  return {std::move(made.workload), std::move(made.names)};
}

nb::object schedule_of(const std::optional<Schedule>& schedule) {
  if (!schedule) return nb::none();
  nb::dict out;
  out["seconds"] = schedule->seconds;
  out["gflops"] = schedule->gflops;
  out["trace"] = schedule->trace;
  out["config"] = schedule->config;
  out["threads"] = schedule->threads;
  return out;
}

nb::dict tune(const Workload& workload, const TuneOptions& options, const nb::object& listener) {
  Running running(listener);
  auto result = outside([&] {
    return workload.tune(
        options, [&](const TuneProgress& progress) { running.hear(progress); },
        [&] { return running.stops(); });
  });
  running.raise_pending();
  const TuneResult tuned = value_of(std::move(result));
  nb::dict out;
  out["trials"] = tuned.trials;
  out["failed"] = tuned.failed;
  out["seconds"] = tuned.seconds;
  out["interrupted"] = tuned.interrupted;
  out["signalled"] = running.was_signalled();
  out["exhausted"] = tuned.exhausted;
  out["unverified"] = tuned.unverified;
  out["best"] = schedule_of(tuned.best);
  return out;
}

void bind_machine(nb::module_& module) {
  nb::class_<Machine>(module, "Machine")
      .def(nb::init<>())
      .def_rw("target", &Machine::target)
      .def_rw("threads", &Machine::threads)
      .def_rw("database", &Machine::database)
      .def_rw("cold_cache", &Machine::cold_cache)
      .def_static("usual_threads", &Machine::usual_threads);
}

void bind_options(nb::module_& module) {
  nb::class_<Session>(module, "Session").def(nb::init<>());
  nb::class_<TuneOptions>(module, "TuneOptions")
      .def(nb::init<>())
      .def_rw("trials", &TuneOptions::trials)
      .def_rw("seconds", &TuneOptions::seconds)
      .def_rw("jobs", &TuneOptions::jobs)
      .def_rw("seed", &TuneOptions::seed)
      .def_rw("search", &TuneOptions::search)
      .def_rw("model", &TuneOptions::model)
      .def_rw("features", &TuneOptions::features)
      .def_rw("acquisition", &TuneOptions::acquisition)
      .def_rw("batch", &TuneOptions::batch)
      .def_rw("chains", &TuneOptions::chains)
      .def_rw("steps", &TuneOptions::steps)
      .def_rw("epsilon", &TuneOptions::epsilon)
      .def_rw("diversity", &TuneOptions::lambda)
      .def_rw("alpha", &TuneOptions::alpha)
      .def_rw("temperature", &TuneOptions::temperature)
      .def_rw("global_trials", &TuneOptions::global_trials)
      .def_rw("elite", &TuneOptions::elite)
      .def_rw("thrift", &TuneOptions::thrift)
      .def_rw("space", &TuneOptions::space)
      .def_rw("fresh", &TuneOptions::fresh)
      .def_rw("transfer", &TuneOptions::transfer)
      .def_rw("prior", &TuneOptions::prior)
      .def_rw("global_model", &TuneOptions::global_model)
      .def_rw("machine", &TuneOptions::machine)
      .def_rw("session", &TuneOptions::session, nb::arg("session").none());
}

nb::bytes module_of(const Workload& workload, const std::string& schedule, const Machine& machine,
                    bool check) {
  const auto bytes = released([&] { return workload.module(schedule, machine, check_of(check)); });
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void bind_workload(nb::module_& module) {
  nb::class_<Inputs>(module, "Inputs")
      .def(nb::init<>())
      .def_rw("shapes", &Inputs::shapes)
      .def_rw("dtypes", &Inputs::dtypes)
      .def_rw("constants", &Inputs::constants)
      .def_rw("max_error", &Inputs::max_error)
      .def_rw("algorithm", &Inputs::algorithm)
      .def_rw("numerics", &Inputs::numerics)
      .def_rw("ranges", &Inputs::ranges);
  nb::class_<Workload>(module, "Workload")
      .def_static("parse",
                  [](const std::string& text, const Inputs& inputs) {
                    return released([&] { return Workload::parse(text, inputs); });
                  })
      .def_static("named",
                  [](const std::string& name, const Texts& flags, const Inputs& inputs) {
                    return released([&] { return Workload::named(name, flags, inputs); });
                  })
      .def_static("compose", compose, nb::arg("parts"), nb::arg("edges"),
                  nb::arg("alike") = Pairs(), nb::arg("outputs") = Places())
      .def("with_constants",
           [](const Workload& w, const std::vector<std::string>& names) {
             return released([&] { return w.with_constants(names); });
           })
      .def_prop_ro("inner_inputs", [](const Workload& w) { return inner_shapes_of(w.inputs()); })
      .def_prop_ro("inner_outputs", [](const Workload& w) { return inner_shapes_of(w.outputs()); })
      .def_prop_ro("key", &Workload::key)
      .def_prop_ro("numerics", &Workload::numerics)
      .def_prop_ro("flops", &Workload::flops)
      .def_prop_ro("inputs", [](const Workload& w) { return tensors_of(w.inputs()); })
      .def_prop_ro("outputs", [](const Workload& w) { return tensors_of(w.outputs()); })
      .def("tune", tune, nb::arg("options"), nb::arg("listener").none())
      .def("best",
           [](const Workload& w, const Machine& machine) {
             return schedule_of(released([&] { return w.best(machine); }));
           })
      .def("trace",
           [](const Workload& w, const std::string& schedule, const Machine& machine) {
             return released([&] { return w.trace(schedule, machine); });
           })
      .def("module", module_of)
      .def("write_library",
           [](const Workload& w, const std::string& path, const std::string& schedule,
              const Machine& machine, bool check) {
             released([&] { return w.write_library(path, schedule, machine, check_of(check)); });
           })
      .def("records", [](const Workload& w, const Machine& machine) {
        return released([&] { return w.records(machine); });
      });
}

}  // namespace

nb::list tensors_of(const std::vector<TensorInfo>& infos) {
  nb::list out;
  for (const TensorInfo& info : infos) {
    nb::list shape;
    for (const std::int64_t extent : info.shape) shape.append(extent);
    out.append(nb::make_tuple(info.name, info.dtype, nb::tuple(shape), info.constant));
  }
  return out;
}

void bind_workloads(nb::module_& module) {
  bind_machine(module);
  bind_options(module);
  bind_workload(module);
}

}  // namespace lathe::python
